"""Open documents as the protocol counts their lines and positions.

pygls splits lines where Python's strings do, which is at more characters than the protocol's, puts a position past the
end of a line before its last character, and reads documents that are not open from the disk.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace import ServerTextPosition, ServerTextRange, TextDocument, Workspace

from dpor.lines import split_lines
from dpor_lsp.language_server.positions import Encoding


class LineDocument(TextDocument):
    """A document whose lines end with a line feed, a carriage return or both, and with nothing else."""

    @property
    def source(self) -> str:
        """The text of the document; nothing if it is not open."""
        return self._source or ""

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends."""
        return split_lines(self.source, keepends=True)

    def position_from_client_units(self, position: types.Position) -> ServerTextPosition:
        """The line and the character in it; a place outside of the text becomes the nearest one before it."""
        return self._position(self.lines, position)

    def range_from_client_units(self, range: types.Range) -> ServerTextRange:
        """The range of two such positions."""
        lines = self.lines
        return ServerTextRange(self._position(lines, range.start), self._position(lines, range.end))

    def offset_at_position(self, client_position: types.Position) -> int:
        """How many characters of the text are before a position."""
        lines = self.lines
        return _offset(lines, self._position(lines, client_position))

    def _position(self, lines: Sequence[str], position: types.Position) -> ServerTextPosition:
        if position.line >= len(lines):
            return ServerTextPosition(len(lines), 0)
        content = lines[position.line].rstrip("\r\n")
        encoding = Encoding(types.PositionEncodingKind(self.position_codec.encoding or "utf-16").value)
        return ServerTextPosition(position.line, encoding.characters(content, position.character))

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        lines, source = self.lines, self.source
        start, end = (
            _offset(lines, self._position(lines, place)) for place in (change.range.start, change.range.end)
        )
        self._source = source[:start] + change.text + source[max(start, end) :]


def _offset(lines: Sequence[str], position: ServerTextPosition) -> int:
    return sum(map(len, lines[: position.line])) + position.character


class LineWorkspace(Workspace):
    """A workspace of such documents."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> LineDocument:
        return LineDocument(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )


def with_lines(workspace: Workspace) -> LineWorkspace:
    """The workspace that serves in place of a new one of pygls."""
    return LineWorkspace(
        workspace.root_uri,
        workspace_folders=list(workspace.folders.values()),
        position_encoding=workspace.position_encoding,
    )
