"""Which functions store attributes of objects."""

from __future__ import annotations

import dis
from types import CodeType

_STORING = ("STORE_ATTR", "DELETE_ATTR")
_STORING_BY_NAME = ("setattr", "delattr", "__setattr__", "__delattr__")


def stores_attributes(code: CodeType) -> bool:
    """Whether code, not counting what it calls, stores or deletes an attribute of anything."""
    by_name = any(name in code.co_names for name in _STORING_BY_NAME)
    return by_name or any(instruction.opname in _STORING for instruction in dis.get_instructions(code))
