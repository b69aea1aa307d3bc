"""Code actions: answered by line and from the session's own state, whatever diagnostics the client sends along."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from dpor.codes import Code
from dpor.options import GRAPHS, SUPPORTED, Algorithm, MemoryModel
from dpor_lsp.language_server.code_lenses import replay_command, schedule_command
from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.findings import Finding
from dpor_lsp.language_server.instrumenting import instrument_edit
from dpor_lsp.language_server.links import CodeLinks
from dpor_lsp.language_server.names import ClientCommand, ServerCommand
from dpor_lsp.language_server.positions import contains_line
from dpor_lsp.language_server.records import ModelRecord, State
from dpor_lsp.language_server.server import DporServer
from dpor_lsp.language_server.session import Session

FEW_PREEMPTIONS = 2
_NOT_OFFERED = (Algorithm.EXHAUSTIVE, Algorithm.RANDOM, Algorithm.PCT)
"""Algorithms that prove nothing, or in no time that anybody has."""


def register(server: DporServer) -> None:
    """Register the handler."""
    session = server.session
    kinds = [types.CodeActionKind.QuickFix]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        path = path_of(params.text_document.uri)
        only = params.context.only
        if path is None or (only and not any(_is_wanted(kind) for kind in only)):
            return []
        await session.settled(path)
        return list(actions(session, session.uri(path), params.range))


def _is_wanted(kind: types.CodeActionKind | str) -> bool:
    return kind in ("", types.CodeActionKind.QuickFix)


def actions(session: Session, uri: str, lines: types.Range) -> Iterator[types.CodeAction]:
    """The actions for these lines of a document, those for what is shown on them first."""
    seen: set[tuple[ModelRecord, int]] = set()
    models: dict[ModelRecord, None] = {}
    for owner in session.publisher.owners(uri):
        if not isinstance(owner, ModelRecord):
            continue
        for item in owner.findings:
            if item.uri != uri or not contains_line(item.range, lines):
                continue
            models[owner] = None
            if item.code is Code.ASSUMPTION and item.package is not None:
                yield from _instrument(session, owner, item)
            if item.violation is not None and (owner, item.violation) not in seen and not owner.stale:
                seen.add((owner, item.violation))
                yield from _of_violation(session, owner, item, item.violation)
    file = session.file_of(uri)
    for record in file.models.values() if file is not None else ():
        head = types.Range(record.block.start, record.place.end)
        if contains_line(head, lines):
            models[record] = None
            if (record, 0) not in seen and record.shown is not None and not record.stale:
                for index in range(len(record.shown.violations)):
                    yield from _of_violation(session, record, None, index)
    for record in models:
        yield from _of_model(session, record)


def _of_violation(
    session: Session, record: ModelRecord, finding: Finding | None, index: int
) -> Iterator[types.CodeAction]:
    name = record.name
    diagnostics = None
    if finding is not None:
        link = CodeLinks().link(finding.code)
        diagnostics = [finding.diagnostic(record.data(), link, stale=record.stale)]
    replay = f"Replay the counterexample of {name}"
    yield _action(replay, replay_command(session, record, index, replay), diagnostics, preferred=True)
    if ClientCommand.SHOW_TRACE.value in session.client.commands:
        show = f"Show the trace of {name}"
        command = types.Command(show, ClientCommand.SHOW_TRACE.value, arguments=[record.uri, name, index])
        yield _action(show, command, diagnostics)
    show = f"Show the schedule of {name}"
    yield _action(show, schedule_command(session, record, index, show), diagnostics)
    pin = f"Pin the counterexample of {name} as a pytest test"
    command = types.Command(pin, ServerCommand.PIN_TEST.value, arguments=[record.uri, name, index])
    yield _action(pin, command, diagnostics)


def _of_model(session: Session, record: ModelRecord) -> Iterator[types.CodeAction]:
    name = record.name
    where: list[object] = [record.uri, name]
    if record.state is State.IGNORED:
        title = f"Stop ignoring {name}"
        yield _action(title, types.Command(title, ServerCommand.IGNORE.value, arguments=[*where, None]))
        return
    if session.trusted:
        title = f"Check {name} again"
        yield _action(title, types.Command(title, ServerCommand.CHECK_MODEL.value, arguments=where))
        for title, options in _other_ways(record):
            arguments: list[object] = [*where, options]
            yield _action(title, types.Command(title, ServerCommand.CHECK_WITH.value, arguments=arguments))
    title = f"Ignore {name} in the editor, with a reason"
    yield _action(title, types.Command(title, ServerCommand.IGNORE.value, arguments=[*where, ""]))


def _other_ways(record: ModelRecord) -> Iterator[tuple[str, dict[str, object]]]:
    options = {**record.outline.info.options, **(record.target.request.options if record.target else {})}
    name = record.name
    used = options.get("algorithm", Algorithm.OPTIMAL.value)
    supported = _supported(options.get("memory_model"))
    for algorithm in Algorithm:
        if algorithm not in _NOT_OFFERED and algorithm in supported and algorithm.value != used:
            yield f"Check {name} with algorithm {algorithm.value}", {"algorithm": algorithm.value}
    if not supported - GRAPHS:
        return
    if options.get("preemption_bound") is None:
        bound = FEW_PREEMPTIONS
        yield f"Check {name} with at most {bound} preemptions", {"preemption_bound": bound}
    else:
        yield f"Check {name} without a bound on preemptions", {"preemption_bound": None}
    if used not in (Algorithm.RANDOM.value, Algorithm.PCT.value):
        yield f"Check {name} on schedules drawn at random", {"algorithm": Algorithm.RANDOM.value}


def _supported(memory_model: object) -> frozenset[Algorithm]:
    """The algorithms for a memory model by its name; all of them if that is none, which the check itself will say."""
    names = {model.value: model for model in MemoryModel}
    return SUPPORTED[names.get(str(memory_model), MemoryModel.SC)]


def _instrument(session: Session, record: ModelRecord, finding: Finding) -> Iterator[types.CodeAction]:
    document = session.documents.get(record.path)
    if document is None or finding.package is None or record.stale:
        return
    edit = instrument_edit(document.text, record.outline, finding.package, session.client.encoding)
    if edit is not None:
        title = f"Look inside {finding.package} when {record.name} is checked"
        yield types.CodeAction(
            title,
            kind=types.CodeActionKind.QuickFix,
            edit=types.WorkspaceEdit(changes={document.uri: [edit]}),
        )


def _action(
    title: str,
    command: types.Command,
    diagnostics: list[types.Diagnostic] | None = None,
    *,
    preferred: bool = False,
) -> types.CodeAction:
    return types.CodeAction(
        title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=diagnostics,
        command=command,
        is_preferred=preferred or None,
    )
