"""The names under which instrumented code finds its hooks."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

NAMESPACE = "__dpor_namespace__"
FIRST_PARTY = "__dpor_first_party__"
SLICE = "__dpor_slice__"
SINGLETONS = {True: "__dpor_true__", False: "__dpor_false__"}
"""The names of the classes that stand for True and False in patterns."""


class Hook(enum.StrEnum):
    """One hook; the value is its key in a hooks mapping, `identifier` its name in an instrumented module."""

    LOAD_ATTRIBUTE = "load_attribute"
    STORE_ATTRIBUTE = "store_attribute"
    DELETE_ATTRIBUTE = "delete_attribute"
    LOAD_ITEM = "load_item"
    STORE_ITEM = "store_item"
    DELETE_ITEM = "delete_item"
    LOAD_GLOBAL = "load_global"
    STORE_GLOBAL = "store_global"
    DELETE_GLOBAL = "delete_global"
    NEW_CELL = "new_cell"
    LOAD_CELL = "load_cell"
    STORE_CELL = "store_cell"
    DELETE_CELL = "delete_cell"
    METHOD = "method"
    CALLEE = "callee"
    TRUTH = "truth"
    ITERATE = "iterate"
    CONTAINS = "contains"
    OBSERVE = "observe"
    COMPARED = "compared"
    IDENTICAL = "identical"
    OPERANDS = "operands"
    SHOWN = "shown"
    MATCHED = "matched"
    NUMBER = "number"
    BEFORE_INPLACE = "before_inplace"
    CREATED = "created"
    ENTER_LOOP = "enter_loop"
    AT_LOOP_HEAD = "at_loop_head"

    @property
    def identifier(self) -> str:
        """The global name that stands for the hook; it ends in two underscores, so no class body mangles it."""
        return f"__dpor_{self.value}__"


def namespace_entries(hooks: Mapping[str, object]) -> dict[str, object]:
    """Turn a mapping from hook names (`load_attribute`...) into the global names that instrumented code refers to.

    Raises KeyError, naming them, if hooks are missing.
    """
    missing = [hook.value for hook in Hook if hook.value not in hooks]
    if missing:
        raise KeyError(f"hooks missing: {', '.join(missing)}")
    entries: dict[str, object] = {hook.identifier: hooks[hook.value] for hook in Hook}
    entries[SLICE] = slice
    entries.update((name, _Singleton(name, value)) for value, name in SINGLETONS.items())
    return entries


def _is_symbolic(value: object) -> bool:
    return hasattr(type(value), "__dpor_symbolic__")


class _Singleton(type):
    """A class whose one instance is True (or False), or a symbolic value that is decided to be."""

    def __new__(cls, name: str, value: bool) -> _Singleton:
        return super().__new__(cls, name, (), {"value": value})

    def __init__(cls, name: str, value: bool) -> None:
        super().__init__(name, (), {})

    def __instancecheck__(cls, instance: Any) -> bool:
        value = vars(cls)["value"]
        if _is_symbolic(instance) and isinstance(instance, bool):
            return bool(instance) is value
        return instance is value


def is_temporary(name: str) -> bool:
    """True for a name that the instrumentation makes up for a value it needs twice."""
    return name.startswith("__dpor_") and name.endswith("__") and name[7:-2].removeprefix("loop_").isdigit()


def loop_token(number: int) -> str:
    """The name of the variable that stands for the run through a function's loop with this number."""
    return f"__dpor_loop_{number}__"


def temporary(number: int) -> str:
    """The name of the temporary with this number."""
    return f"__dpor_{number}__"
