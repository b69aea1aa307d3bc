"""Where checked programs leave their outcomes; it is no part of the program, and so not instrumented."""

from __future__ import annotations

_outcomes: set[str] = set()


def record(outcome: str) -> None:
    """Keep the outcome of an execution."""
    _outcomes.add(outcome)


def take() -> frozenset[str]:
    """Return the outcomes kept since the last call and forget them."""
    taken = frozenset(_outcomes)
    _outcomes.clear()
    return taken
