"""Values of a protocol's types, drawn from a seed: well-typed ones, and the same with something else in some places."""

from __future__ import annotations

import enum
import random
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

MOST_DEPTH = 5
TEXTS = (
    "",
    "model",
    "python",
    "a" * 3000,
    "\ud800",
    "\0",
    "../..",
    "\u2028",
    "x = 1\n",
    "dpor.server.checkFile",
)
NUMBERS = (0, 1, 2, 7, -1, 2**31 - 1, 2**31, 2**63, -(2**63))
ODD: tuple[Any, ...] = (
    None,
    [],
    {},
    "",
    "x",
    "\ud800",
    -1,
    2**64,
    1.5,
    True,
    [[]],
    {"": None},
    [None],
    10**400,
)
ADDRESSES = (
    "",
    "file:",
    "file://[",
    "file:///%00",
    "untitled:1",
    "http://h/a.py",
    "file:///" + "a" * 5000,
    "%zz",
    "\ud800",
)


class Values:
    """Draws values of types; `addresses` are those of documents that there are."""

    def __init__(self, drawn: random.Random, names: Mapping[str, Any], addresses: Sequence[str]) -> None:
        self._drawn = drawn
        self._names = names
        self._addresses = (*addresses, *addresses, *addresses, *ADDRESSES)

    def of(self, kind: Any, name: str = "", depth: int = 0) -> Any:
        """A value of a type as JSON has it; `name` is that of the field that it is for."""
        if name.endswith("uri"):
            return self._drawn.choice(self._addresses)
        origin = typing.get_origin(kind)
        arguments = typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            simple = [one for one in arguments if one is type(None)]
            if simple and (depth > MOST_DEPTH or self._drawn.random() < 0.4):
                return None
            return self.of(
                self._drawn.choice([one for one in arguments if one is not type(None)]), name, depth
            )
        if origin is typing.Literal:
            return self._drawn.choice(arguments)
        if origin in (list, Sequence, tuple):
            many = 0 if depth > MOST_DEPTH else self._drawn.randrange(3)
            return [self.of(arguments[0], name, depth + 1) for _ in range(many)]
        if origin in (dict, Mapping):
            return {"key": self.of(arguments[1], name, depth + 1)} if depth <= MOST_DEPTH else {}
        if isinstance(kind, type):
            return self._of_class(kind, depth)
        return self._drawn.choice(ODD)

    def _of_class(self, kind: type, depth: int) -> Any:
        if issubclass(kind, enum.Enum):
            return self._drawn.choice(list(kind)).value
        if attrs.has(kind):
            return self._of_fields(kind, depth)
        if issubclass(kind, bool):
            return self._drawn.random() < 0.5
        if issubclass(kind, str):
            return self._drawn.choice(TEXTS)
        if issubclass(kind, int):
            return self._drawn.choice(NUMBERS)
        if issubclass(kind, float):
            return self._drawn.choice((0.0, -1.5, 1e308))
        return self._drawn.choice(ODD)

    def _of_fields(self, kind: type, depth: int) -> dict[str, Any]:
        attrs.resolve_types(kind, dict(self._names))
        found: dict[str, Any] = {}
        for field in attrs.fields(kind):
            value = self.of(field.type, field.name, depth + 1)
            if value is not None or field.default is attrs.NOTHING:
                found[_camel(field.name)] = value
        return found

    def spoilt(self, value: Any) -> Any:
        """The value with something else in one place of it."""
        if isinstance(value, dict) and value and self._drawn.random() < 0.9:
            fields = typing.cast("dict[str, Any]", value)
            name = self._drawn.choice(list(fields))
            if self._drawn.random() < 0.1:
                return {key: one for key, one in fields.items() if key != name}
            return {**fields, name: self.spoilt(fields[name])}
        if isinstance(value, list) and value and self._drawn.random() < 0.9:
            items = typing.cast("list[Any]", value)
            index = self._drawn.randrange(len(items))
            return [*items[:index], self.spoilt(items[index]), *items[index + 1 :]]
        return self._drawn.choice(ODD)


def _camel(name: str) -> str:
    first, *others = name.rstrip("_").split("_")
    return first + "".join(other.capitalize() for other in others)
