"""What the fields of a format text name: `"{0.owner[key]}".format(x)` reads an attribute of x and an item of that."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

_Steps: TypeAlias = tuple[tuple[bool, str | int], ...]
_NESTED = 2
_FORMATTER = string.Formatter()
_split: Any = vars(string)["_string"].formatter_field_name_split


_CONVERSIONS: Mapping[str | None, int] = {None: -1, "s": ord("s"), "r": ord("r"), "a": ord("a")}
"""Conversions as `Host.format` knows them."""


class _Host(Protocol):
    def load_attribute(self, obj: Any, name: str) -> Any: ...
    def load_item(self, obj: Any, key: Any) -> Any: ...
    def format(self, value: Any, conversion: int, specification: str) -> str: ...


def fields(
    text: str, positional: Sequence[object], named: Mapping[str, object] | None
) -> list[tuple[object, _Steps]]:
    """The arguments that fields show, each with the steps from it: whether to an attribute, and its name.

    Of what `str.format` refuses there is nothing from the field on that it refuses.
    """
    found: list[tuple[object, _Steps]] = []
    try:
        for first, steps in _names(text, itertools.count(), _NESTED):
            argument = positional[first] if isinstance(first, int) else (named or {})[first]
            found.append((argument, steps))
    except (IndexError, KeyError, ValueError):
        pass
    return found


def _names(text: str, numbers: Iterator[int], depth: int) -> Iterator[tuple[str | int, _Steps]]:
    for _, field, specification, _ in _FORMATTER.parse(text):
        if field is None:
            continue
        first, rest = _split(field)
        yield (next(numbers) if first == "" else first), tuple(rest)
        if specification and depth > 1:
            yield from _names(specification, numbers, depth - 1)


def step_by_step(
    host: _Host, text: str, positional: Sequence[object], named: Mapping[str, object] | None, shared: bool
) -> str:
    """Format a text as `str.format` does, with each attribute and item read by way of the host.

    With `shared` others can see the mapping `named`, as that of `str.format_map`.

    Raises what the lookups raise, and ValueError for a text that is malformed.
    """
    return _Stepping(host, positional, named if named is not None else {}, shared).format(text, _NESTED)


class _Stepping:
    def __init__(
        self, host: _Host, positional: Sequence[object], named: Mapping[str, object], shared: bool
    ) -> None:
        self._host = host
        self._positional = positional
        self._named = named
        self._shared = shared
        self._numbers = itertools.count()

    def format(self, text: str, depth: int) -> str:
        if depth == 0:
            raise ValueError("Max string recursion exceeded")
        parts: list[str] = []
        for literal, field, specification, conversion in _FORMATTER.parse(text):
            parts.append(literal)
            if field is not None:
                value = self._value(field)
                if conversion not in _CONVERSIONS:
                    raise ValueError(f"Unknown conversion specifier {conversion}")
                if conversion is not None:
                    # Before the fields of the specification are read.
                    value = self._host.format(value, _CONVERSIONS[conversion], "")
                wanted = self.format(specification, depth - 1) if specification else ""
                parts.append(self._host.format(value, _CONVERSIONS[None], wanted))
        return "".join(parts)

    def _value(self, field: str) -> Any:
        first, rest = _split(field)
        index = next(self._numbers) if first == "" else first
        value: Any
        if isinstance(index, int):
            value = self._positional[index]
        elif self._shared:
            value = self._host.load_item(self._named, index)
        else:
            value = self._named[index]
        for is_attribute, key in rest:
            value = (
                self._host.load_attribute(value, key) if is_attribute else self._host.load_item(value, key)
            )
        return value
