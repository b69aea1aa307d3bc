"""Registries that C code keeps for the whole process: classes registered with abstract ones, dialects of csv, adapters.

Registering a class is an operation. So is each question that the classes decide, once threads have registered any:
`isinstance`, `issubclass`, and the token by which `functools.singledispatch` knows that it has to look again. Who reads
a dialect of csv or an adapter of sqlite3 is not seen, so that these may only be changed while no other thread runs.
What an execution registers is gone in the next.
"""

from __future__ import annotations

import abc
import functools
import importlib
import sys
import types
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from dpor.results import AssumptionKind
from dpor.runtime.outside.asking import is_importing
from dpor.runtime.outside.remaining import StandIns
from dpor.runtime.outside.world import Footprint, World
from dpor.runtime.patchset import PatchSet

# Py_TPFLAGS_SEQUENCE and Py_TPFLAGS_MAPPING.
_OF_COLLECTIONS = 1 << 5 | 1 << 6
_CLASSES = ("the classes that are registered with abstract ones",)
# As they are before anything stands in for them.
_internals: Any = types.SimpleNamespace(**vars(importlib.import_module("_abc")))


class Registries:
    """The registries of the running execution."""

    def __init__(self, world: World) -> None:
        self._world = world
        # Whether threads have registered classes in this check, so that the order of questions matters.
        self._races = False
        # Abstract classes that were asked in this execution, which keep the answers.
        self._asked: set[type] = set()
        # Those of them that decide with a method in Python, which runs in the middle of the question.
        self._hooked: set[type] = set()
        # The threads that are in a question or registration, in which C code asks more.
        self._busy: set[int] = set()
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
        return {
            "typing": lambda module: self._patch_typing(patches, module),
        }

    def described(self) -> dict[str, Callable[[ModuleType], StandIns]]:
        """What makes the stand-ins for functions of modules in C, by the module's name."""
        return {"_csv": self._dialects, "_sqlite3": self._adapters}

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
        for cls in self._asked:
            _internals._reset_caches(cls)
        self._asked.clear()
        self._hooked.clear()
        self._busy.clear()

    def _apart(self, call: Callable[[], Any]) -> Any:
        """Make a call that asks more classes, which are part of the question."""
        host = self._world.mode.host
        thread = host.current_index() if host.active else -1
        if thread in self._busy:
            return call()
        self._busy.add(thread)
        try:
            return call()
        finally:
            self._busy.discard(thread)

    def _is_event(self) -> bool:
        """Whether a question or registration is an operation of its own, and not part of another one."""
        world, host = self._world, self._world.mode.host
        return world.controls() and not (host.active and host.current_index() in self._busy)

    def _register(self, cls: type, subclass: Any) -> Any:
        if self._is_event():
            host = self._world.mode.host
            self._require_no_flags(cls)
            if host.active and not host.is_alone() and not self._races:
                self._races = True
                host.registers_classes()
            self._world.perform(f"{_name(cls)}.register({_name(subclass)})", lambda: Footprint((), _CLASSES))
            if cls not in self._changed:
                registered = [reference() for reference in _internals._get_dump(cls)[0]]
                self._changed[cls] = lambda: _register_only(cls, registered)
        return self._apart(lambda: _internals._abc_register(cls, subclass))

    def _require_no_flags(self, cls: type) -> None:
        """Sequences and mappings also give the classes a flag for patterns, which nothing takes away."""
        host = self._world.mode.host
        if cls.__flags__ & _OF_COLLECTIONS and host.active:
            if not host.is_alone():
                self._world.refuse(f"registers a class with {_name(cls)} while other threads run")
            host.mark_module_state()

    def _asking(self, real: Callable[[type, Any], bool], question: str) -> Callable[[type, Any], bool]:
        def ask(cls: type, other: Any) -> bool:
            host = self._world.mode.host
            if cls not in self._asked and host.active:
                # It keeps the answer.
                self._asked.add(cls)
                if _decides_itself(cls):
                    self._hooked.add(cls)
            if cls in self._hooked and host.active and not host.is_alone():
                # When the answer is kept, and which answers other threads find, is not seen.
                host.assume(AssumptionKind.UNSEEN_CODE.value, abc.__name__)
            if not self._races:
                return real(cls, other)
            if self._is_event():
                self._world.look(f"{question}(..., {_name(cls)})", Footprint(_CLASSES))
            return self._apart(lambda: real(cls, other))

        return ask

    def _token(self, real: Callable[[], object]) -> Callable[[], object]:
        def get_cache_token() -> object:
            if self._races and self._is_event():
                self._world.look("abc.get_cache_token()", Footprint(_CLASSES))
            return real()

        get_cache_token.__doc__ = real.__doc__
        return get_cache_token

    def _dialects(self, module: ModuleType) -> StandIns:
        names = dict(vars(module))
        limit = names["field_size_limit"]

        def kept() -> Callable[[], None]:
            dialects = {name: names["get_dialect"](name) for name in names["list_dialects"]()}
            size = limit()

            def put_back() -> None:
                limit(size)
                for name in names["list_dialects"]():
                    names["unregister_dialect"](name)
                for name, dialect in dialects.items():
                    names["register_dialect"](name, dialect)

            return put_back

        return {
            "field_size_limit": self._changing("csv.field_size_limit", limit, kept, reads=True),
            **{
                name: self._changing(f"csv.{name}", names[name], kept)
                for name in ("register_dialect", "unregister_dialect")
            },
        }

    def _adapters(self, module: ModuleType) -> StandIns:
        names = dict(vars(module))

        def kept(registry: dict[Any, Any]) -> Callable[[], None]:
            before = dict(registry)

            def put_back() -> None:
                registry.clear()
                registry.update(before)

            return put_back

        return {
            name: self._changing(f"sqlite3.{name}", names[name], partial(kept, names[registry]))
            for name, registry in (("register_adapter", "adapters"), ("register_converter", "converters"))
        }

    def _changing(
        self,
        shown: str,
        real: Callable[..., Any],
        kept: Callable[[], Callable[[], None]],
        *,
        reads: bool = False,
    ) -> Callable[..., Any]:
        """What stands in for a function that changes a registry; `kept` makes what puts that back.

        With `reads` a call without arguments changes nothing.
        """

        def change(*args: Any, **kwargs: Any) -> Any:
            world = self._world
            if (
                world.controls()
                and (args or kwargs or not reads)
                and not (world.mode.host.active and is_importing())
            ):
                if world.mode.host.active and not world.mode.host.is_alone():
                    world.refuse(f"calls {shown} while other threads run")
                if shown not in self._changed:
                    self._changed[shown] = kept()
            return real(*args, **kwargs)

        change.__name__ = change.__qualname__ = real.__name__
        change.__doc__ = real.__doc__
        return change

    def _patch_typing(self, patches: PatchSet, module: ModuleType) -> None:
        self._patch_protocols(patches, module)
        registry: Any = vars(module)["_overload_registry"]

        def kept() -> Callable[[], None]:
            before = {
                name: {function: dict(lines) for function, lines in functions.items()}
                for name, functions in registry.items()
            }

            def put_back() -> None:
                registry.clear()
                for name, functions in before.items():
                    for function, lines in functions.items():
                        registry[name][function].update(lines)

            return put_back

        for name in ("overload", "clear_overloads"):
            patches.replace(module, name, self._changing(f"typing.{name}", vars(module)[name], kept))

    def _patch_protocols(self, patches: PatchSet, module: ModuleType) -> None:
        """Which attributes of an object a protocol looks for is not seen."""
        owner: Any = vars(module)["_ProtocolMeta"]

        def asking(real: Callable[[type, Any], bool]) -> Callable[[type, Any], bool]:
            def ask(cls: type, other: Any) -> bool:
                if vars(cls).get("_is_protocol") and self._world.controls() and self._world.mode.host.active:
                    self._world.mode.host.assume(AssumptionKind.UNSEEN_CODE.value, module.__name__)
                return real(cls, other)

            return ask

        for name in ("__instancecheck__", "__subclasscheck__"):
            if name in vars(owner):
                patches.replace(owner, name, asking(getattr(owner, name)))


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


def _decides_itself(cls: type) -> bool:
    """Whether a method of a program decides which classes are subclasses of an abstract one."""
    holder = next(base for base in cls.__mro__ if "__subclasshook__" in vars(base))
    return holder.__module__.partition(".")[0] not in sys.stdlib_module_names


def _name(cls: Any) -> str:
    return type.__dict__["__name__"].__get__(cls) if isinstance(cls, type) else "..."
