"""Who makes objects in a run of an event loop: what is made is numbered by that.

What is made has to have the same number in all runs that differ only in the order of turns that nothing connects. So it
is numbered by the callback that makes it, and a callback of a timer by the one that has made the timer.
"""

from __future__ import annotations

_FACTOR = 1_000_003
_MODULUS = (1 << 61) - 1


class Maker:
    """The loop's own callbacks together, or the callback of one timer."""

    __slots__ = ("_made", "_number", "_timers")

    def __init__(self, number: int = 0) -> None:
        self._number = number
        self._made = 0
        self._timers = 0

    def next_number(self) -> int:
        """A number for an object that is made now."""
        self._made += 1
        return self._of(self._made)

    def next_maker(self) -> Maker:
        """The callback of a timer that is made now."""
        self._timers += 1
        return Maker(self._of(-self._timers))

    def _of(self, count: int) -> int:
        return count if self._number == 0 and count > 0 else (self._number * _FACTOR + count) % _MODULUS
