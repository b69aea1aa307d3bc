"""Values at the ends of lines while a counterexample is walked: as inlay hints, and as a debugger's inline values."""

from __future__ import annotations

from lsprotocol import types

from dpor.lines import split_lines
from dpor_lsp.language_server.documents import path_of
from dpor_lsp.language_server.server import DporServer


def register(server: DporServer) -> None:
    """Register the handlers."""
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        path = path_of(params.text_document.uri)
        document = session.documents.get(path) if path is not None else None
        if document is None or not session.settings.inlay_hints:
            return []
        lines = split_lines(document.text)
        hints: list[types.InlayHint] = []
        for place, text in session.replays.values(document.uri, params.range):
            line = place.end.line
            content = lines[line] if line < len(lines) else ""
            end = types.Position(line, server.client.encoding.units(content))
            hints.append(types.InlayHint(end, text, padding_left=True))
        return hints

    @server.feature(types.TEXT_DOCUMENT_INLINE_VALUE)
    def inline_values(params: types.InlineValueParams) -> list[types.InlineValueText]:
        path = path_of(params.text_document.uri)
        if path is None:
            return []
        values = session.replays.values(session.uri(path), params.range)
        return [types.InlineValueText(place, text) for place, text in values]
