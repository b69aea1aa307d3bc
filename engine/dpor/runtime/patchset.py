"""Attributes replaced for a time, and put back as they were."""

from __future__ import annotations

import ctypes
import gc
import types
from typing import Any

from dpor._kernel import stand_in_function

_MISSING: Any = object()


class PatchSet:
    """A list of replaced attributes; `undo` restores them in reverse order."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []
        # What stands in for functions in C, by what it calls and its name.
        self._in_c: dict[tuple[Any, str], types.BuiltinFunctionType] = {}

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a module or class that has it; that of a function in C, in the module in C as well."""
        before = _attributes(owner)[name]
        made = self.alike(value, before)
        for place, known_as in {(owner, name), *_home(before)}:
            self._replaced.append((place, known_as, before))
            _set(place, known_as, made)

    def replace_if_present(self, owner: Any, name: str, value: Any) -> None:
        """Like `replace`, and does nothing if this version of Python does not have the attribute."""
        if name in _attributes(owner):
            self.replace(owner, name, value)

    def define(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute that the owner may not have: undoing removes it again."""
        before = _attributes(owner)
        self._replaced.append((owner, name, before.get(name, _MISSING)))
        setattr(owner, name, value)

    def replace_defaults(self, function: Any, values: tuple[Any, ...]) -> None:
        """Set the default values of a function's parameters."""
        self._replaced.append((function, "__defaults__", function.__defaults__))
        function.__defaults__ = values

    def alike(self, value: Any, real: object) -> Any:
        """What is to stand in the place of `real`: a function of the same type and names, where both are functions.

        It is the same one wherever `value` stands in.
        """
        is_in_c = isinstance(real, types.BuiltinFunctionType)
        if isinstance(value, types.FunctionType) and (is_in_c or isinstance(real, types.FunctionType)):
            # The interpreter says whom it has called with the wrong arguments.
            for name in ("__module__", "__name__", "__qualname__", "__doc__"):
                setattr(value, name, getattr(real, name))
        if not is_in_c or not isinstance(value, types.FunctionType | types.BuiltinFunctionType):
            return value
        key = (value, real.__name__)
        if key not in self._in_c:
            self._in_c[key] = stand_in_function(value, real)
        return self._in_c[key]

    def undo(self) -> None:
        """Put everything back."""
        while self._replaced:
            owner, name, value = self._replaced.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                _set(owner, name, value)
        self._in_c.clear()


def _home(function: object) -> list[tuple[types.ModuleType, str]]:
    """The module in C that a function comes from, and its name there, if it is still that."""
    if not isinstance(function, types.BuiltinFunctionType):
        return []
    module, name = function.__self__, function.__name__
    if isinstance(module, types.ModuleType) and vars(module).get(name) is function:
        return [(module, name)]
    return []


def _set(owner: Any, name: str, value: Any) -> None:
    if not isinstance(owner, type) or not owner.__flags__ & _IMMUTABLE_TYPE:
        setattr(owner, name, value)
        return
    # A class in C, which nobody may set attributes of: by its own dict, behind the view that `vars` gives.
    namespace: dict[str, Any] = gc.get_referents(vars(owner))[0]
    namespace[name] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


_IMMUTABLE_TYPE = 1 << 8


def _attributes(owner: object) -> dict[str, Any]:
    return vars(owner)
