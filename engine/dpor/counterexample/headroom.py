"""Nested calls of the checker itself: how many there are, and whether there is room for more."""

from __future__ import annotations

import sys
from typing import NoReturn

# Bound before a model's changes of the limit become operations.
_get_limit, _set_limit = sys.getrecursionlimit, sys.setrecursionlimit
# The calls that are made when a check begins are fewer.
_PROBED = 500


def descend(levels: int) -> None:
    """Call so many functions within each other. Raises RecursionError if the interpreter's limit is nearer."""
    if levels:
        descend(levels - 1)


def calls_made() -> int:
    """How many nested calls the interpreter counts where this is called; 0 if they are too many to tell."""
    limit = _get_limit()
    try:
        _set_limit(_PROBED)
    except RecursionError:
        return 0
    room = [0]
    try:
        _use_up(room)
    except RecursionError:
        return _PROBED - room[0]
    finally:
        _set_limit(limit)


def _use_up(room: list[int]) -> NoReturn:
    room[0] += 1
    _use_up(room)
