"""Path conditions as sets of literals, and how they fall apart into components that share no variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from dpor.symbolic.expressions import Expression, Variable

Literal: TypeAlias = tuple[Expression, bool]
Component: TypeAlias = tuple[Literal, ...]


def ordered(literals: Iterable[Literal]) -> Component:
    """The literals in their one order, each once."""
    return tuple(sorted(set(literals), key=_order))


def components_of(path: Sequence[Literal], variables: frozenset[Variable]) -> list[Component]:
    """The components of a path condition that have to do with these variables, directly or by way of others."""
    parts: list[tuple[set[Variable], list[Literal]]] = []
    for literal in path:
        reached = set(literal[0].variables)
        literals = [literal]
        apart: list[tuple[set[Variable], list[Literal]]] = []
        for part in parts:
            if part[0].isdisjoint(reached):
                apart.append(part)
            else:
                reached |= part[0]
                literals += part[1]
        parts = [*apart, (reached, literals)]
    return [ordered(literals) for reached, literals in parts if not reached.isdisjoint(variables)]


def _order(literal: Literal) -> tuple[int, bool]:
    return literal[0].number, literal[1]
