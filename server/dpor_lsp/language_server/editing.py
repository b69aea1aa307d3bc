"""Changes of files that commands make: through the editor, so that they can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types

from dpor import reading
from dpor.lines import line_end, split_lines
from dpor_lsp.language_server.analysis import ModelOutline
from dpor_lsp.language_server.positions import Encoding

IGNORE_COMMENT = "# dpor: ignore:"
DEFAULT_REASON = "say here why"


def replace_all(uri: str, before: str, after: str, encoding: Encoding) -> types.WorkspaceEdit:
    """The edit that turns a document's text into another, of the part that differs."""
    old, new = split_lines(before, keepends=True), split_lines(after, keepends=True)
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = _position(old, head, encoding)
    end = _position(old, len(old) - tail, encoding)
    text = "".join(new[head : len(new) - tail])
    return types.WorkspaceEdit(changes={uri: [types.TextEdit(types.Range(start, end), text)]})


def _position(lines: Sequence[str], number: int, encoding: Encoding) -> types.Position:
    """The start of a line; the end of the text if it has no line of that number."""
    if number < len(lines) or not lines or lines[-1].endswith(("\n", "\r")):
        return types.Position(number, 0)
    return types.Position(len(lines) - 1, encoding.units(lines[-1]))


def create(uri: str, text: str) -> types.WorkspaceEdit:
    """The edit that makes a file."""
    start = types.Position(0, 0)
    return types.WorkspaceEdit(
        document_changes=[
            types.CreateFile(uri=uri, options=types.CreateFileOptions(ignore_if_exists=True)),
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(uri=uri),
                [types.TextEdit(types.Range(start, start), text)],
            ),
        ]
    )


def ignore(
    uri: str, text: str, model: ModelOutline, reason: str, encoding: Encoding
) -> tuple[types.WorkspaceEdit, types.Range]:
    """The edit that has a model ignored, by a comment above it, and the range of the reason afterwards."""
    lines = split_lines(text)
    if model.ignore_line is not None:
        number = model.ignore_line - 1
        line = lines[number]
        start = line.index("#")
        comment = f"{IGNORE_COMMENT} {reason}"
        edit = types.TextEdit(
            types.Range(
                types.Position(number, encoding.units(line[:start])),
                types.Position(number, encoding.units(line)),
            ),
            comment,
        )
        column = encoding.units(line[:start]) + len(IGNORE_COMMENT) + 1
    else:
        number = model.first - 1
        line = lines[number]
        indent = line[: len(line) - len(line.lstrip())]
        place = types.Position(number, 0)
        edit = types.TextEdit(types.Range(place, place), f"{indent}{IGNORE_COMMENT} {reason}{line_end(text)}")
        column = len(indent) + len(IGNORE_COMMENT) + 1
    selection = types.Range(
        types.Position(number, column), types.Position(number, column + encoding.units(reason))
    )
    return types.WorkspaceEdit(changes={uri: [edit]}), selection


def stop_ignoring(uri: str, text: str, model: ModelOutline, encoding: Encoding) -> types.WorkspaceEdit | None:
    """The edit that takes the comment away; None if there is none."""
    if model.ignore_line is None:
        return None
    number = model.ignore_line - 1
    line = split_lines(text)[number]
    before = line[: line.index("#")]
    if before.strip():
        start = types.Position(number, encoding.units(before.rstrip()))
        end = types.Position(number, encoding.units(line))
    else:
        start, end = types.Position(number, 0), types.Position(number + 1, 0)
    return types.WorkspaceEdit(changes={uri: [types.TextEdit(types.Range(start, end), "")]})


def read_text(path: Path) -> str | None:
    """The content of a file with its own ends of lines; None if there is none.

    Raises OSError, SyntaxError or UnicodeError for one that cannot be read.
    """
    try:
        return reading.read_text(path)
    except FileNotFoundError:
        return None
