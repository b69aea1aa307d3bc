"""What requests are answered with, and reading their arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

Arguments = Mapping[str, Any]
Answer = tuple[dict[str, Any] | None, Callable[[], None] | None]
"""The body of an answer, and what happens once it has been sent."""


class RefusedError(Exception):
    """A request that cannot be served; the message says why."""


def number(given: Arguments, name: str) -> int:
    """Return a number that a request must have. Raises RefusedError if it has none."""
    value = given.get(name)
    if type(value) is not int:
        raise RefusedError(f"the argument {name!r} must be a number, not {shown(value)}")
    return value


def optional_number(given: Arguments, name: str, default: int) -> int:
    """Return a number that a request may have."""
    value = given.get(name)
    return value if type(value) is int else default


def mapping(value: object) -> Arguments:
    """Return an object that a request holds; an empty one in the place of anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def mappings(value: object) -> list[Arguments]:
    """Return the objects of a list that a request holds."""
    return [mapping(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def shown(value: object) -> str:
    """A value of a request in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 80
