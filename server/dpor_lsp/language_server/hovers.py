"""Hover on a model: what its verdict covers and what it does not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lsprotocol import types

from dpor.options import OPTIONS, Algorithm
from dpor.results import ModelResult, Verdict
from dpor_lsp.formats import wording as format_wording
from dpor_lsp.language_server import wording
from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.markup import block, code, literal
from dpor_lsp.language_server.positions import contains_line
from dpor_lsp.language_server.records import ModelRecord, State
from dpor_lsp.language_server.server import DporServer

_SAMPLING = (Algorithm.RANDOM.value, Algorithm.PCT.value)


def register(server: DporServer) -> None:
    """Register the handler."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        path = path_of(params.text_document.uri)
        file = await session.settled(path) if path is not None else None
        if file is None:
            return None
        here = types.Range(params.position, params.position)
        for record in file.models.values():
            if contains_line(types.Range(record.block.start, record.place.end), here):
                text = "\n\n".join(describe(record))
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), record.place)
        return None


def describe(record: ModelRecord) -> Iterator[str]:
    """The paragraphs about a model, in Markdown."""
    yield f"**{literal(record.name)}**: {literal(record.message())}"
    if record.outline.summary:
        yield f"*{literal(record.outline.summary)}*"
    result = record.shown
    if result is None or record.state is State.UNCHECKED:
        if record.reason is not None and record.reason.fix:
            yield literal(record.reason.fix)
        parameters = record.outline.info.parameters
        if parameters:
            yield _parameters(parameters)
        return
    if record.stale:
        yield "What follows is of the text before the last change."
    how = f"algorithm {code(result.algorithm)} · memory model {code(result.memory_model)}"
    yield f"{literal(wording.counts(result))} · {how}"
    yield from _violations(result)
    yield _covered(result)
    if result.coverage is not None:
        yield _lines(result)
    limits = list(_limits(record, result))
    if limits:
        yield "Not covered:\n" + "\n".join(f"- {literal(item)}" for item in limits)
    if result.parameters:
        yield _parameters(result.parameters)
    if result.reason is not None and result.reason.fix:
        yield literal(f"{result.reason.code.value}: {result.reason.fix}")


def _parameters(values: Mapping[str, object]) -> str:
    return "Parameters: " + ", ".join(code(f"{name}={value!r}") for name, value in values.items())


def _violations(result: ModelResult) -> Iterator[str]:
    for violation in result.violations[:3]:
        lines = [f"{violation.code.value} {violation.message}", *wording.essential_schedule(violation)]
        yield block("\n".join(lines))
    if len(result.violations) > 3:
        yield f"... and {format_wording.amount(len(result.violations) - 3, 'more violation')}"


def _covered(result: ModelResult) -> str:
    """What the verdict says about schedules that were not looked at one by one."""
    size = " with these parameters" if result.parameters else ""
    match result.verdict:
        case Verdict.VERIFIED:
            return (
                f"Covers every schedule of this model{size}: of those that only differ in the order of "
                "operations that do not influence each other, one was run."
            )
        case Verdict.VIOLATED:
            return (
                "The check stopped at the first violation; other schedules may break the model in other ways."
            )
        case Verdict.INCOMPLETE:
            return "Covers only the schedules that were run; the others may break the model."
        case Verdict.ERROR:
            return "Covers nothing: the model could not be checked."


def _lines(result: ModelResult) -> str:
    """How many lines of the functions that ran were reached in some execution."""
    assert result.coverage is not None
    reached, missed = result.coverage.reached, result.coverage.missed
    if not missed:
        return f"Reaches all {reached} lines of the functions that it runs in this file."
    shown = ", ".join(str(line) for line in missed[:10]) + (", ..." if len(missed) > 10 else "")
    when = " before the check stopped" if result.verdict is not Verdict.VERIFIED else ""
    total = reached + len(missed)
    return (
        f"Reaches {reached} of {total} lines of the functions that it runs in this file{when}; not {shown}."
    )


def _limits(record: ModelRecord, result: ModelResult) -> Iterator[str]:
    options = {**record.outline.info.options, **(record.target.request.options if record.target else {})}
    if result.verdict is Verdict.ERROR:
        return
    if result.algorithm in _SAMPLING:
        yield "schedules that were not drawn: this algorithm samples and proves nothing"
    bound = options.get("preemption_bound")
    if bound is not None:
        yield f"schedules with more than {bound} preemptions"
    if result.verdict is Verdict.INCOMPLETE and result.reason is not None:
        yield result.reason.message
    if result.parameters:
        yield "other values of the parameters"
    if result.memory_model == "sc":
        yield "weaker memory than sequential consistency: each read sees the latest write"
    if options.get("races", OPTIONS["races"].default.value) == "ignore":
        yield "data races that break no assertion (set races to look for them)"
    yield from map(wording.assumption, result.assumptions)
