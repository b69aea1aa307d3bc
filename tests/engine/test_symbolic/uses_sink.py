"""Where models leave what they found; it is no part of the checked program, and so not instrumented."""

from __future__ import annotations

_results: list[tuple[int, str]] = []


def keep(number: int, text: str) -> None:
    """Keep what a use gives for a number."""
    _results.append((number, text))


def take() -> list[tuple[int, str]]:
    """What was kept since the last call."""
    taken = list(_results)
    _results.clear()
    return taken
