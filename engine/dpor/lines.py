"""Lines of source text, as Python's tokenizer and the Language Server Protocol count them.

`str.splitlines` also ends a line at a form feed, a vertical tab, the separators from U+001C to U+001E, U+0085, U+2028
and U+2029. Those stand inside of lines of source, so that every number after one would be another line's.
`bytes.splitlines` ends lines as the functions here do.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_END = re.compile(r"\r\n|\n|\r")


def split_lines(text: str, *, keepends: bool = False) -> list[str]:
    """The lines of a text, which end with a line feed, a carriage return or both; one that is empty has none.

    What follows the last end of a line is a line of its own unless it is empty.
    """
    lines = _LINE.findall(text)
    return lines if keepends else [line.rstrip("\r\n") for line in lines]


def line_end(text: str) -> str:
    """What ends the lines of a text: what ends its first one, a line feed if there is none."""
    found = _END.search(text)
    return "\n" if found is None else found[0]


def with_line_ends(text: str, end: str) -> str:
    """A text whose lines end with `end`, whatever they ended with."""
    return _END.sub(lambda _: end, text)
