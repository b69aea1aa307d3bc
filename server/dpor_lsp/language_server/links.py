"""Links from codes to their explanation, in the document that comes with this package."""

from __future__ import annotations

import re
from pathlib import Path

from dpor.codes import Code
from dpor.lines import split_lines

CODES_DOCUMENT = Path(__file__).resolve().parent.parent / "documentation" / "codes.md"


class CodeLinks:
    """Where each code is explained: the document's line, as an address that editors open."""

    def __init__(self, document: Path = CODES_DOCUMENT) -> None:
        self._document = document
        self._lines: dict[str, int] | None = None

    def link(self, code: Code) -> str | None:
        """The address of a code's section; None if the document did not come with this installation."""
        if self._lines is None:
            self._lines = _sections(self._document)
        line = self._lines.get(code.value)
        return None if line is None else f"{self._document.resolve().as_uri()}#L{line}"


def _sections(document: Path) -> dict[str, int]:
    try:
        lines = split_lines(document.read_text(encoding="utf-8"))
    except OSError:
        return {}
    found: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        match = re.match(r"### (DPOR\d+)$", line)
        if match is not None:
            found[match[1]] = number
    return found
