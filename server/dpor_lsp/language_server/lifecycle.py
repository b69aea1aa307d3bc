"""initialize, configuration and shutdown."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from lsprotocol import types

from dpor_lsp.language_server.client import initialization_options
from dpor_lsp.language_server.client_watch import is_process, watch_process
from dpor_lsp.language_server.diagnostics import register_pull
from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.server import DporServer
from dpor_lsp.language_server.settings import SETTING_NAMES, read_settings


def register(server: DporServer) -> None:
    """Register the handlers."""
    session, client = server.session, server.client
    interpreter: list[str | None] = [None]

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options = initialization_options(params)
        client.learn(params, str(server.workspace.position_encoding or "utf-16"))
        folders = [path_of(folder.uri) for folder in server.workspace.folders.values()]
        root = server.workspace.root_uri
        if not folders and root:
            folders = [path_of(root)]
        session.trusted = options.get("trusted") is not False
        session.start([folder for folder in folders if folder is not None])
        wanted = options.get("interpreter")
        interpreter[0] = wanted if isinstance(wanted, str) and wanted else None
        # Some clients can only send settings as the initialization options themselves.
        plain = {name: value for name, value in options.items() if name in SETTING_NAMES}
        use(options.get("settings", plain))
        if client.pulls:
            register_pull(server)
        if params.process_id is None:
            return
        if is_process(params.process_id):
            watch_process(params.process_id, server.end)
        else:
            # The end of the connection still ends the server.
            client.log(f"dpor-lsp: the client's processId {params.process_id} is no process's number")

    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        # Side by side: a client that does not answer the one may answer the other.
        session.spawn(client.watch_files(), "watch files")
        session.spawn(ask(), "configuration")

    async def ask() -> None:
        answer = await client.configuration()
        if answer is not None:
            use(answer)

    def use(given: object) -> None:
        settings = read_settings(given)
        session.configure(replace(settings, interpreter=settings.interpreter or interpreter[0]))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configure(params: types.DidChangeConfigurationParams) -> None:
        if client.tells_configuration:
            session.spawn(ask(), "configuration")
            return
        given = cast(object, params.settings)
        sections = cast("dict[str, object]", given) if isinstance(given, dict) else {}
        use(sections.get("dpor", sections or None))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        added = [path_of(folder.uri) for folder in params.event.added]
        removed = [path_of(folder.uri) for folder in params.event.removed]
        session.folders_changed(
            [path for path in added if path is not None], [path for path in removed if path is not None]
        )

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def cancel(params: types.WorkDoneProgressCancelParams) -> None:
        session.checks.cancel_token(params.token)

    @server.feature(types.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.exit_code = 0

    @server.feature(types.EXIT)
    def exit_(params: None) -> None:
        server.end(1 if server.exit_code is None else server.exit_code)
