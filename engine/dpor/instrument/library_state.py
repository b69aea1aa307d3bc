"""What modules keep from one execution to the next, which has to be for each what it was before."""

from __future__ import annotations

import array
import builtins
import collections
import contextlib
import gc
import io
import itertools
import operator
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodWrapperType,
    ModuleType,
    TracebackType,
)
from typing import TYPE_CHECKING, Any, cast

from dpor.instrument.first_party import OWN_MODULES
from dpor.instrument.standard_library import is_native, is_unseen

if TYPE_CHECKING:
    from dpor._kernel import Host

_ATOMS = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    type(Ellipsis),
    range,
    slice,
    weakref.ReferenceType,
)
_CONTAINERS = (dict, list, set, bytearray, array.array, collections.deque)
_RUNNING = (CodeType, FrameType, TracebackType)
_UNCHANGED = frozenset(
    {*_ATOMS, BuiltinFunctionType, FunctionType, ModuleType, frozenset, re.Pattern, tuple, type}
)


@dataclass(frozen=True)
class _Place:
    """Where a module keeps an object that nothing can put back.

    An execution has what `make` gives there, and after the check there is what `real` gives.
    """

    put: Callable[[object], None]
    real: Callable[[], object]
    make: Callable[[], object]


class LibraryState:
    """The objects that can be reached from instrumented modules of the standard library.

    The host is told of them, and puts back what an execution changes. Real locks and thread-local data among them are
    replaced by controlled ones, and `itertools.count` by one that counts from the same number, made anew for each
    execution.
    """

    def __init__(self, host: Host, stand_ins: Mapping[type, Callable[[Any], object]]) -> None:
        self._host = host
        self._stand_ins = stand_ins
        self._seen: dict[int, object] = {}
        self._places: list[_Place] = []
        self._counts: list[_Count] = []

    def keep(self, namespace: dict[str, Any]) -> None:
        """Tell the host of the objects of a module, by its namespace."""
        for value in _own(namespace, self._seen):
            self._host.keep(value, isinstance(value, type | FunctionType) or value is namespace)
            for parts, put in _parts_with_stores(value):
                self._find_places(parts, put)

    def take_over(self, namespace: dict[str, Any]) -> None:
        """Make the locks and thread-local data of a module controlled, for good: the module ends with the execution."""
        for value in _own(namespace, {}):
            for parts, put in _parts_with_stores(value):
                for key, found in list(parts.items()):
                    if type(found) in self._stand_ins:
                        put(key, self._stand_ins[type(found)](found))

    def begin(self) -> None:
        """Start an execution: every lock is free, and every count where it was."""
        for count in self._counts:
            count.begin()
        for place in self._places:
            place.put(place.make())

    def restore(self) -> None:
        """Put the real objects back."""
        for count in self._counts:
            count.begin()
        while self._places:
            place = self._places.pop()
            place.put(place.real())
        self._seen.clear()
        self._counts.clear()

    def _find_places(self, parts: Mapping[Any, object], put: Callable[[Any, object], None]) -> None:
        for key, value in parts.items():
            # Also of `count().__next__`.
            owner: object = value.__self__ if isinstance(value, MethodWrapperType) else value
            if isinstance(owner, itertools.count):
                count = self._count(cast("itertools.count[int]", owner))
                get = count.get if owner is value else count.step
                self._places.append(_Place(partial(put, key), get, get))
            elif type(value) in self._stand_ins:
                make = partial(self._stand_ins[type(value)], value)
                self._places.append(_Place(partial(put, key), partial(_same, value), make))

    def _count(self, found: itertools.count[int]) -> _Count:
        known = next((count for count in self._counts if count.current is found), None)
        if known is None:
            known = _Count(found)
            self._counts.append(known)
        return known


def _same(value: object) -> object:
    return value


class _Count:
    """An `itertools.count` of a module, of which all places that hold it get the same one in an execution."""

    def __init__(self, found: itertools.count[int]) -> None:
        self.current = found
        self._begins: tuple[int, int] | None = None

    def begin(self) -> None:
        """Start an execution, with a counter that starts where the real one stood before the first execution."""
        if self._begins is None:
            start = next(self.current)
            # There is no other way to learn where it is that all versions of Python have.
            self._begins = start, next(self.current) - start
        self.current = itertools.count(*self._begins)

    def get(self) -> itertools.count[int]:
        return self.current

    def step(self) -> Callable[[], int]:
        return self.current.__next__


