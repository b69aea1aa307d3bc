"""What the machines of random programs have in common: they run every interleaving of the steps of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar


@dataclass(frozen=True)
class Outcomes:
    """What threads found, with the order of what they have appended, and whether some can wait for ever."""

    ended: frozenset[object]
    deadlock: bool


class State(Protocol):
    """A program in the middle of a run; it can be told apart from others, and be a key."""

    @property
    def at(self) -> tuple[int, ...]:
        """How many steps each thread has done."""
        ...

    @property
    def found(self) -> tuple[tuple[Any, ...], ...]:
        """What each thread has found."""
        ...

    @property
    def order(self) -> tuple[int, ...]:
        """The threads that have appended."""
        ...


S = TypeVar("S", bound=State)


def outcomes(first: S, threads: Sequence[Sequence[object]], after: Callable[[S, int], S | None]) -> Outcomes:
    """Run all interleavings from a state. `after` gives the state after the next step of the thread of that number, or
    None while it has to wait.
    """
    seen, pending = {first}, [first]
    ended: set[object] = set()
    deadlock = False
    while pending:
        state = pending.pop()
        over = [at == len(steps) for at, steps in zip(state.at, threads, strict=True)]
        if all(over):
            ended.add((state.found, state.order))
            continue
        following = [after(state, index) for index in range(len(threads)) if not over[index]]
        possible = [found for found in following if found is not None]
        deadlock |= not possible
        new = [found for found in dict.fromkeys(possible) if found not in seen]
        seen.update(new)
        pending += new
    return Outcomes(frozenset(ended), deadlock)


def with_value(values: tuple[Any, ...], index: int, value: object) -> tuple[Any, ...]:
    """The tuple with another value in one place."""
    return (*values[:index], value, *values[index + 1 :])
