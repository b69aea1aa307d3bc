"""What the patterns of `match` do while they run, as far as no expression of Python does it.

CPython asks the flags of a type, not `isinstance`, whether something is a sequence or a mapping. The rest follows its
instructions MATCH_KEYS and MATCH_CLASS, whose reads go through the hooks.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

# The method of what stands in for a class that gives the class.
STANDS_FOR = "__dpor_stands_for__"

_HEAP = 1 << 9
_IMMUTABLE = 1 << 8
_SEQUENCE = 1 << 5
_MAPPING = 1 << 6
_MATCH_SELF = 1 << 22
_ATOMIC_KEYS = frozenset({bool, bytes, complex, float, int, str, type(None)})

_flags: Callable[[type], int] = vars(type)["__flags__"].__get__
_classes: Callable[[type], tuple[type, ...]] = vars(type)["__mro__"].__get__


class Step(enum.StrEnum):
    """What instrumented code calls for a part of a pattern."""

    IS_SEQUENCE = "is_sequence"
    IS_MAPPING = "is_mapping"
    VALUES = "values"
    WITHOUT = "without"
    ATTRIBUTES = "attributes"

    @property
    def identifier(self) -> str:
        """The name that stands for the step."""
        return f"__dpor_match_{self.value}__"


def steps(hooks: Mapping[str, Any]) -> dict[str, object]:
    """The functions behind the names of the steps; they read shared state by way of `hooks`."""
    reads = _Reads(hooks)
    return {
        Step.IS_SEQUENCE.identifier: is_sequence,
        Step.IS_MAPPING.identifier: is_mapping,
        Step.VALUES.identifier: reads.values,
        Step.WITHOUT.identifier: without,
        Step.ATTRIBUTES.identifier: reads.attributes,
    }


def is_sequence(subject: object) -> bool:
    """Whether sequence patterns look into a value."""
    return _flags(type(subject)) & _SEQUENCE != 0


def is_mapping(subject: object) -> bool:
    """Whether mapping patterns look into a value."""
    return _flags(type(subject)) & _MAPPING != 0


def without(copied: dict[object, object], keys: tuple[object, ...]) -> dict[object, object]:
    """What `**rest` is bound to: a copy of the mapping, which this changes, without the keys of the pattern.

    Raises KeyError for a key that has left the mapping since its value was read.
    """
    for key in keys:
        del copied[key]
    return copied


class _Reads:
    def __init__(self, hooks: Mapping[str, Any]) -> None:
        self._load_attribute: Callable[[object, str], Any] = hooks["load_attribute"]
        self._method: Callable[[object, str], Callable[..., object]] = hooks["method"]
        self._matched: Callable[[object, tuple[str, ...]], list[object]] = hooks["matched"]
        self._observe: Callable[[Any], Any] = hooks["observe"]

    def values(self, subject: Any, keys: tuple[object, ...]) -> tuple[object, ...] | None:
        """The values of the keys, None if one is missing.

        Raises ValueError for equal keys, AttributeError for a mapping without `get`.
        """
        if len(keys) > 1 and _is_read_at_once(subject, keys):
            get: Callable[..., object] = self._observe(subject).get
        else:
            get = self._method(subject, "get")
        missing = object()
        seen: set[object] = set()
        values: list[object] = []
        for key in keys:
            if key in seen:
                raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
            seen.add(key)
            value = get(key, missing)
            if value is missing:
                return None
            values.append(value)
        return tuple(values)

    def attributes(
        self, subject: object, class_: Any, positional: int, names: tuple[str, ...]
    ) -> tuple[object, ...] | None:
        """What the sub-patterns of a class pattern are matched against; None if the subject is no instance of the
        class or lacks an attribute.

        Raises TypeError for what is no class, and for a class that does not have so many positional attributes.
        """
        stands_for = vars(cast("type[object]", type(class_))).get(STANDS_FOR)
        if stands_for is not None:
            class_ = stands_for(class_)
        if type not in _classes(cast("type[object]", type(class_))):
            # The interpreter's own words, which are not the same in each version.
            match subject:
                case class_():
                    return None
                case _:
                    return None
        if not isinstance(subject, class_):
            return None
        if not positional and not names:
            return ()
        found: list[object] = []
        if positional:
            by_position = self._match_args(class_)
            allowed = 1 if by_position is None else len(by_position)
            if allowed < positional:
                plural = "" if allowed == 1 else "s"
                accepts = f"accepts {allowed} positional sub-pattern{plural} ({positional} given)"
                raise TypeError(f"{_name(class_)}() {accepts}")
            if by_position is None:
                found.append(subject)
            else:
                names = (*by_position[:positional], *names)
        for index, name in enumerate(names):
            fault = _fault(class_, names[:index], name)
            if fault is not None:
                # The interpreter has read those before it by then.
                if self._read(subject, names[:index]) is None:
                    return None
                raise fault
        read = self._read(subject, names)
        return None if read is None else (*found, *read)

    def _read(self, subject: object, names: tuple[str, ...]) -> list[object] | None:
        try:
            return self._matched(subject, tuple(map(sys.intern, names)))
        except AttributeError:
            return None

    def _match_args(self, class_: type) -> tuple[str, ...] | None:
        """The names of a class's positional attributes; None if it has none and a pattern takes the subject itself."""
        matches_self = _flags(class_) & _MATCH_SELF != 0
        if matches_self and _flags(class_) & _IMMUTABLE:
            return None
        try:
            names: object = self._load_attribute(class_, "__match_args__")
        except AttributeError:
            return None if matches_self else ()
        kind = type(names)
        if kind is not tuple:
            raise TypeError(f"{_name(class_)}.__match_args__ must be a tuple (got {_name(kind)})")
        return cast("tuple[str, ...]", names)


def _is_read_at_once(subject: object, keys: tuple[object, ...]) -> bool:
    """Whether no code in Python runs while the keys are looked up, so that nothing comes between two of them."""
    kind = type(subject)
    if kind is not MappingProxyType:
        get = next((vars(base)["get"] for base in _classes(kind) if "get" in vars(base)), None)
        if get is not vars(dict)["get"]:
            return False
    return all(type(key) in _ATOMIC_KEYS for key in keys)


def _fault(class_: type, before: tuple[str, ...], name: object) -> TypeError | None:
    """What is wrong with one of the attributes that a pattern names."""
    if type(name) is not str:
        return TypeError(f"__match_args__ elements must be strings (got {_name(type(name))})")
    if name in before:
        return TypeError(f"{_name(class_)}() got multiple sub-patterns for attribute {name!r}")
    return None


def _name(class_: type) -> str:
    """The name of a class as CPython's messages have it, with the module for those of extensions."""
    made_by_python = _flags(class_) & _HEAP and not _flags(class_) & _IMMUTABLE
    if made_by_python or class_.__module__ == "builtins":
        return class_.__name__
    return f"{class_.__module__}.{class_.__qualname__}"
