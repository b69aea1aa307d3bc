"""Registries that C code keeps for the whole process: classes registered with abstract ones, and dialects of csv.

Registering is an operation, and so is each question that the classes decide: `isinstance`, `issubclass`, and the token
by which `functools.singledispatch` knows that it has to look again. Who reads a dialect is not seen, so that these may
only be changed by a thread that is alone. What an execution registers is gone in the next.
"""

from __future__ import annotations

import abc
import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dpor.runtime.outside.world import Touched, World
from dpor.runtime.patchset import PatchSet

_CLASSES = ("the classes that are registered with abstract ones",)
_internals: Any = importlib.import_module("_abc")


class Registries:
    """The registries of the running execution."""

    def __init__(self, world: World) -> None:
        self._world = world
        # What puts a registry back, by registry: for this execution, and for what modules registered when imported.
        self._changed: dict[Any, Callable[[], None]] = {}
        self._imported: dict[Any, Callable[[], None]] = {}

    def patch(self, patches: PatchSet) -> None:
        """Put the replacements in place, but for those of `on_import`."""
        patches.replace(abc, "_abc_register", self._register)
        for name, question in (("_abc_instancecheck", "isinstance"), ("_abc_subclasscheck", "issubclass")):
            patches.replace(abc, name, self._asking(vars(abc)[name], question))
        token = self._token(abc.get_cache_token)
        for module in (abc, functools):
            patches.replace(module, "get_cache_token", token)

    def on_import(self, patches: PatchSet) -> dict[str, Callable[[ModuleType], None]]:
        """What is to be done to modules of the library when they have been imported, by name."""
        return {"csv": lambda module: self._patch_dialects(patches, module)}

    def keep(self) -> None:
        """Let every execution begin with what there is now."""
        for registry, put_back in self._changed.items():
            self._imported.setdefault(registry, put_back)
        self._changed.clear()

    def forget(self) -> None:
        """Let every execution begin with the registries of the process, and this one."""
        self.reset()
        _put_back(self._imported)

    def reset(self) -> None:
        """Go back to what executions begin with."""
        _put_back(self._changed)

    def _register(self, cls: type, subclass: Any) -> Any:
        if self._world.controls():
            self._world.perform(f"{_name(cls)}.register({_name(subclass)})", lambda: Touched((), _CLASSES))
            if cls not in self._changed:
                registered = [reference() for reference in _internals._get_dump(cls)[0]]
                self._changed[cls] = lambda: _register_only(cls, registered)
        return _internals._abc_register(cls, subclass)

    def _asking(self, real: Callable[[type, Any], bool], question: str) -> Callable[[type, Any], bool]:
        def ask(cls: type, other: Any) -> bool:
            if self._world.controls():
                self._world.look(f"{question}(..., {_name(cls)})", Touched(_CLASSES))
            return real(cls, other)

        return ask

    def _token(self, real: Callable[[], object]) -> Callable[[], object]:
        def get_cache_token() -> object:
            if self._world.controls():
                self._world.look("abc.get_cache_token()", Touched(_CLASSES))
            return real()

        get_cache_token.__doc__ = real.__doc__
        return get_cache_token

    def _patch_dialects(self, patches: PatchSet, module: ModuleType) -> None:
        names = vars(module)
        register, unregister = names["register_dialect"], names["unregister_dialect"]

        def put_back(kept: dict[str, Any]) -> None:
            for name in names["list_dialects"]():
                unregister(name)
            for name, dialect in kept.items():
                register(name, dialect)

        def changing(name: str) -> Callable[..., Any]:
            real = names[name]

            def change(*args: Any, **kwargs: Any) -> Any:
                world = self._world
                if world.controls():
                    if world.mode.host.active and not world.mode.host.is_alone():
                        world.refuse(f"calls csv.{name} while other threads run")
                    if module not in self._changed:
                        kept = {
                            dialect: names["get_dialect"](dialect) for dialect in names["list_dialects"]()
                        }
                        self._changed[module] = lambda: put_back(kept)
                return real(*args, **kwargs)

            change.__name__ = change.__qualname__ = name
            change.__doc__ = real.__doc__
            return change

        for name in ("register_dialect", "unregister_dialect"):
            patches.replace(module, name, changing(name))


def _put_back(changed: dict[Any, Callable[[], None]]) -> None:
    while changed:
        changed.popitem()[1]()


def _register_only(cls: type, registered: list[Any]) -> None:
    """Let these classes be all that are registered with an abstract one."""
    _internals._reset_registry(cls)
    for subclass in registered:
        if subclass is not None:
            _internals._abc_register(cls, subclass)
    for base in cls.__mro__:
        if isinstance(base, abc.ABCMeta):
            _internals._reset_caches(base)


def _name(cls: Any) -> str:
    return type.__dict__["__name__"].__get__(cls) if isinstance(cls, type) else "..."
