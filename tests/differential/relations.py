"""Relations between the events of one graph, in the notation of the papers on axiomatic memory models.

A relation is a row of bits for each event: those that it relates the event to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

Relation = tuple[int, ...]


def related(size: int, holds: Callable[[int, int], bool]) -> Relation:
    """The pairs of events for which `holds` is true."""
    return tuple(sum(1 << other for other in range(size) if holds(one, other)) for one in range(size))


def pairs(size: int, found: Iterable[tuple[int, int]]) -> Relation:
    """The relation that holds these pairs."""
    rows = [0] * size
    for one, other in found:
        rows[one] |= 1 << other
    return tuple(rows)


def identity(size: int, holds: Callable[[int], bool]) -> Relation:
    """`[A]`: each event of the set A with itself."""
    return tuple(1 << event if holds(event) else 0 for event in range(size))


def union(*relations: Relation) -> Relation:
    """`r1 | r2 | ...`"""
    rows = list(relations[0])
    for relation in relations[1:]:
        for event, row in enumerate(relation):
            rows[event] |= row
    return tuple(rows)


def without(first: Relation, second: Relation) -> Relation:
    """`r1 \\ r2`"""
    return tuple(one & ~other for one, other in zip(first, second, strict=True))


def both(first: Relation, second: Relation) -> Relation:
    """`r1 & r2`"""
    return tuple(one & other for one, other in zip(first, second, strict=True))


def inverse(relation: Relation) -> Relation:
    """`r⁻¹`"""
    size = len(relation)
    return tuple(sum(1 << one for one in range(size) if relation[one] >> event & 1) for event in range(size))


def then(*relations: Relation) -> Relation:
    """`r1 ; r2 ; ...`"""
    first = relations[0]
    for second in relations[1:]:
        rows: list[int] = []
        for row in first:
            reached = 0
            while row:
                lowest = row & -row
                reached |= second[lowest.bit_length() - 1]
                row ^= lowest
            rows.append(reached)
        first = tuple(rows)
    return first


def optional(relation: Relation) -> Relation:
    """`r?`"""
    return tuple(row | 1 << event for event, row in enumerate(relation))


def closure(relation: Relation) -> Relation:
    """`r+`"""
    rows = list(relation)
    for middle in range(len(rows)):
        for event, row in enumerate(rows):
            if row >> middle & 1:
                rows[event] = row | rows[middle]
    return tuple(rows)


def is_irreflexive(relation: Relation) -> bool:
    """Whether no event is related to itself."""
    return not any(row >> event & 1 for event, row in enumerate(relation))


def is_acyclic(relation: Relation) -> bool:
    """Whether `r+` is irreflexive."""
    return is_irreflexive(closure(relation))
