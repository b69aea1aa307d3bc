"""What modules of the standard library keep: it outlives an execution, and has to be for each what it was before."""

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
        waiting: list[object] = [namespace]
        while waiting and len(self._seen) < _MOST:
            value = waiting.pop()
            if isinstance(value, _ATOMS) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            if not isinstance(value, type) or value.__module__ == namespace["__name__"]:
                named = value is namespace or isinstance(value, type | FunctionType)
                self._host.keep(value, named)
            for place in _dicts_of(value):
                self._find_locks(place)
            if value is namespace:
                waiting += (part for name, part in namespace.items() if not name.startswith("__"))
            else:
                waiting += _parts_of(value, namespace)

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


def _dicts_of(value: object) -> Iterator[dict[Any, Any]]:
    if type(value) is dict:
        yield cast("dict[Any, Any]", value)
    elif not isinstance(value, type | ModuleType | FunctionType):
        own: object = getattr(value, "__dict__", None)
        if type(own) is dict:
            yield cast("dict[Any, Any]", own)


def _parts_of(value: object, namespace: dict[str, Any]) -> Iterator[object]:
    if isinstance(value, ModuleType):
        return
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
    own: object = getattr(value, "__dict__", None)
    if type(own) is dict:
        yield from list(cast("dict[object, object]", own).values())
