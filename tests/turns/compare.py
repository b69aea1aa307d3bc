"""One program, explored by turns that are events and by drawing each decision of the loop."""

from __future__ import annotations

import operator
from pathlib import Path

from joined.compare import Comparison, Explored
from joined.compare import explored as explored_with


def compared(program: Path, timeout: float) -> Comparison:
    """Explore a program both ways, for so many seconds each at most."""
    return Comparison(explored(program, True, timeout), explored(program, False, timeout))


def explored(program: Path, turns: bool, timeout: float) -> Explored:
    """Explore a program."""
    return explored_with(program, {"turns": turns, "timeout": timeout}, operator.attrgetter("by_turns"))
