"""functools.lru_cache, cache and cached_property inside a model.

The standard library looks a value up, computes it if it is missing and stores it: two first calls may both compute.
Its tables live in C or in code that is not instrumented, so here they are ordinary dicts whose lookups and stores are
visible operations. Every execution begins with what a table held when the model's modules had been imported.
"""

# pyright: reportPrivateUsage=false
# What is replaced is private to functools.

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Self, cast

from dpor.runtime import current, uncontrolled
from dpor.runtime.factories import Factory
from dpor.runtime.mode import Mode
from dpor.runtime.patchset import PatchSet

if TYPE_CHECKING:
    from dpor._kernel import Host

_MISSING: Any = object()
_NOBODY = -1
_PLAIN = (int, str, bytes, float, complex, bool, type(None), type)
# Tables of at least this size keep the order in which entries were used for a single thread only: a model would hardly
# fill them, and every hit would be ordered with every other.
_NEVER_FULL = 100


class lru_cache(dict[Any, Any]):  # noqa: N801 -- reports show the name
    """A cache's table, from arguments to results, the least recently used entry first."""


class _Tables:
    """What one cached function remembers: its table, and how often each thread found or missed an entry."""

    def __init__(self, mode: Mode) -> None:
        self._table = lru_cache()
        self._counts: dict[int, tuple[int, int]] = {}
        self._execution = 0
        # Of this execution: the thread that has used the table beside others, and whether it is the only one.
        self._user = _NOBODY
        self._has_order = True
        # The dicts get their identity from their place in this one, whichever thread comes first.
        self._places: dict[str, Any] = {}
        mode.host.created(self._places)

    def table(self, host: Host | None) -> lru_cache:
        if host is None:
            return self._table
        self._renew(host)
        return host.load_item(self._places, "table")

    def counts(self, host: Host | None) -> dict[int, tuple[int, int]]:
        if host is None:
            return self._counts
        self._renew(host)
        return host.load_item(self._places, "counts")

    def has_order(self, host: Host | None, key: Any) -> bool:
        """Note a use of the entry with this key; whether the order of uses is known: it follows from what one thread
        does, and keeping it runs no code of the model.
        """
        if host is not None and not host.is_alone():
            user = host.current_index()
            self._has_order = self._has_order and self._user in (_NOBODY, user)
            self._user = user
        self._has_order = self._has_order and _is_plain(key)
        return self._has_order

    def _renew(self, host: Host) -> None:
        if self._execution != host.execution:
            self._execution = host.execution
            self._user, self._has_order = _NOBODY, True
            self._places["table"] = lru_cache(self._table)
            self._places["counts"] = dict(self._counts)


