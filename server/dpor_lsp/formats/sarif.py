"""SARIF 2.1.0, as code scanning services and editors read it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpor.codes import Code
from dpor.lines import split_lines
from dpor.reading import read_file
from dpor.results import Assumption, ModelResult, SourceSpan, TraceStep, Verdict, Violation
from dpor_lsp import DISTRIBUTION, version
from dpor_lsp.cli.report import Entry, ExitCode, Report
from dpor_lsp.formats import wording
from dpor_lsp.formats.json import dumps

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT_ID = "SRCROOT"
MOST_STEPS = 10_000
"""How many steps services accept in one result; every step appears in two flows."""


def render(report: Report) -> str:
    """Return the report as one SARIF log with one run."""
    return dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [_Run(report).document()]})


class _Run:
    """Builds the one run of a report; rules are those that its results and notifications refer to."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._codes = sorted(_codes(report), key=lambda code: code.value)

    def document(self) -> dict[str, Any]:
        report = self._report
        code = report.exit_code
        rules = [item for item in self._codes if item.value.startswith("DPOR2")]
        others = [item for item in self._codes if not item.value.startswith("DPOR2")]
        return {
            "tool": {
                "driver": {
                    "name": DISTRIBUTION,
                    "version": version(),
                    "rules": [_descriptor(item) for item in rules],
                    "notifications": [_descriptor(item) for item in others],
                }
            },
            "invocations": [
                {
                    "executionSuccessful": code in (ExitCode.EXPECTED, ExitCode.VIOLATION),
                    "exitCode": int(code),
                    "exitCodeDescription": code.meaning,
                    "startTimeUtc": _time(report.started),
                    "endTimeUtc": _time(report.started + report.seconds),
                    "toolExecutionNotifications": [
                        self._notification(entry) for entry in report.entries if entry.result.reason
                    ]
                    + [
                        self._assumption(entry, item)
                        for entry in report.entries
                        for item in wording.assumptions_to_tell(entry.result)
                    ],
                }
            ],
            "originalUriBaseIds": {ROOT_ID: {"uri": _folder_uri(report.root)}},
            "columnKind": "unicodeCodePoints",
            "results": [
                self._result(entry, violation, rules)
                for entry in report.entries
                for violation in _findings(entry.result)
            ],
        }

    def _notification(self, entry: Entry) -> dict[str, Any]:
        result = entry.result
        assert result.reason is not None
        reason = result.reason
        text = f"{result.id}: {reason.message}" + (f"\n{reason.fix}" if reason.fix else "")
        level = "error" if result.verdict is Verdict.ERROR else "warning"
        return self._told(entry, reason.code, level, text, reason.location)

    def _assumption(self, entry: Entry, item: Assumption) -> dict[str, Any]:
        text = f"{entry.result.id}: {wording.assumption(item)}"
        return self._told(entry, Code.ASSUMPTION, "note", text, item.location)

    def _told(
        self, entry: Entry, code: Code, level: str, text: str, location: SourceSpan | None
    ) -> dict[str, Any]:
        others = [item for item in self._codes if not item.value.startswith("DPOR2")]
        place = location or SourceSpan(entry.result.file, entry.result.line)
        return {
            "descriptor": {"id": code.value, "index": others.index(code)},
            "level": level,
            "message": {"text": text},
            "locations": [self._location(place, entry.root)],
        }

    def _result(self, entry: Entry, violation: Violation, rules: Sequence[Code]) -> dict[str, Any]:
        result = entry.result
        location = violation.location or SourceSpan(result.file, result.line)
        pattern = f" ({violation.pattern.value})" if violation.pattern else ""
        document: dict[str, Any] = {
            "ruleId": violation.code.value,
            "ruleIndex": rules.index(violation.code),
            "level": "warning" if violation in result.warnings else "error",
            "message": {"text": f"{result.id}: {violation.message}{pattern}"},
            "locations": [
                {
                    **self._location(location, entry.root),
                    "logicalLocations": [{"fullyQualifiedName": result.id, "kind": "function"}],
                }
            ],
            "partialFingerprints": {"dporViolation/v1": _fingerprint(entry, violation)},
            "properties": {
                "schedule": violation.schedule,
                "algorithm": result.algorithm,
                "memoryModel": result.memory_model,
                "parameters": {name: repr(value) for name, value in result.parameters.items()},
            },
        }
        if violation.trace:
            document["codeFlows"] = [self._code_flow(violation.trace, entry.root)]
        if violation.waiting:
            document["relatedLocations"] = [
                {
                    "id": number,
                    "message": {"text": _waits(waiting.thread, waiting.target, waiting.held)},
                    **self._location(waiting.location, entry.root),
                }
                for number, waiting in enumerate(violation.waiting, start=1)
                if waiting.location
            ]
        if result.as_expected:
            document["suppressions"] = [
                {"kind": "inSource", "justification": 'the model is marked with expect="violated"'}
            ]
        return document

    def _code_flow(self, trace: Sequence[TraceStep], root: Path) -> dict[str, Any]:
        """Return one flow of all threads, which is all that many viewers show, and then one a thread."""
        steps = _shortened(trace, MOST_STEPS // 2)
        threads = list(dict.fromkeys(step.thread for step in steps))
        flows = [{"id": "all threads", "locations": [self._step(step, root, flat=True) for step in steps]}]
        flows += [
            {
                "id": thread,
                "message": {"text": f"thread {thread}"},
                "locations": [self._step(step, root, flat=False) for step in steps if step.thread == thread],
            }
            for thread in threads
        ]
        left_out = len(trace) - len(steps)
        note = f"; {left_out} of {len(trace)} steps are left out" if left_out else ""
        return {"message": {"text": f"a schedule that fails{note}"}, "threadFlows": flows}

    def _step(self, step: TraceStep, root: Path, *, flat: bool) -> dict[str, Any]:
        text = _says(step)
        message = {"message": {"text": f"[{step.thread}] {text}" if flat else text}}
        location = self._location(step.location, root) if step.location else {}
        return {
            "location": {**location, **message},
            "executionOrder": step.step,
            "importance": "essential" if step.matters else "unimportant",
        }

    def _location(self, span: SourceSpan | None, root: Path) -> dict[str, Any]:
        assert span is not None
        region: dict[str, int] = {"startLine": max(span.line, 1), "startColumn": max(span.column, 1)}
        if span.end_line is not None:
            region["endLine"] = span.end_line
        if span.end_column is not None:
            region["endColumn"] = max(span.end_column, 1)
        return {"physicalLocation": {"artifactLocation": self._artifact(span.file, root), "region": region}}

    def _artifact(self, file: str, root: Path) -> dict[str, str]:
        if Path(file).is_absolute() or root != self._report.root:
            return {"uri": (root / file).as_uri()}
        return {"uri": quote(os.fsencode(file)), "uriBaseId": ROOT_ID}


def _findings(result: ModelResult) -> tuple[Violation, ...]:
    return (*result.violations, *result.warnings)


def _codes(report: Report) -> set[Code]:
    codes = {violation.code for entry in report.entries for violation in _findings(entry.result)}
    if any(wording.assumptions_to_tell(entry.result) for entry in report.entries):
        codes.add(Code.ASSUMPTION)
    return codes | {entry.result.reason.code for entry in report.entries if entry.result.reason}


def _descriptor(code: Code) -> dict[str, Any]:
    sentence = code.meaning[0].upper() + code.meaning[1:] + "."
    return {
        "id": code.value,
        "name": "".join(word.capitalize() for word in code.name.split("_")),
        "shortDescription": {"text": sentence},
        "fullDescription": {"text": sentence},
        "help": {
            "text": f"{sentence} {_help(code)}",
            "markdown": f"**{code.value}**: {sentence} {_help(code)}",
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["concurrency", "correctness"]},
    }


def _help(code: Code) -> str:
    if code.value.startswith("DPOR2"):
        return (
            "The flow of the result lists the steps of a schedule that fails, thread by thread. "
            "Replay it with dpor-lsp --replay FILE::MODEL --schedule TEXT; the text is the property 'schedule'."
        )
    return "The notification says what to do about it."


def _says(step: TraceStep) -> str:
    target = f" {step.target}" if step.target else ""
    value = f" = {step.value}" if step.value is not None else ""
    return f"{step.operation}{target}{value}"


def _waits(thread: str, target: str | None, held: Iterable[str]) -> str:
    holds = ", ".join(held)
    return f"{thread} waits for {target or 'something'}" + (f" and holds {holds}" if holds else "")


def _shortened(trace: Sequence[TraceStep], most: int) -> list[TraceStep]:
    """Return at most `most` steps: first those go that do not matter, then the oldest."""
    if len(trace) <= most:
        return list(trace)
    essential = [step for step in trace if step.matters]
    return (essential or list(trace))[-most:]


def _fingerprint(entry: Entry, violation: Violation) -> str:
    """Return a text that stays the same when lines move: model, code and the words on the failing line."""
    parts = [entry.result.id, violation.code.value, _line_text(entry.root, violation.location)]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:32]


def _line_text(root: Path, location: SourceSpan | None) -> str:
    if location is None:
        return ""
    try:
        lines = split_lines(read_file(root / location.file).decode(errors="replace"))
        return location.file + ":" + lines[location.line - 1].strip()
    except (OSError, IndexError):
        return location.file


def _folder_uri(root: Path) -> str:
    uri = root.resolve().as_uri()
    return uri if uri.endswith("/") else uri + "/"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
