"""os.environ inside a model: each variable is shared state, and none outlives an execution.

The process's own environment, which only C code reads, is left as it is.
"""

# pyright: reportPrivateUsage=false
# What is replaced is private to os.

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from dpor.runtime.outside.asking import is_asked_by_model
from dpor.runtime.outside.world import Footprint, World
from dpor.runtime.patchset import PatchSet

_VARIABLES = "the environment"


class Environment:
    """The environment variables of the running execution."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._controls = world.controls
        self._data: dict[Any, Any] = vars(os.environ)["_data"]
        self._users: dict[Any, Any] = {}
        self._base: dict[Any, Any] = {}
        self._changed = False
        # What C code finds in the place of the process's variables: what the execution has handed to it.
        self._native: dict[bytes, bytes | None] = {}
        self._native_base: dict[bytes, bytes | None] = {}

    def patch(self, patches: PatchSet) -> None:
        """Put the replacements in place."""
        self._users = dict(self._data)
        self._base = dict(self._data)
        owner: type = type(os.environ)
        patches.define(owner, "__dpor_untracked__", True)
        self._world.mode.host.keep(self._data, False)
        for name, footprint in (
            ("__getitem__", _reads),
            ("__setitem__", _writes),
            ("__delitem__", _writes),
            ("__iter__", _reads_all),
            ("__len__", _reads_all),
            ("__repr__", _reads_all),
            ("copy", _reads_all),
        ):
            patches.define(
                owner, name, self._visible(name, vars(owner).get(name) or getattr(owner, name), footprint)
            )
        for name in ("__setattr__", "__delattr__"):
            patches.define(owner, name, self._refused(getattr(owner, name)))
        for name in ("putenv", "unsetenv"):
            if hasattr(os, name):
                patches.replace(os, name, self._put(name, getattr(os, name)))

    def footprint_of(self, name: str) -> Footprint:
        """What an operation reads that looks at a variable."""
        return _reads(os.environ, name)

    def value_in_c(self, name: str) -> str | None:
        """What C code finds for a variable, None if there is none, within an operation that reads it."""
        key = os.fsencode(name)
        if is_asked_by_model() and key not in self._native:
            self._world.assume(f"the environment variable {name}")
        of_process = self._users.get(vars(os.environ)["encodekey"](name))
        value = self._native.get(key, of_process)
        return None if value is None else os.fsdecode(value)

    def keep(self) -> None:
        """Let every execution begin with what there is now."""
        self._base = dict(self._data)
        self._native_base = dict(self._native)
        self._changed = False

    def forget(self) -> None:
        """Let every execution begin with the environment of the process, and this one."""
        self._base = dict(self._users)
        self._native_base = {}
        self._changed = True
        self.reset()

    def reset(self) -> None:
        """Go back to what executions begin with."""
        self._native = dict(self._native_base)
        if self._changed:
            self._data.clear()
            self._data.update(self._base)
            self._changed = False

    def _refused(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(environment: Any, *args: Any) -> Any:
            if self._controls():
                self._world.refuse("changes an attribute of os.environ")
            return real(environment, *args)

        return call

    def _visible(
        self, name: str, real: Callable[..., Any], footprint: Callable[..., Footprint]
    ) -> Callable[..., Any]:
        def call(environment: Any, *args: Any) -> Any:
            if self._controls():
                shown = f"os.environ.{name.strip('_')}({', '.join(map(repr, args[:1]))})"
                names = footprint(environment, *args)
                self._world.perform(shown, lambda: names)
                self._changed |= footprint is _writes
                if names.reads and is_asked_by_model():
                    self._note_read(environment, args)
            return real(environment, *args)

        call.__name__ = name
        call.__doc__ = real.__doc__
        return call

    def _note_read(self, environment: Any, args: tuple[Any, ...]) -> None:
        """Note that the verdict rests on the environment of the process, unless the model has set what is read."""
        if not args:
            self._world.assume(_VARIABLES)
            return
        key = environment.encodekey(args[0])
        if self._data.get(key) == self._users.get(key):
            self._world.assume(f"the environment variable {os.fsdecode(key)}")

    def _put(self, name: str, real: Callable[..., None]) -> Callable[..., None]:
        def call(*args: Any) -> None:
            if not self._controls():
                real(*args)
                return
            name = os.fsencode(args[0])
            # What os.environ hands on is part of its own operation.
            if sys._getframe(1).f_globals.get("__name__") != "os":  # pyright: ignore[reportPrivateUsage]
                footprint = Footprint((), (f"variable {os.fsdecode(name)}",))
                self._world.perform(f"os.{real.__name__}({args[0]!r})", lambda: footprint)
            self._native[name] = os.fsencode(args[1]) if len(args) > 1 else None

        call.__name__ = name
        call.__doc__ = real.__doc__
        return call


def _variable(environment: Any, key: Any) -> str:
    try:
        return f"variable {os.fsdecode(environment.encodekey(key))}"
    except TypeError:
        return _VARIABLES


def _reads(environment: Any, key: Any) -> Footprint:
    return Footprint((_variable(environment, key),))


def _writes(environment: Any, key: Any, *value: Any) -> Footprint:
    return Footprint((), (_variable(environment, key),), (_VARIABLES,))


def _reads_all(environment: Any) -> Footprint:
    return Footprint((_VARIABLES,))
