"""Documents and files as they change."""

from __future__ import annotations

from lsprotocol import types

from dpor_lsp.language_server.documents import Document, path_of
from dpor_lsp.language_server.positions import edit_of
from dpor_lsp.language_server.server import DporServer


def register(server: DporServer) -> None:
    """Register the handlers."""
    session = server.session

    def document(uri: str) -> Document | None:
        path = path_of(uri)
        if path is None or path.suffix not in (".py", ".pyw"):
            return None
        held = server.workspace.get_text_document(uri)
        return Document(uri, path, held.version or 0, held.source)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        now = document(params.text_document.uri)
        if now is not None:
            session.opened(now)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        now = document(params.text_document.uri)
        if now is not None:
            encoding = server.client.encoding
            session.changed(now, [edit_of(change, encoding) for change in params.content_changes])

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None and server.incoming.is_open(params.text_document.uri):
            session.saved(path)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None:
            session.closed(path)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path_of(change.uri) for change in params.changes]
        session.files_changed([path for path in paths if path is not None])