class _Cache:
    """A cached function's lookups; the same operations as those of the standard library's C code."""

    def __init__(self, mode: Mode, function: Callable[..., Any], size: int | None, typed: bool) -> None:
        self._function = function
        self._size = size
        self._typed = typed
        self._keeps_order = size is not None and 0 < size < _NEVER_FULL
        self._tables = _Tables(mode)

    def function(self) -> Callable[..., Any]:
        """What computes a result."""
        return current.controlled(self._function)

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What stands for such a call; TypeError for an argument that has no hash."""
        return None if self._size == 0 else _make_key(args, kwargs, self._typed)

    def look_up(self, key: Any) -> Any:
        """The result that is kept for a key; `_MISSING` if there is none."""
        host = current.active_host()
        if self._size == 0:
            self._count(host, False)
            return _MISSING
        table = self._tables.table(host)
        if not self._keeps_order:
            found = table.get(key, _MISSING) if host is None else host.method(table, "get")(key, _MISSING)
            self._count(host, found is not _MISSING)
            if self._size is not None and self._tables.has_order(host, key) and found is not _MISSING:
                table[key] = table.pop(key)
            return found
        counts = self._tables.counts(host)
        if host is not None:
            host.together((table, counts), writes=True)
        found = table.pop(key, _MISSING)
        if found is not _MISSING:
            table[key] = found
        _add(counts, -1 if host is None else host.current_index(), found is not _MISSING)
        return found

    def keep(self, key: Any, result: Any) -> None:
        """Keep a result for a key, unless the cache keeps none."""
        if self._size == 0:
            return
        host = current.active_host()
        table = self._tables.table(host)
        if self._size is None:
            if host is None:
                table[key] = result
            else:
                host.store_item(result, table, key)
            return
        if host is None:
            table.setdefault(key, result)
        elif self._keeps_order:
            host.together((table,), writes=True)
            table.setdefault(key, result)
        else:
            host.method(table, "setdefault")(key, result)
        if len(table) > self._size:
            if host is not None and not self._keeps_order:
                if not self._tables.has_order(host, key):
                    message = (
                        f"fills an lru_cache of {self._size} entries, whose order of use is not followed"
                    )
                    host.end_uncontrolled(uncontrolled.with_calls(message))
                host.together((table,), writes=True)
            # The entry that was just stored is the last one.
            del table[next(iter(table))]

    def _count(self, host: Host | None, hit: bool) -> None:
        counts = self._tables.counts(host)
        if host is None:
            _add(counts, -1, hit)
        else:
            # Each thread counts for itself: counting orders no calls, only reading the sums does.
            thread = host.current_index()
            host.store_item(_counted(counts, thread, hit), counts, thread)

    def info(self) -> Any:
        """What `cache_info()` gives."""
        host = current.active_host()
        table, counts = self._tables.table(host), self._tables.counts(host)
        if host is not None:
            host.together((table, counts), writes=False)
        hits, misses = (sum(number[which] for number in counts.values()) for which in (0, 1))
        return functools._CacheInfo(hits, misses, self._size, len(table))

    def clear(self) -> None:
        """What `cache_clear()` does."""
        host = current.active_host()
        both = (self._tables.table(host), self._tables.counts(host))
        if host is not None:
            host.together(both, writes=True)
        for one in both:
            one.clear()


class _lru_cache_wrapper:  # noqa: N801 -- the standard library's name
    """A cached function: an object with attributes of its own, as the one in C."""

    # The kernel takes classes with this mark for the checker's own, whatever module they name.
    __dpor_own__ = True
    __slots__ = ("__dict__", "__weakref__", "dpor_cache")

    def __init__(self, cache: _Cache) -> None:
        self.dpor_cache = cache

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        cache = self.dpor_cache
        key = cache.key(args, kwargs)
        found = cache.look_up(key)
        if found is not _MISSING:
            return found
        function = cache.function()
        host = current.active_host()
        # The function in C is none of the nested calls that count.
        if host is not None:
            host.do_not_count(1)
        try:
            result = function(*args, **kwargs)
        finally:
            if host is not None:
                host.do_not_count(-1)
        cache.keep(key, result)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def cache_info(self) -> Any:
        """Report how many calls found an entry, and how many entries there are."""
        return self.dpor_cache.info()

    def cache_clear(self) -> None:
        """Forget all entries, and how many calls found one."""
        self.dpor_cache.clear()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> str:
        return cast(str, vars(self)["__qualname__"])


_lru_cache_wrapper.__module__ = "functools"


def _counted(counts: dict[int, tuple[int, int]], thread: int, hit: bool) -> tuple[int, int]:
    hits, misses = counts.get(thread, (0, 0))
    return (hits + 1, misses) if hit else (hits, misses + 1)


def _add(counts: dict[int, tuple[int, int]], thread: int, hit: bool) -> None:
    counts[thread] = _counted(counts, thread, hit)


def _make_key(args: tuple[Any, ...], kwargs: dict[str, Any], typed: bool) -> Any:
    """A key that is equal exactly where the standard library's is; TypeError for an argument that has no hash."""
    args = tuple(map(_plain, args))
    kwargs = {name: _plain(value) for name, value in kwargs.items()}
    if not kwargs and not typed and len(args) == 1 and type(args[0]) in (int, str):
        return args[0]
    key: tuple[Any, ...] = (args, tuple(kwargs.items())) if kwargs else (args,)
    if typed:
        key += (tuple(map(type, args)), tuple(map(type, kwargs.values())))
    hash(key)
    return key


def _is_plain(key: Any) -> bool:
    """Whether hash and comparison of a key run no code in Python."""
    if type(key) is tuple:
        return all(map(_is_plain, cast("tuple[Any, ...]", key)))
    return type(key) in _PLAIN


def _plain(value: Any) -> Any:
    """A number in the place of a symbolic value: each that it can be has an entry of its own."""
    return value.__dpor_concrete__() if hasattr(cast(object, type(value)), "__dpor_symbolic__") else value


class cached_property(functools.cached_property[Any]):  # noqa: N801 -- the standard library's name
    """functools.cached_property whose store is a visible operation of the model."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The value, computed at the first use; in Python 3.11 under the property's lock, as there."""
        host = current.active_host()
        name = self.attrname
        if host is None or instance is None or name is None or not hasattr(instance, "__dict__"):
            return super().__get__(instance, owner)
        # The load of the attribute was the visible operation that led here.
        if name in instance.__dict__:
            return instance.__dict__[name]
        lock: Any = getattr(self, "lock", None)
        if lock is None:
            return self._compute(host, instance, name)
        with lock:
            values = host.load_attribute(instance, "__dict__")
            if host.contains(name, values):
                return values[name]
            return self._compute(host, instance, name)

    def _compute(self, host: Host, instance: Any, name: str) -> Any:
        function = current.controlled(host.load_attribute(self, "func"))
        # The standard library computes it in `__get__`.
        host.do_not_count(1)
        try:
            value = function(instance)
        finally:
            host.do_not_count(-1)
        if type(instance).__setattr__ is object.__setattr__:
            host.store_attribute(value, instance, name)
        else:
            # As the standard library does: past a class that refuses assignments.
            host.store_item(value, host.load_attribute(instance, "__dict__"), name)
        return value


cached_property.__module__ = "functools"


def patch_caches(patches: PatchSet, mode: Mode) -> None:
    """Make functools cache with visible operations what the model's modules define."""
    real: Any = functools._lru_cache_wrapper

    def make_wrapper(function: Any, size: int | None, typed: bool, info: Any) -> Any:
        if not mode.controls() or not callable(function):
            return real(function, size, typed, info)
        return _lru_cache_wrapper(_Cache(mode, function, size, typed))

    patches.replace(functools, "_lru_cache_wrapper", make_wrapper)
    patches.replace(
        functools,
        "cached_property",
        Factory(mode.controls, cached_property, functools.cached_property),
    )
