"""One program, explored with critical sections as events and step by step."""

from __future__ import annotations

import operator
from pathlib import Path

from joined.compare import Comparison, Explored
from joined.compare import explored as explored_with


def compared(program: Path, timeout: float, algorithm: str = "optimal") -> Comparison:
    """Explore a program both ways, for so many seconds each at most; step by step with another algorithm."""
    return Comparison(explored(program, True, timeout), explored(program, False, timeout, algorithm))


def explored(program: Path, sections: bool, timeout: float, algorithm: str = "optimal") -> Explored:
    """Explore a program."""
    options = {"sections": sections, "timeout": timeout, "algorithm": algorithm}
    return explored_with(program, options, operator.attrgetter("by_sections"))
