"""Where models leave their outcomes; it is no part of the checked program, and so not instrumented."""

from __future__ import annotations

from typing import Any

_outcomes: set[Any] = set()


def record(outcome: Any) -> None:
    """Keep the outcome of an execution."""
    _outcomes.add(outcome)


def take() -> frozenset[Any]:
    """Return the outcomes kept since the last call and forget them."""
    taken = frozenset(_outcomes)
    _outcomes.clear()
    return taken
