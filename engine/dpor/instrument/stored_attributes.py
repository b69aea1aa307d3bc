"""Which functions store attributes of objects."""

from __future__ import annotations

import dis
from types import CodeType

_STORING = ("STORE_ATTR", "DELETE_ATTR")
_STORING_BY_NAME = ("setattr", "delattr", "__setattr__", "__delattr__")


def stores_attributes(code: CodeType) -> bool:
    """Whether code, not counting what it calls, stores or deletes an attribute of anything."""
    return any(
        instruction.opname in _STORING or instruction.argval in _STORING_BY_NAME
        for instruction in dis.get_instructions(code)
        if instruction.opname in _STORING or isinstance(instruction.argval, str)
    )
