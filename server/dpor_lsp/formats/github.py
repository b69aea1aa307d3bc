"""GitHub workflow commands: annotations on the lines of a pull request."""

from __future__ import annotations

import os
from pathlib import Path

from dpor.codes import Code
from dpor.results import ModelResult, Reason, SourceSpan, Verdict, Violation
from dpor_lsp.cli.report import Entry, Report
from dpor_lsp.formats import text as format_text
from dpor_lsp.formats import wording


def render(report: Report) -> str:
    """Return one command a violation and reason, then the summary, which the log shows as it is."""
    lines = [line for entry in report.entries for line in _entry(entry)]
    return "".join(f"{line}\n" for line in lines) + format_text.summary(report, format_text.Style())


def command(level: str, message: str, location: SourceSpan | None, root: Path, title: str) -> str:
    """Return one workflow command; `level` is `error`, `warning` or `notice`."""
    properties = {"title": title}
    if location is not None:
        properties["file"] = _repository_file(location.file, root)
        properties["line"] = str(location.line)
        if location.end_line not in (None, location.line):
            # GitHub takes columns only for an annotation of one line.
            properties["endLine"] = str(location.end_line)
        else:
            properties["col"] = str(location.column)
            if location.end_column is not None:
                properties["endColumn"] = str(location.end_column)
    text = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    return f"::{level} {text}::{_escape_data(message)}"


def _entry(entry: Entry) -> list[str]:
    result = entry.result
    start = SourceSpan(result.file, result.line)
    warnings = [
        command("warning", item.message, item.location or start, entry.root, f"{item.code.value} {result.id}")
        for item in result.warnings
    ]
    warnings += [
        command(
            "notice",
            f"assuming: {wording.assumption(item)}",
            item.location or start,
            entry.root,
            f"{Code.ASSUMPTION.value} {result.id}",
        )
        for item in wording.assumptions_to_tell(result)
    ]
    if result.as_expected:
        return warnings
    lines = warnings + [
        command(
            "error",
            _message(result, item),
            item.location or start,
            entry.root,
            f"{item.code.value} {result.id}",
        )
        for item in result.violations
    ]
    if result.reason is not None:
        level = "error" if result.verdict is Verdict.ERROR else "warning"
        title = f"{result.reason.code.value} {result.id}"
        lines.append(command(level, _said(result.reason), result.reason.location or start, entry.root, title))
    sentence = wording.unexpected(result)
    if sentence:
        lines.append(command("error", sentence, start, entry.root, result.id))
    return lines


def _message(result: ModelResult, violation: Violation) -> str:
    pattern = f" ({violation.pattern.value})" if violation.pattern else ""
    replay = f"dpor-lsp --replay {result.id} --schedule '{violation.schedule}'" if violation.schedule else ""
    return "\n".join(part for part in (violation.message + pattern, replay) if part)


def _said(reason: Reason) -> str:
    return "\n".join(part for part in (reason.message, reason.fix) if part)


def _repository_file(file: str, root: Path) -> str:
    """Return a file as GitHub knows it: relative to the checked out repository."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    path = root / file
    if workspace and path.is_relative_to(Path(workspace).resolve()):
        return path.relative_to(Path(workspace).resolve()).as_posix()
    return file


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
