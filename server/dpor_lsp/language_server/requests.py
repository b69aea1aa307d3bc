"""Requests beyond LSP: the models of the workspace, and recorded traces."""

from __future__ import annotations

from typing import Any

from dpor_lsp.language_server.server import DporServer


def register(server: DporServer) -> None:
    """Register the handlers."""
    session = server.session

    @server.feature("dpor/models")
    async def models(params: Any) -> dict[str, Any]:
        await session.scan()
        records = sorted(session.records(), key=lambda item: (item.uri, item.place.start.line))
        return {"models": [record.to_json() for record in records]}
