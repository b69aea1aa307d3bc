"""Lines of styled text that fit a terminal: measuring in cells, cutting, wrapping, colouring."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

_TAB = 4


class Style(enum.Enum):
    """What a piece of text is; the value is its ANSI sequence of attributes."""

    PLAIN = ""
    DIM = "2"
    STRONG = "1"
    VALUE = "36"
    ERROR = "1;31"
    PATTERN = "33"
    THREAD_1 = "1;34"
    THREAD_2 = "1;35"
    THREAD_3 = "1;32"
    THREAD_4 = "1;33"
    THREAD_5 = "1;36"


THREAD_STYLES = (Style.THREAD_1, Style.THREAD_2, Style.THREAD_3, Style.THREAD_4, Style.THREAD_5)


@dataclass(frozen=True)
class Piece:
    """A run of text in one style."""

    text: str
    style: Style = Style.PLAIN


Line = list[Piece]


def cells(text: str) -> int:
    """How many terminal cells a text takes: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def clean(text: str) -> str:
    """A text without tabs and control characters, so that it takes the cells that `cells` says."""
    text = text.expandtabs(_TAB)
    return text if text.isprintable() else "".join(c if c.isprintable() else "�" for c in text)


def cut(text: str, width: int) -> str:
    """A text of at most `width` cells; `…` at its end if something was cut off."""
    if cells(text) <= width:
        return text
    return _head(text, width - 1) + "…" if width > 0 else ""


def pad(text: str, width: int) -> str:
    """A text of exactly `width` cells, cut or filled with spaces."""
    text = cut(text, width)
    return text + " " * (width - cells(text))


def wrap(text: str, width: int, *, indent: str = "", most: int | None = None) -> list[str]:
    """Break a text into lines of at most `width` cells, at spaces where possible.

    Lines after the first start with `indent`; `most` limits their number, the last one is then cut.
    """
    lines: list[str] = []
    rest = text.rstrip()
    while True:
        start = indent if lines else ""
        room = max(width - cells(start), 1)
        if cells(rest) <= room or (most is not None and len(lines) == most - 1):
            return [*lines, start + cut(rest, room)]
        head = _head(rest, room) or rest[0]
        space = head.rfind(" ") if not rest[len(head) : len(head) + 1].isspace() else len(head)
        at = space if space > room // 3 else len(head)
        lines.append((start + rest[:at]).rstrip())
        rest = rest[at:].lstrip()


def paint(line: Iterable[Piece], color: bool) -> str:
    """A line as text without trailing spaces, with ANSI sequences if `color`."""
    pieces = [piece for piece in line if piece.text]
    while pieces and not pieces[-1].text.strip():
        pieces.pop()
    if pieces:
        pieces[-1] = Piece(pieces[-1].text.rstrip(), pieces[-1].style)
    return "".join(
        f"\x1b[{piece.style.value}m{piece.text}\x1b[0m" if color and piece.style.value else piece.text
        for piece in pieces
    )


def _head(text: str, width: int) -> str:
    """The longest beginning of a text that takes at most `width` cells."""
    if text.isascii():
        return text[: max(width, 0)]
    used = 0
    for position, character in enumerate(text):
        used += cells(character)
        if used > width:
            return text[:position]
    return text
