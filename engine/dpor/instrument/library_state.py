"""What modules keep from one execution to the next, which has to be for each what it was before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dpor._kernel import Host

_ATOMS = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis), range, slice)
_MOST = 20_000


class LibraryState:
    """The objects that can be reached from instrumented modules of the standard library.

    The host is told of them, and puts back what an execution changes. Real locks among them are replaced by controlled
    ones, made anew for each execution.
    """

    def __init__(self, host: Host, locks: Mapping[type, Callable[[], object]]) -> None:
        self._host = host
        self._locks = locks
        self._seen: dict[int, object] = {}
        self._places: list[tuple[dict[Any, Any], Any, object]] = []

    def keep(self, namespace: dict[str, Any]) -> None:
        """Tell the host of the objects of a module, by its namespace."""
        name = str(namespace["__name__"])
        self._host.keep(namespace, True)
        self._find_locks(namespace)
        for value in objects_of(namespace, self._seen):
            if not isinstance(value, type) or value.__module__ == name:
                self._host.keep(value, isinstance(value, type | FunctionType))
            for place in _dicts_of(value):
                self._find_locks(place)

    def begin(self) -> None:
        """Start an execution: every lock is free."""
        for place, key, real in self._places:
            place[key] = self._locks[type(real)]()

    def restore(self) -> None:
        """Put the real locks back."""
        while self._places:
            place, key, real = self._places.pop()
            place[key] = real
        self._seen.clear()

    def _find_locks(self, place: dict[Any, Any]) -> None:
        for key, value in place.items():
            if type(value) in self._locks:
                self._places.append((place, key, value))


def objects_of(namespace: dict[str, Any], seen: dict[int, object]) -> Iterator[object]:
    """What can be reached from a module's namespace without leaving its code: objects, functions, classes.

    What is in `seen`, by its address, is left out; what is found is added.
    """
    waiting: list[object] = [value for name, value in namespace.items() if not name.startswith("__")]
    while waiting and len(seen) < _MOST:
        value = waiting.pop()
        if isinstance(value, _ATOMS) or id(value) in seen or isinstance(value, ModuleType):
            continue
        seen[id(value)] = value
        yield value
        waiting += _parts_of(value, namespace)


def _dicts_of(value: object) -> Iterator[dict[Any, Any]]:
    if type(value) is dict:
        yield cast("dict[Any, Any]", value)
    elif not isinstance(value, type | FunctionType):
        own: object = getattr(value, "__dict__", None)
        if type(own) is dict:
            yield cast("dict[Any, Any]", own)


def _parts_of(value: object, namespace: dict[str, Any]) -> Iterator[object]:
    if isinstance(value, FunctionType):
        if value.__globals__ is namespace:
            yield from value.__defaults__ or ()
            yield from (value.__kwdefaults__ or {}).values()
        return
    if isinstance(value, type):
        if value.__module__ == namespace["__name__"]:
            yield from list(vars(value).values())
        return
    if isinstance(value, dict):
        yield from list(cast("dict[object, object]", value).values())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from list(cast("list[object]", value))
    own: object = getattr(cast(object, value), "__dict__", None)
    if type(own) is dict:
        yield from list(cast("dict[object, object]", own).values())
