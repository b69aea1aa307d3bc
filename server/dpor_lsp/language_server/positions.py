"""From places in results to places in an editor, and where those are after the text was edited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types

from dpor.lines import split_lines
from dpor.results import SourceSpan


@dataclass(frozen=True)
class Encoding:
    """How the client counts characters in a line: in UTF-8, UTF-16 or UTF-32 units."""

    name: str = "utf-16"

    def units(self, text: str) -> int:
        """How many units `text` takes."""
        if text.isascii() or self.name == "utf-32":
            return len(text)
        if self.name == "utf-8":
            return len(text.encode(errors="surrogatepass"))
        return len(text.encode("utf-16-le", errors="surrogatepass")) // 2

    def characters(self, line: str, units: int) -> int:
        """How many characters of `line` the first `units` units are."""
        if line.isascii() or self.name == "utf-32":
            return min(units, len(line))
        count = 0
        for index, character in enumerate(line):
            if count >= units:
                return index
            count += self.units(character)
        return len(line)


def range_of(span: SourceSpan, lines: Sequence[str], encoding: Encoding) -> types.Range:
    """The range that a span stands for in a text of these lines; a span without an end goes to the line's end.

    A place outside the text becomes the nearest one in it.
    """
    start_line = min(max(span.line - 1, 0), max(len(lines) - 1, 0))
    text = _line(lines, start_line)
    start = _units(text, span.column - 1, encoding)
    if span.end_line is None:
        if span.column <= 1:
            start = _units(text, len(text) - len(text.lstrip()), encoding)
        end = types.Position(start_line, max(start, encoding.units(text)))
    else:
        end_line = min(max(span.end_line - 1, start_line), max(len(lines) - 1, 0))
        column = span.end_column - 1 if span.end_column is not None else len(_line(lines, end_line))
        end = types.Position(end_line, _units(_line(lines, end_line), column, encoding))
    return types.Range(types.Position(start_line, start), end)


def _line(lines: Sequence[str], number: int) -> str:
    return lines[number].rstrip("\r\n") if number < len(lines) else ""


def _units(line: str, column: int, encoding: Encoding) -> int:
    return encoding.units(line[: max(column, 0)])


@dataclass(frozen=True)
class Edit:
    """A replaced range of a text: what it was, and where its new text ends."""

    start: tuple[int, int]
    old_end: tuple[int, int]
    new_end: tuple[int, int]

    def move(self, line: int, character: int, *, sticky: bool) -> tuple[int, int]:
        """Where a position is after the edit; one inside the replaced range goes to its start.

        `sticky`: a position at the very place of an insertion stays before what was inserted.
        """
        here = (line, character)
        if here < self.start or (here == self.start and sticky):
            return here
        if here < self.old_end:
            return self.start
        if line == self.old_end[0]:
            return self.new_end[0], self.new_end[1] + character - self.old_end[1]
        return line + self.new_end[0] - self.old_end[0], character


def edit_of(change: types.TextDocumentContentChangeEvent, encoding: Encoding) -> Edit | None:
    """The edit that a change event is; None if it replaces the whole text."""
    if not isinstance(change, types.TextDocumentContentChangePartial):
        return None
    start, end = change.range.start, change.range.end
    pieces = split_lines(change.text, keepends=True)
    if not pieces or pieces[-1].endswith(("\n", "\r")):
        pieces.append("")
    last = encoding.units(pieces[-1])
    new_end = (
        (start.line, start.character + last) if len(pieces) == 1 else (start.line + len(pieces) - 1, last)
    )
    return Edit((start.line, start.character), (end.line, end.character), new_end)


def moved(place: types.Range, edit: Edit) -> types.Range:
    """Where a range is after an edit: text that is added at its start or its end does not become part of it."""
    start = edit.move(place.start.line, place.start.character, sticky=False)
    end = edit.move(place.end.line, place.end.character, sticky=True)
    return types.Range(types.Position(*start), types.Position(*max(start, end)))


def contains_line(place: types.Range, wanted: types.Range) -> bool:
    """True if the ranges have a line in common."""
    return place.start.line <= wanted.end.line and wanted.start.line <= place.end.line