def keep_unseen(host: Host) -> None:
    """Tell the host of what modules of the standard library keep that are not instrumented, and work on it unseen."""
    modules: list[object] = list(sys.modules.values())
    # The module in C has the variables, too, and hands them to os.environ alone, whose operations are seen.
    seen = {id(vars(os.environ)["_data"])}
    for module in modules:
        if not isinstance(module, ModuleType) or not is_unseen(module):
            continue
        shown = str(module.__dict__.get("__name__", "")).lstrip("_")
        host.use_unseen(vars(module), shown)
        native = is_native(module)
        names = vars(module)
        # Some ten thousand names are looked at in each check, and few hold what changes: no loop in Python.
        unchanged = map(_UNCHANGED.__contains__, map(type, names.values()))
        for name, value in list(itertools.compress(names.items(), map(operator.not_, unchanged))):
            if name.startswith("__") or isinstance(value, io.IOBase):
                # Streams have stand-ins.
                continue
            if isinstance(value, _CONTAINERS):
                _keep_containers(host, cast(object, value), f"{shown}.{name}", seen)
            elif native:
                host.use_unseen(value, f"{shown}.{name}")


def _keep_containers(host: Host, value: object, name: str, seen: set[int]) -> None:
    if id(value) in seen:
        return
    seen.add(id(value))
    host.keep_of_module(value, name)
    held: Iterable[object] = ()
    if isinstance(value, dict):
        held = cast("dict[object, object]", value).values()
    elif isinstance(value, list):
        held = cast("list[object]", value)
    if _UNCHANGED.issuperset(map(type, held)):
        return
    parts: list[object] = [one for one in held if isinstance(one, _CONTAINERS)]
    for part in parts:
        _keep_containers(host, part, name, seen)


def objects_of(namespace: dict[str, Any], seen: dict[int, object]) -> Iterator[object]:
    """What can be reached from a module's namespace without leaving its code: objects, functions, classes.

    What is in `seen`, by its address, is left out; what is found is added.
    """
    waiting: list[object] = [value for name, value in namespace.items() if not name.startswith("__")]
    while waiting:
        value = waiting.pop()
        if _is_atom(value) or id(value) in seen or _is_code(value):
            continue
        seen[id(value)] = value
        yield value
        waiting += _parts_of(value, namespace)


def _is_atom(value: object) -> bool:
    """Whether it never changes. Instances of derived classes have attributes, such as members of enumerations."""
    # By identity: a metaclass of the model's can compare classes in another way.
    kind: type = type(value)
    return issubclass(kind, _ATOMS) and any(kind is atom for atom in _ATOMS)


def _is_code(value: object) -> bool:
    """Whether it is a module, or the namespace of built-in functions, which `exec` and `eval` put into others."""
    return isinstance(value, ModuleType) or value is vars(builtins)


def _own(namespace: dict[str, Any], seen: dict[int, object]) -> Iterator[object]:
    """The namespace of a module, and what can be reached from it, but for classes of other modules."""
    yield namespace
    for value in objects_of(namespace, seen):
        if not isinstance(value, type) or value.__module__ == namespace["__name__"]:
            yield value


def _parts_with_stores(value: object) -> Iterator[tuple[Mapping[Any, object], Callable[[Any, object], None]]]:
    """What an object holds by name or key, with what stores it there."""
    if isinstance(value, type):
        yield vars(value), partial(setattr, value)
        return
    own: object = value
    if type(value) is not dict:
        own = None if isinstance(value, FunctionType) else getattr(value, "__dict__", None)
    if type(own) is dict:
        place = cast("dict[Any, Any]", own)
        yield place, partial(operator.setitem, place)


def _parts_of(value: object, namespace: dict[str, Any]) -> Iterable[object]:
    if isinstance(value, FunctionType):
        return _kept_by(value)
    if isinstance(value, type):
        return list(vars(value).values()) if value.__module__ == namespace["__name__"] else ()
    # What the checker makes is its own. Frames lead everywhere, and what a class knows of others to those.
    if isinstance(value, _RUNNING) or type(value).__module__.partition(".")[0] in {*OWN_MODULES, "_abc"}:
        return ()
    return gc.get_referents(value)


def _kept_by(function: FunctionType) -> Iterator[object]:
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            yield cell.cell_contents
