"""Lenses above each model: its state, and what can be done now."""

from __future__ import annotations

from lsprotocol import types

from dpor_lsp.language_server import wording
from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.names import ClientCommand, ServerCommand
from dpor_lsp.language_server.records import ModelRecord, State
from dpor_lsp.language_server.server import DporServer
from dpor_lsp.language_server.session import Session


def register(server: DporServer) -> None:
    """Register the handler."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        path = path_of(params.text_document.uri)
        if path is None or not session.settings.code_lens:
            return []
        file = await session.settled(path)
        if file is None:
            return []
        return [lens for record in file.models.values() for lens in lenses(session, record)]


def lenses(session: Session, record: ModelRecord) -> list[types.CodeLens]:
    """The lenses of one model."""
    commands = [_state(session, record)]
    where: list[object] = [record.uri, record.name]
    replay = session.replays.of(record)
    if replay is not None:
        number, all_steps = replay.position + 1, len(session.replays.steps(replay))
        step = ServerCommand.REPLAY_STEP.value
        if number > 1:
            commands.append(types.Command("back", step, arguments=[*where, -1]))
        if number < all_steps:
            commands.append(types.Command(f"step {number} of {all_steps}: next", step, arguments=[*where, 1]))
        commands.append(types.Command("end the replay", step, arguments=[*where, 0]))
    elif record.state is State.IGNORED:
        commands.append(types.Command("stop ignoring", ServerCommand.IGNORE.value, arguments=[*where, None]))
    elif record.state.is_busy:
        commands.append(types.Command("cancel", ServerCommand.CANCEL.value, arguments=where))
    elif session.trusted:
        commands.append(types.Command("check", ServerCommand.CHECK_MODEL.value, arguments=where))
    if replay is None and record.shown is not None and record.shown.violations and not record.stale:
        commands.append(replay_command(session, record, 0, "replay"))
    return [types.CodeLens(record.place, command) for command in commands]


def replay_command(session: Session, record: ModelRecord, violation: int, title: str) -> types.Command:
    """The command that walks a counterexample: the client's own if it has one."""
    arguments: list[object] = [record.uri, record.name, violation]
    own = ClientCommand.REPLAY_TRACE.value
    command = own if own in session.client.commands else ServerCommand.REPLAY.value
    return types.Command(title, command, arguments=arguments)


def schedule_command(session: Session, record: ModelRecord, violation: int, title: str) -> types.Command:
    """The command that shows a counterexample as text: the client's own if it has one."""
    arguments: list[object] = [record.uri, record.name, violation]
    own = ClientCommand.SHOW_SCHEDULE.value
    command = own if own in session.client.commands else ServerCommand.SHOW_SCHEDULE.value
    return types.Command(title, command, arguments=arguments)


def title(record: ModelRecord) -> str:
    """The state in one line, with counts and time where there are any."""
    text = record.message()
    result = record.shown
    settled = record.state in (State.VERIFIED, State.VIOLATED, State.INCOMPLETE)
    if result is not None and settled:
        text = f"{text} · {wording.counts(result)}"
    symbol = _SYMBOLS.get(record.state, "")
    if record.state is State.VIOLATED and record.expected:
        symbol = _SYMBOLS[State.VERIFIED]
    elif record.state is State.VERIFIED and not record.expected:
        symbol = _SYMBOLS[State.VIOLATED]
    return f"{symbol} {text}" if symbol else text


_SYMBOLS = {
    State.VERIFIED: "✓",
    State.VIOLATED: "✗",
    State.INCOMPLETE: "?",
    State.ERROR: "!",
    State.STALE: "…",
}


def _state(session: Session, record: ModelRecord) -> types.Command:
    if record.shown is not None and record.shown.violations and not record.stale:
        return schedule_command(session, record, 0, title(record))
    # Without a command the title cannot be clicked, which is right: there is nothing more to see.
    return types.Command(title(record), "")
