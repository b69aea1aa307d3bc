"""The editor, as the session sees it: what it can do, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from dpor_lsp.language_server.markup import unlinked
from dpor_lsp.language_server.positions import Encoding

PATIENCE = 10.0
"""Seconds that an editor may take to answer while a request of its own waits for that."""

Answer = TypeVar("Answer")


class Client:
    """Sends to the editor what its capabilities allow; used from the event loop's thread only."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self.commands: frozenset[str] = frozenset()
        self.pulls = False
        self.encoding = Encoding()
        self._capabilities = types.ClientCapabilities()

    def learn(self, params: types.InitializeParams, encoding: str) -> None:
        """Take in what the client says of itself."""
        self._capabilities = params.capabilities
        self.encoding = Encoding(encoding)
        options = initialization_options(params)
        given = options.get("clientCommands")
        commands = cast("list[object]", given) if isinstance(given, list) else []
        self.commands = frozenset(str(item) for item in commands)
        document = params.capabilities.text_document
        can_pull = document is not None and document.diagnostic is not None
        takes_pushes = document is not None and document.publish_diagnostics is not None
        self.pulls = can_pull and (options.get("diagnostics") == "pull" or not takes_pushes)

    @property
    def shows_progress(self) -> bool:
        """True if the editor shows progress that the server begins."""
        window = self._capabilities.window
        return bool(window and window.work_done_progress)

    @property
    def shows_documents(self) -> bool:
        """True if the editor opens documents when it is asked to."""
        window = self._capabilities.window
        return bool(window and window.show_document and window.show_document.support)

    @property
    def watches_files(self) -> bool:
        """True if the editor can be asked to tell of changed files."""
        workspace = self._capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        return bool(watched and watched.dynamic_registration)

    @property
    def tells_configuration(self) -> bool:
        """True if the editor can be asked for its configuration."""
        workspace = self._capabilities.workspace
        return bool(workspace and workspace.configuration)

    @property
    def creates_files(self) -> bool:
        """True if an edit may create a file."""
        workspace = self._capabilities.workspace
        edit = workspace.workspace_edit if workspace else None
        kinds = edit.resource_operations if edit else None
        return bool(kinds and types.ResourceOperationKind.Create in kinds and edit and edit.document_changes)

    def publish(self, uri: str, version: int | None, diagnostics: Sequence[types.Diagnostic]) -> None:
        """Send the diagnostics of a document."""
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, list(diagnostics), version)
        )

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification that is not part of LSP; a client that does not know it ignores it."""
        self._server.protocol.notify(method, params)

    def log(self, text: str, kind: types.MessageType = types.MessageType.Log) -> None:
        """Write into the editor's log."""
        self._server.window_log_message(types.LogMessageParams(kind, text))

    def say(self, text: str, kind: types.MessageType) -> None:
        """Show a message."""
        self._server.window_show_message(types.ShowMessageParams(kind, unlinked(text)))

    def refresh(self) -> None:
        """Have lenses, inlay hints, inline values and pulled diagnostics asked for again."""
        workspace = self._capabilities.workspace
        if workspace is None:
            return
        if workspace.code_lens and workspace.code_lens.refresh_support:
            _ignore(self._server.workspace_code_lens_refresh(None))
        if workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            _ignore(self._server.workspace_inlay_hint_refresh(None))
        if workspace.inline_value and workspace.inline_value.refresh_support:
            _ignore(self._server.workspace_inline_value_refresh(None))
        if self.pulls and workspace.diagnostics and workspace.diagnostics.refresh_support:
            _ignore(self._server.workspace_diagnostic_refresh(None))

    async def show_document(self, uri: str, place: types.Range | None = None) -> None:
        """Open a document in the editor, at a place, if it can."""
        if self.shows_documents:
            params = types.ShowDocumentParams(uri, take_focus=True, selection=place)
            await self._answer(
                "window/showDocument", self._server.window_show_document_async(params), PATIENCE
            )

    async def apply(self, edit: types.WorkspaceEdit, label: str) -> types.ApplyWorkspaceEditResult:
        """Have the editor change documents; what it does not answer is not applied."""
        params = types.ApplyWorkspaceEditParams(edit, label)
        asked = self._server.workspace_apply_edit_async(params)
        answer = await self._answer("workspace/applyEdit", asked, PATIENCE)
        if answer is None:
            return types.ApplyWorkspaceEditResult(applied=False, failure_reason="it gave no answer")
        return answer

    async def _answer(
        self, method: str, asked: Awaitable[Answer], patience: float | None = None
    ) -> Answer | None:
        """The answer to a request; None if the editor refuses it, answers what is none, or takes too long."""
        try:
            async with asyncio.timeout(patience):
                return await asked
        except JsonRpcException as error:
            self.log(f"dpor-lsp: the editor refused {method}: {error}")
        except TimeoutError:
            self.log(f"dpor-lsp: the editor has not answered {method}")
        return None

    async def configuration(self) -> object:
        """Ask for the settings of section `dpor`; None if the client does not tell them."""
        if not self.tells_configuration:
            return None
        items = [types.ConfigurationItem(section="dpor")]
        asked = self._server.workspace_configuration_async(types.ConfigurationParams(items))
        answers: object = await self._answer("workspace/configuration", asked)
        return cast("Sequence[object]", answers)[0] if isinstance(answers, list | tuple) and answers else None

    async def watch_files(self) -> None:
        """Ask to be told of changes of files that no editor has open."""
        if not self.watches_files:
            return
        watchers = [types.FileSystemWatcher(pattern) for pattern in ("**/*.py", "**/pyproject.toml")]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = types.Registration("dpor-files", method, options)
        asked = self._server.client_register_capability_async(types.RegistrationParams([registration]))
        await self._answer("client/registerCapability", asked)

    async def begin_progress(self, token: str, title: str, message: str) -> bool:
        """Show progress that the user can cancel; False if the editor does not show any."""
        if not self.shows_progress:
            return False
        progress: Any = self._server.work_done_progress
        try:
            await progress.create_async(token)
        except JsonRpcException as error:
            self.log(f"dpor-lsp: the editor refused to show progress: {error}")
            return False
        message = unlinked(message)
        progress.begin(
            token, types.WorkDoneProgressBegin(title, cancellable=True, message=message, percentage=0)
        )
        return True

    def report_progress(self, token: str, message: str, percentage: int) -> None:
        """Say how far something is."""
        report = types.WorkDoneProgressReport(
            cancellable=True, message=unlinked(message), percentage=percentage
        )
        self._server.work_done_progress.report(token, report)

    def end_progress(self, token: str, message: str) -> None:
        """Take progress away."""
        progress: Any = self._server.work_done_progress
        progress.end(token, types.WorkDoneProgressEnd(message=unlinked(message)))
        # pygls keeps a token for good.
        progress.tokens.pop(token, None)


def initialization_options(params: types.InitializeParams) -> dict[str, Any]:
    """The options that the client gave along with `initialize`."""
    given: object = params.initialization_options
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _ignore(future: Future[Any]) -> None:
    """Take notice of an answer, whatever it is: a refresh that the client refuses changes nothing here."""
    future.add_done_callback(lambda done: None if done.cancelled() else done.exception())
