"""workspace/executeCommand: what code actions, lenses and key bindings of any editor can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from dpor.errors import DporError, reason_of_system
from dpor_lsp.language_server import editing, pinning, schedules
from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.markup import unlinked
from dpor_lsp.language_server.names import ServerCommand
from dpor_lsp.language_server.records import UNTRUSTED, ModelRecord
from dpor_lsp.language_server.replaying import ShownStep
from dpor_lsp.language_server.server import DporServer
from dpor_lsp.language_server.session import Session
from dpor_lsp.options import ENGINE_OPTIONS, did_you_mean, read_option


def register(server: DporServer) -> None:
    """Register the commands."""
    commands = Commands(server)
    for command, handler in (
        (ServerCommand.CHECK_MODEL, commands.check_model),
        (ServerCommand.CHECK_FILE, commands.check_file),
        (ServerCommand.CHECK_WORKSPACE, commands.check_workspace),
        (ServerCommand.CHECK_WITH, commands.check_with),
        (ServerCommand.CANCEL, commands.cancel),
        (ServerCommand.SHOW_SCHEDULE, commands.show_schedule),
        (ServerCommand.PIN_TEST, commands.pin_test),
        (ServerCommand.IGNORE, commands.ignore),
        (ServerCommand.REPLAY, commands.replay),
        (ServerCommand.REPLAY_STEP, commands.replay_step),
        (ServerCommand.TRUST, commands.trust),
    ):
        server.command(command.value)(_handler(handler))


def _handler(method: Any) -> Any:
    async def handle(*arguments: Any) -> Any:
        return await method(*arguments)

    return handle


class Commands:
    """The commands; arguments are as the protocol gives them, and a wrong one is refused in words."""

    def __init__(self, server: DporServer) -> None:
        self._server = server
        self._session = server.session
        self._client = server.client

    async def check_model(self, *arguments: Any) -> None:
        """Check one model: [uri, model]."""
        record = await require_model(self._session, arguments)
        self._require_trust()
        self._session.check(record.path, {record.name})

    async def check_file(self, *arguments: Any) -> dict[str, int]:
        """Check all models of a file: [uri]. Returns how many it has."""
        path = require_path(arguments)
        self._require_trust()
        if path not in self._session.documents and not path.is_file():
            raise refused(f"there is no file {path}")
        if path not in self._session.files:
            await self._session.look_at(path)
        file = await self._session.settled(path)
        number = len(file.models) if file is not None else 0
        if number == 0 and (file is None or file.problem is None):
            message = f"dpor: {path.name} has no models; mark a function with @dpor.model to have it checked"
            self._client.say(message, types.MessageType.Info)
        self._session.check(path)
        return {"models": number}

    async def check_workspace(self, *arguments: Any) -> dict[str, int]:
        """Check all models of the workspace: []. Returns how many files have models."""
        self._require_trust()
        files = await self._session.check_workspace()
        if files == 0:
            message = "dpor: no file of the workspace has a model; mark a function with @dpor.model to have it checked"
            self._client.say(message, types.MessageType.Info)
        return {"files": files}

    async def check_with(self, *arguments: Any) -> None:
        """Check one model with other options, this once: [uri, model, {option: value}]."""
        record = await require_model(self._session, arguments)
        given = arguments[2] if len(arguments) > 2 else None
        if not isinstance(given, Mapping):
            raise refused("checkWith takes [uri, model, {option: value}]")
        options: dict[str, Any] = {}
        for key, value in cast("Mapping[str, object]", given).items():
            name = key.replace("-", "_")
            if name not in ENGINE_OPTIONS:
                raise refused(f"there is no option {key!r}: {did_you_mean(key, ENGINE_OPTIONS)}")
            try:
                options[name] = read_option(name, "none" if value is None else value)
            except DporError as error:
                raise refused(f"{error.message}: {error.fix}") from None
        self._require_trust()
        self._session.check(record.path, {record.name}, options)

    async def cancel(self, *arguments: Any) -> None:
        """Cancel the check of a model: [uri, model]."""
        self._session.cancel(await require_model(self._session, arguments))

    async def show_schedule(self, *arguments: Any) -> dict[str, str]:
        """Show a counterexample as text: [uri, model, violation]. Returns the text and the file that has it."""
        record = await require_model(self._session, arguments)
        index = require_violation(record, arguments)
        result, target = record.shown, record.target
        assert result is not None
        assert target is not None
        violation = result.violations[index]
        text = await self._session.in_thread(
            partial(schedules.schedule_text, violation, target.root, target.texts)
        )
        file = schedules.write_schedule(target.root, record.identity, index, text)
        await self._client.show_document(self._session.uri(file))
        return {"uri": self._session.uri(file), "text": text}

    async def pin_test(self, *arguments: Any) -> dict[str, Any]:
        """Write the test that replays a counterexample: [uri, model, violation]. Returns its file and name."""
        record = await require_model(self._session, arguments)
        index = require_violation(record, arguments)
        result = record.shown
        assert result is not None
        violation = result.violations[index]
        path = pinning.test_file(record.path)
        document = self._session.documents.get(path)
        try:
            before = document.text if document is not None else editing.read_text(path)
            if before is not None and pinning.already_pinned(before, violation.schedule):
                message = f"dpor: {path.name} has a test with this counterexample already"
                self._client.say(message, types.MessageType.Info)
                return {"uri": self._session.uri(path), "name": None}
            pinned = pinning.pin(record.path, record.name, violation, before)
        except SyntaxError as error:
            where = f" in line {error.lineno}" if error.lineno is not None else ""
            raise refused(f"{path.name} cannot be added to: {error.msg}{where}") from None
        except (OSError, UnicodeError) as error:
            raise refused(f"{path.name} cannot be read: {error}") from None
        uri = self._session.uri(path)
        await self._write(uri, path, before, pinned.after, f"Pin the counterexample of {record.name}")
        place = types.Position(pinned.line, 0)
        await self._client.show_document(uri, types.Range(place, place))
        return {"uri": uri, "name": pinned.name}

    async def _write(self, uri: str, path: Path, before: str | None, after: str, label: str) -> None:
        if before is not None:
            await self._apply(editing.replace_all(uri, before, after, self._client.encoding), label)
        elif self._client.creates_files:
            await self._apply(editing.create(uri, after), label)
        else:
            try:
                path.write_text(after, encoding="utf-8")
            except OSError as error:
                raise refused(f"{path} cannot be written: {reason_of_system(error)}") from None

    async def ignore(self, *arguments: Any) -> None:
        """Ignore a model in the editor: [uri, model, reason]; a reason of null stops ignoring it."""
        record = await require_model(self._session, arguments)
        reason = arguments[2] if len(arguments) > 2 else ""
        document = self._session.documents.get(record.path)
        try:
            text = document.text if document is not None else editing.read_text(record.path)
        except (OSError, SyntaxError, UnicodeError) as error:
            raise refused(f"{record.path.name} cannot be read: {error}") from None
        file = await self._session.settled(record.path)
        if text is None or file is None or file.models.get(record.name) is not record:
            raise refused(f"{record.identity} is not there any more")
        encoding = self._client.encoding
        if reason is None:
            edit = editing.stop_ignoring(record.uri, text, record.outline, encoding)
            if edit is not None:
                await self._apply(edit, f"Stop ignoring {record.name}")
            return
        words = " ".join(str(reason).split())
        edit, place = editing.ignore(
            record.uri, text, record.outline, words or editing.DEFAULT_REASON, encoding
        )
        await self._apply(edit, f"Ignore {record.name}")
        if not words:
            await self._client.show_document(record.uri, place)

    async def replay(self, *arguments: Any) -> dict[str, Any] | None:
        """Walk a counterexample from its first step: [uri, model, violation]."""
        record = await require_model(self._session, arguments)
        index = require_violation(record, arguments)
        return await self._show(record, self._session.replays.start(record, index))

    async def replay_step(self, *arguments: Any) -> dict[str, Any] | None:
        """Go some steps on (or back) in the walk: [uri, model, steps]; 0 steps end it."""
        record = await require_model(self._session, arguments)
        steps = arguments[2] if len(arguments) > 2 else 1
        if not isinstance(steps, int):
            raise refused("replayStep takes [uri, model, number of steps]")
        if steps == 0:
            self._session.replays.stop()
            return None
        return await self._show(record, self._session.replays.go(record, steps))

    async def _show(self, record: ModelRecord, shown: ShownStep | None) -> dict[str, Any] | None:
        if shown is None:
            raise refused(f"{record.identity} has no counterexample to walk; check it first")
        await self._client.show_document(shown.place.uri, shown.place.range)
        return {"step": shown.step.step, "text": shown.place.message, "uri": shown.place.uri}

    async def trust(self, *arguments: Any) -> None:
        """Say whether the workspace is trusted: [bool]."""
        if len(arguments) != 1 or not isinstance(arguments[0], bool):
            raise refused("trust takes [true] or [false]")
        self._session.trust(arguments[0])

    async def _apply(self, edit: types.WorkspaceEdit, label: str) -> None:
        answer = await self._client.apply(edit, label)
        if not answer.applied:
            raise refused(f"the editor did not make the change: {answer.failure_reason or 'no reason given'}")

    def _require_trust(self) -> None:
        if not self._session.trusted:
            raise refused(f"{UNTRUSTED}; trust it first")


def require_path(arguments: tuple[Any, ...]) -> Path:
    """The file that the first argument names; raises JsonRpcInvalidParams."""
    uri = arguments[0] if arguments else None
    path = path_of(uri) if isinstance(uri, str) else None
    if path is None:
        raise refused(f"the first argument is no file: {uri!r}")
    return path


async def require_model(session: Session, arguments: tuple[Any, ...]) -> ModelRecord:
    """The model that the first two arguments name; raises JsonRpcInvalidParams if there is none."""
    path = require_path(arguments)
    name = arguments[1] if len(arguments) > 1 else None
    if path not in session.files:
        await session.look_at(path)
    file = await session.settled(path)
    models = file.models if file is not None else {}
    record = models.get(name) if isinstance(name, str) else None
    if record is None:
        hint = did_you_mean(str(name), models)
        raise refused(f"{path.name} has no model {name!r}: {hint}it has {', '.join(models) or 'none'}")
    return record


def require_violation(record: ModelRecord, arguments: tuple[Any, ...]) -> int:
    """The number of the violation that the third argument names; raises JsonRpcInvalidParams if there is none."""
    index = arguments[2] if len(arguments) > 2 and arguments[2] is not None else 0
    number = len(record.shown.violations) if record.shown is not None else 0
    if not isinstance(index, int) or not 0 <= index < number:
        raise refused(f"{record.identity} has no counterexample to show: {record.message()}")
    return index


def refused(message: str) -> JsonRpcInvalidParams:
    """The answer to a request that cannot be served, in words."""
    return JsonRpcInvalidParams(unlinked(message))
