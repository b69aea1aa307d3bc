"""Where checked programs leave their outcomes; it is no part of the program, and so not instrumented."""

from __future__ import annotations

_outcomes: list[str] = []


def record(outcome: str) -> None:
    """Keep the outcome of an execution."""
    _outcomes.append(outcome)


def take(last: int | None = None) -> frozenset[str]:
    """Return the outcomes kept since the last call, or only the last ones of them, and forget them all."""
    taken = frozenset(_outcomes if last is None else _outcomes[max(0, len(_outcomes) - last) :])
    _outcomes.clear()
    return taken
