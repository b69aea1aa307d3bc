"""From the result of a check to what an editor shows of it, at places that move with the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types

from dpor.assumptions import ADD_INSTRUMENT, assumption
from dpor.codes import Code
from dpor.counterexample.operations import Operation
from dpor.counterexample.phrases import place_of
from dpor.lines import split_lines
from dpor.reading import read_file
from dpor.results import (
    Assumption,
    AssumptionKind,
    ModelResult,
    Reason,
    SourceSpan,
    Verdict,
    Violation,
    ViolationKind,
    WaitingThread,
)
from dpor_lsp.language_server import wording
from dpor_lsp.language_server.analysis import ModelOutline
from dpor_lsp.language_server.positions import Edit, Encoding, moved, range_of
from dpor_lsp.language_server.weakening import Weakness

SOURCE = "dpor"
STALE_PREFIX = "(stale) "
_MOST_RELATED = 200
_OF_PACKAGES = (AssumptionKind.FOREIGN_CODE, AssumptionKind.UNSEEN_CODE)


@dataclass(frozen=True)
class Related:
    """A step of a counterexample at its place."""

    uri: str
    range: types.Range
    message: str


@dataclass(frozen=True)
class Finding:
    """Something to show at a place; `violation` is its number among the model's violations, if it is of one."""

    uri: str
    range: types.Range
    severity: types.DiagnosticSeverity
    code: Code
    message: str
    related: tuple[Related, ...] = ()
    violation: int | None = None
    schedule: str | None = None
    package: str | None = None

    def edited(self, uri: str, edits: Sequence[Edit]) -> Finding:
        """The finding after edits of one document."""
        place = self.range
        related = self.related
        for edit in edits:
            if self.uri == uri:
                place = moved(place, edit)
            if any(item.uri == uri for item in related):
                related = tuple(
                    replace(item, range=moved(item.range, edit)) if item.uri == uri else item
                    for item in related
                )
        return (
            self
            if place is self.range and related is self.related
            else replace(self, range=place, related=related)
        )

    def diagnostic(self, model: Mapping[str, str], link: str | None, *, stale: bool) -> types.Diagnostic:
        """The diagnostic; a stale one is a hint and says that it is stale."""
        return types.Diagnostic(
            range=self.range,
            severity=types.DiagnosticSeverity.Hint if stale else self.severity,
            code=self.code.value,
            code_description=types.CodeDescription(href=link) if link else None,
            source=SOURCE,
            message=(STALE_PREFIX if stale else "") + self.message,
            related_information=[
                types.DiagnosticRelatedInformation(types.Location(item.uri, item.range), item.message)
                for item in self.related
            ]
            or None,
            data={
                **model,
                "violation": self.violation,
                "schedule": self.schedule,
                "stale": stale,
            },
        )


class Places:
    """Turns places of one result into ranges of documents, reading each text once.

    `texts` holds the texts that were checked instead of files' contents, by path; `uri_of` names a document.
    """

    def __init__(
        self, root: Path, texts: Mapping[Path, str], uri_of: Callable[[Path], str], encoding: Encoding
    ) -> None:
        self._root = root
        self._texts = texts
        self._uri_of = uri_of
        self._encoding = encoding
        self._lines: dict[Path, list[str]] = {}

    def place(self, span: SourceSpan) -> tuple[str, types.Range]:
        """The document and the range of a span."""
        path = self._root / span.file
        return self._uri_of(path), range_of(span, self._read(path), self._encoding)

    def _read(self, path: Path) -> list[str]:
        if path not in self._lines:
            text = self._texts.get(path)
            if text is None:
                try:
                    text = read_file(path).decode(errors="replace")
                except OSError:
                    text = ""
            self._lines[path] = split_lines(text)
        return self._lines[path]


def findings_of(
    result: ModelResult,
    model: ModelOutline,
    places: Places,
    imports: Mapping[str, SourceSpan],
    *,
    hints: bool,
) -> tuple[Finding, ...]:
    """Everything that is to be shown of a result, the most important first."""
    found: list[Finding] = []
    name = model.info.name
    error = types.DiagnosticSeverity.Error
    for index, violation in enumerate(result.violations):
        severity = types.DiagnosticSeverity.Information if result.as_expected else error
        found += _of_violation(violation, index, severity, model, places, expected=result.as_expected)
    for violation in result.warnings:
        warning = types.DiagnosticSeverity.Warning
        found += _of_violation(violation, None, warning, model, places, expected=False)
    if result.reason is not None and not result.violations:
        found += _of_reason(result.reason, result.verdict, model, places)
    elif result.verdict is Verdict.VERIFIED and not result.as_expected:
        uri, place = places.place(model.name)
        message = f"{name}: every schedule was checked and none fails, but a violation is expected"
        found.append(Finding(uri, place, error, Code.UNEXPECTED, message))
    if hints:
        found += [_of_assumption(one, model, places, imports) for one in result.assumptions]
    return tuple(found)


