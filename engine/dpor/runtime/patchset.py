"""Attributes replaced for a time, and put back as they were."""

from __future__ import annotations

import ctypes
import gc
import types
from typing import Any

_MISSING: Any = object()


class PatchSet:
    """A list of replaced attributes; `undo` restores them in reverse order."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a module or class that has it."""
        before = _attributes(owner)[name]
        self._replaced.append((owner, name, before))
        if isinstance(value, types.FunctionType):
            _call_alike(value, before)
        _set(owner, name, value)

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

    def undo(self) -> None:
        """Put everything back."""
        while self._replaced:
            owner, name, value = self._replaced.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                _set(owner, name, value)


def _call_alike(function: types.FunctionType, before: object) -> None:
    """Give a function the names of the one that it stands in for, which a program can ask for."""
    if isinstance(before, types.FunctionType | types.BuiltinFunctionType):
        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(function, name, getattr(before, name))


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
