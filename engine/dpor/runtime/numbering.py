"""Numbers that objects without a name get in the order in which they are made: threads, pools, tasks of asyncio."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpor._kernel import Host
    from dpor.runtime.thread import MainThread


class Numbered(enum.Enum):
    """What is numbered."""

    THREADS = enum.auto()
    POOLS = enum.auto()
    TASKS = enum.auto()


class Numbers:
    """The numbers of one kind in one execution.

    To draw one is an operation, so that the orders of drawing are explored, where a program can tell them apart: where
    several threads have drawn and somebody looks at a name. Few programs look, and many make threads.
    """

    __slots__ = ("_drawn", "_drawn_by", "_first", "_kind", "_main", "_place")

    def __init__(self, kind: Numbered, main: MainThread, first: int = 1) -> None:
        self._kind = kind
        self._main = main
        self._first = first
        self._drawn = 0
        self._drawn_by: set[int] = set()
        # What threads that draw conflict on.
        self._place: list[int] = []

    def next(self, host: Host) -> int:
        """Draw a number."""
        self._drawn_by.add(host.current_index())
        if self._kind in self._main.dpor_numbered:
            host.touch_whole(self._place, True, self._main)
        self._drawn += 1
        return self._first + self._drawn - 1

    def see(self, host: Host) -> None:
        """A name with such a number is looked at."""
        if len(self._drawn_by) > 1 and self._kind not in self._main.dpor_numbered:
            self._main.dpor_numbered.add(self._kind)
            host.begin_anew()