def hint_of(weakness: Weakness, places: Places) -> Finding:
    """What is to be shown of something that weakens a check."""
    uri, place = places.place(weakness.span)
    return Finding(uri, place, types.DiagnosticSeverity.Hint, weakness.code, weakness.message)


def _of_violation(
    violation: Violation,
    index: int | None,
    severity: types.DiagnosticSeverity,
    model: ModelOutline,
    places: Places,
    *,
    expected: bool,
) -> list[Finding]:
    name = model.info.name
    prefix = "as expected: " if expected else ""
    primary = _primary(violation)
    span = (primary.location if primary is not None else violation.location) or model.name
    uri, place = places.place(span)
    steps = [step for step in violation.trace if step.matters]
    related = tuple(
        Related(*places.place(where), wording.step_message(step))
        for step in steps[:_MOST_RELATED]
        if (where := place_of(step)) is not None
    )
    message = prefix + wording.violation_message(violation, name)
    schedule = violation.schedule
    found = [Finding(uri, place, severity, violation.code, message, related, index, schedule)]
    taken = {(uri, place.start.line)}
    for wait in violation.waiting if violation.kind is ViolationKind.DEADLOCK else ():
        if wait is primary or wait.location is None:
            continue
        there, where = places.place(wait.location)
        if (there, where.start.line) in taken:
            continue
        taken.add((there, where.start.line))
        joins = wait.operation == Operation.JOIN.value
        weight = types.DiagnosticSeverity.Information if joins else severity
        back = (Related(uri, place, message.partition("\n")[0]),)
        text = prefix + wording.wait_message(wait, name)
        found.append(Finding(there, where, weight, violation.code, text, back, index, schedule))
    return found


def _primary(violation: Violation) -> WaitingThread | None:
    """The thread of a deadlock at whose place it is shown: one of a cycle, else one that does not just join."""
    if violation.kind is not ViolationKind.DEADLOCK:
        return None
    placed = [wait for wait in violation.waiting if wait.location is not None]
    others = [wait for wait in placed if wait.operation != Operation.JOIN.value]
    cyclic = [wait for wait in others if wait.waits_for is not None]
    return next(iter(cyclic or others or placed), None)


def _of_reason(reason: Reason, verdict: Verdict, model: ModelOutline, places: Places) -> list[Finding]:
    if reason.code is Code.CANCELLED:
        # Whoever cancelled it knows; the lens says so too.
        return []
    bad = verdict is Verdict.ERROR or reason.code is Code.UNEXPECTED
    severity = types.DiagnosticSeverity.Error if bad else types.DiagnosticSeverity.Warning
    uri, place = places.place(reason.location or model.name)
    return [Finding(uri, place, severity, reason.code, reason_message(reason, model.info.name))]


def reason_message(reason: Reason, model: str | None = None) -> str:
    """What is wrong and how to fix it."""
    fix = f"\n{reason.fix}" if reason.fix else ""
    named = model is None or reason.message.startswith(f"{model} ")
    return f"{reason.message}{fix}" if named else f"{model}: {reason.message}{fix}"


def _of_assumption(
    one: Assumption, model: ModelOutline, places: Places, imports: Mapping[str, SourceSpan]
) -> Finding:
    imported = imports.get(one.subject.partition(".")[0]) if one.kind in _OF_PACKAGES else None
    uri, place = places.place(imported or one.location or model.name)
    message = f"{model.info.name}: {wording.assumption(one)}"
    related = () if one.location is None else (Related(*places.place(one.location), "assumed here first"),)
    # What is all in C has nothing inside to look at.
    inside = one.subject if one.kind in _OF_PACKAGES and one.fix.startswith(ADD_INSTRUMENT) else None
    hint = types.DiagnosticSeverity.Hint
    return Finding(uri, place, hint, Code.ASSUMPTION, message, related, package=inside)


def assumed_of(
    package: str, model: ModelOutline, places: Places, imports: Mapping[str, SourceSpan]
) -> Finding:
    """What is to be shown of a package that a model names, before a check has told how it is used."""
    expected = assumption(AssumptionKind.FOREIGN_CODE, package)
    message = f"{package} is not instrumented: each call of it will be taken as one atomic operation"
    fix = f'{ADD_INSTRUMENT}("{package}",) to look inside'
    return _of_assumption(replace(expected, message=message, fix=fix), model, places, imports)
