"""Models as symbols of a document and of the workspace."""

from __future__ import annotations

from lsprotocol import types

from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.server import DporServer


def register(server: DporServer) -> None:
    """Register the handlers."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        path = path_of(params.text_document.uri)
        file = await session.settled(path) if path is not None else None
        return [
            types.DocumentSymbol(
                record.name,
                types.SymbolKind.Function,
                record.block,
                record.place,
                detail=f"model, {record.message()}",
            )
            for record in (file.models.values() if file is not None else ())
        ]

    @server.feature(types.WORKSPACE_SYMBOL)
    async def workspace_symbols(params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        await session.scan()
        return [
            types.WorkspaceSymbol(
                types.Location(record.uri, record.place),
                record.name,
                types.SymbolKind.Function,
                container_name=f"{record.outline.info.file}, {record.state.value}",
            )
            for record in sorted(session.records(), key=lambda item: (item.uri, item.place.start.line))
            if _matches(params.query, record.identity)
        ]


def _matches(query: str, name: str) -> bool:
    """True if the characters of `query` occur in `name` in this order, whatever their case."""
    rest = iter(name.lower())
    return all(character in rest for character in query.lower())
