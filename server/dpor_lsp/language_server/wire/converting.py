"""Makes typed messages of JSON, and refuses what is of another type."""

from __future__ import annotations

import enum
from typing import Any, Optional, Union

from pygls.protocol import default_converter


def strict_converter() -> Any:
    """Return the converter of pygls, made strict.

    As it comes it turns anything into a string or a number, so that null is the address "None"; and it collects all
    that is wrong in a message, which takes seconds for a long list.
    """
    converter: Any = default_converter()
    converter.detailed_validation = False
    for kind in _NAMES:
        converter.register_structure_hook(kind, _checked)
    converter.register_structure_hook(float, _number)
    # The ids of messages and the tokens of progress, which are taken as they come otherwise.
    converter.register_structure_hook(_IDENTIFIER, _identifier)
    converter.register_structure_hook(_IDENTIFIER_OR_NONE, _identifier_or_none)
    return converter


def _checked(value: object, kind: type) -> object:
    if issubclass(kind, enum.Enum):
        # Most enumerations of the protocol are strings or integers.
        return kind(value)
    # True is an int to Python, but not to JSON.
    if type(value) is not kind:
        raise TypeError(f"{_shown(value)} is not {_NAMES[kind]}")
    return value


def _number(value: object, kind: type) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"{_shown(value)} is not a number")
    return float(value)  # type: ignore[arg-type]


def _identifier(value: object, kind: object) -> object:
    if type(value) not in (int, str):
        raise TypeError(f"{_shown(value)} is neither a string nor an integer")
    return value


def _identifier_or_none(value: object, kind: object) -> object:
    return None if value is None else _identifier(value, kind)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 40
# As lsprotocol spells them: `int | str` is another type to a converter.
_IDENTIFIER = Union[int, str]  # noqa: UP007
_IDENTIFIER_OR_NONE = Optional[Union[int, str]]  # noqa: UP007, UP045
_NAMES = {str: "a string", int: "an integer", bool: "true or false"}
