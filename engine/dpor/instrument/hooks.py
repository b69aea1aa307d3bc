"""The names under which instrumented code finds its hooks, and where it finds them."""

from __future__ import annotations

import ast
import builtins
import enum
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dpor.instrument.implicit import implicit_entries
from dpor.instrument.matching import steps

SLICE = "__dpor_slice__"
LENGTH = "__dpor_length__"


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
    METHOD_OF_STATEMENT = "method_of_statement"
    CALLEE = "callee"
    TRUTH = "truth"
    ITERATE = "iterate"
    CONTAINS = "contains"
    OBSERVE = "observe"
    UNPACKED = "unpacked"
    MERGED = "merged"
    COMPARE = "compare"
    HASHED = "hashed"
    DRAWN = "drawn"
    IDENTICAL = "identical"
    OPERATE = "operate"
    FORMAT = "format"
    MATCHED = "matched"
    NUMBER = "number"
    INPLACE = "inplace"
    CREATED = "created"
    DEFINED = "defined"
    METACLASS = "metaclass"
    RETURNED = "returned"
    RAISED = "raised"
    RERAISED = "reraised"
    CHAINED = "chained"
    YIELDS = "yields"
    AWAITED = "awaited"
    ENDING = "ending"
    ENTER_LOOP = "enter_loop"
    AT_LOOP_HEAD = "at_loop_head"
    ENTER_SUSPENDED_LOOP = "enter_suspended_loop"
    AT_SUSPENDED_LOOP_HEAD = "at_suspended_loop_head"

    @property
    def identifier(self) -> str:
        """The name that stands for the hook; it ends in two underscores, so no class body mangles it."""
        return f"__dpor_{self.value}__"


COMPARISONS: Mapping[type[ast.cmpop], int] = {
    ast.Lt: 0,
    ast.LtE: 1,
    ast.Eq: 2,
    ast.NotEq: 3,
    ast.Gt: 4,
    ast.GtE: 5,
}
"""The numbers by which `Hook.COMPARE` knows comparisons: those of CPython's `Py_LT` to `Py_GE`."""

OPERATORS: Mapping[type[ast.operator], int] = {
    operator: number
    for number, operator in enumerate(
        (
            ast.Add,
            ast.Sub,
            ast.Mult,
            ast.MatMult,
            ast.Mod,
            ast.BitAnd,
            ast.BitOr,
            ast.BitXor,
            ast.Div,
            ast.FloorDiv,
            ast.Pow,
            ast.LShift,
            ast.RShift,
        )
    )
}
"""The numbers by which `Hook.OPERATE` and `Hook.INPLACE` know operators."""


def hook_entries(
    hooks: Mapping[str, object], instruments: Callable[[dict[str, Any]], bool]
) -> dict[str, object]:
    """Turn a mapping from hook names (`load_attribute`...) into the names that instrumented code refers to.

    `instruments` tells the namespaces of instrumented modules. Raises KeyError, naming them, if hooks are missing.
    """
    missing = [hook.value for hook in Hook if hook.value not in hooks]
    if missing:
        raise KeyError(f"hooks missing: {', '.join(missing)}")
    entries: dict[str, object] = {hook.identifier: hooks[hook.value] for hook in Hook}
    entries[SLICE] = slice
    entries[LENGTH] = len
    entries.update(steps(hooks))
    entries.update(implicit_entries(hooks, instruments))
    return entries


def put_hooks(entries: Mapping[str, object]) -> None:
    """Let instrumented code find its hooks, the `hook_entries`.

    They are put among the built-in names, as a program looks for variables of its own in the namespaces of modules.
    They stay when a check ends: functions that need them can be left, and then they do nothing.
    """
    builtins.__dict__.update(entries)


class Namespaces(Protocol):
    """Knows the namespaces of the modules that a check has instrumented."""

    def enter_namespace(self, namespace: dict[str, Any], first_party: bool, /) -> None:
        """Take a dict for the namespace of such a module, which may be the user's own."""
        ...

    def leave_namespace(self, namespace: dict[str, Any], /) -> None:
        """Take it for one no longer."""
        ...


def is_temporary(name: str) -> bool:
    """True for a name that the instrumentation makes up for a value it needs twice."""
    numbered = (
        name.startswith("__dpor_") and name.endswith("__") and name[7:-2].removeprefix("loop_").isdigit()
    )
    return numbered or name == RETURNED_VALUE


def loop_token(number: int) -> str:
    """The name of the variable that stands for the run through a function's loop with this number."""
    return f"__dpor_loop_{number}__"


RETURNED_VALUE = "__dpor_returned_value__"
"""The local variable that holds what a generator returns."""


def temporary(number: int) -> str:
    """The name of the temporary with this number."""
    return f"__dpor_{number}__"
