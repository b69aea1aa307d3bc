"""Where generated litmus tests leave their registers; it is no part of the checked program, and so not instrumented."""

from __future__ import annotations

_registers: dict[str, int] = {}
_outcomes: set[frozenset[tuple[str, int]]] = set()


def begin() -> None:
    """An execution begins: forget the registers of the last one."""
    _registers.clear()


def keep(**registers: int) -> None:
    """Note registers of a thread that has come to its end."""
    _registers.update(registers)


def finish() -> None:
    """Every thread has ended: the registers are an outcome."""
    _outcomes.add(frozenset(_registers.items()))


def take() -> list[dict[str, int]]:
    """Return the outcomes since the last call and forget them."""
    taken = [dict(outcome) for outcome in _outcomes]
    _outcomes.clear()
    return taken
