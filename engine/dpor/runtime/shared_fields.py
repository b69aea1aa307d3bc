"""The fields of queue.Queue and threading.Barrier that people look at without their lock.

Their code is the standard library's own and runs under a lock, so that what it does to these fields needs no watching,
until somebody reads `barrier.n_waiting` or `items.queue` beside it.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# What is replaced is private to the classes.

from __future__ import annotations

import heapq
import queue
import threading
from collections.abc import Callable
from typing import Any

from dpor.runtime import current, uncontrolled
from dpor.runtime.patchset import PatchSet

RealBarrier = threading.Barrier
_QUEUE_FIELDS = (
    "maxsize",
    "unfinished_tasks",
    *(("is_shutdown",) if hasattr(queue.Queue, "shutdown") else ()),
)
_BARRIER_FIELDS = ("_state", "_count")
# What their methods read unseen.
_QUEUE_PARTS = frozenset({"all_tasks_done", "mutex", "not_empty", "not_full", "queue"})


def field_of(name: str, before_read: Callable[[Any], None], before_change: Callable[[Any], None]) -> Any:
    """A property for one of an object's fields; the functions are called with the object before it is used so."""

    def read(self: Any) -> Any:
        before_read(self)
        try:
            return _load(self.__dict__.get("dpor_fields") or _fields(self), name)
        except KeyError:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            ) from None

    def write(self: Any, value: Any) -> None:
        fields = self.__dict__.get("dpor_fields") or _fields(self)
        if name in fields:
            before_change(self)
        host = current.active_host()
        if host is None:
            fields[name] = value
        else:
            host.store_item(value, fields, name)

    return property(read, write)


def _load(fields: dict[str, Any], name: str) -> Any:
    host = current.active_host()
    return fields[name] if host is None else host.load_item(fields, name)


def _fields(owner: Any) -> dict[str, Any]:
    """The dict that holds an object's fields; made by the constructor, which is the first to store one.

    An object that was made before the check keeps what it had.
    """
    known: dict[str, Any] | None = owner.__dict__.get("dpor_fields")
    if known is not None:
        return known
    kept: dict[str, Any] = owner.__dict__
    names = _BARRIER_FIELDS if isinstance(owner, RealBarrier) else _QUEUE_FIELDS
    made = {name: kept[name] for name in names if name in kept}
    owner.__dict__["dpor_fields"] = made
    host = current.current_host()
    if host is not None:
        host.created(made)
    return made


def refusing_to_replace(parts: frozenset[str], owner: str) -> Callable[[Any, str, Any], None]:
    """A `__setattr__` that refuses to replace parts of an object while others may use it."""

    def set_attribute(self: Any, name: str, value: Any) -> None:
        if name in parts and name in self.__dict__:
            host = current.active_host()
            if host is not None and not host.is_alone():
                host.end_uncontrolled(
                    uncontrolled.with_calls(f"replaces {name} of a {owner} while other threads run")
                )
        object.__setattr__(self, name, value)

    return set_attribute


def state_of(self: Any) -> dict[str, Any]:
    """What a copy starts from: the fields are its own, under their names."""
    state = dict(self.__dict__)
    fields: dict[str, Any] = state.pop("dpor_fields", {})
    held = {name: _load(fields, name) for name in fields}
    # In the order in which the library's constructors store them.
    first = {name: held.pop(name) for name in ("maxsize",) if name in held}
    return {**first, **state, **held}


def take_state(self: Any, state: dict[str, Any]) -> None:
    """What a copy is given; its fields are made of it when they are first used."""
    self.__dict__.update(state)


def patch_queues(patches: PatchSet, open_queue: Callable[[Any], None]) -> None:
    """Make what the queue classes do to their `queue` visible operations.

    `open_queue` is called before a queue is used in a way that only the library's own code knows.
    """

    def untouched(owner: Any) -> None:
        del owner

    def state_of_opened(self: Any) -> dict[str, Any]:
        open_queue(self)
        return state_of(self)

    def created(real: Callable[[Any, int], None]) -> Callable[[Any, int], None]:
        def init(self: Any, maxsize: int) -> None:
            real(self, maxsize)
            host = current.current_host()
            if host is not None:
                host.created(self.queue)

        return init

    def size(self: Any) -> int:
        host = current.active_host()
        return len(self.queue) if host is None else host.callee(len)(self.queue)

    def calling(name: str) -> Callable[..., Any]:
        def call(self: Any, *item: Any) -> Any:
            host = current.active_host()
            method: Any = getattr(self.queue, name) if host is None else host.method(self.queue, name)
            return method(*item)

        return call

    def on_heap(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *item: Any) -> Any:
            host = current.active_host()
            return (function if host is None else host.callee(function))(self.queue, *item)

        return call

    patches.define(queue.Queue, "__setattr__", refusing_to_replace(_QUEUE_PARTS, "queue.Queue"))
    # What `__dict__` shows is not what it is in Python: the kernel refuses to give it.
    patches.define(queue.Queue, "__dpor_fields__", True)
    patches.define(queue.Queue, "__getstate__", state_of_opened)
    patches.define(queue.Queue, "__setstate__", take_state)
    for name in _QUEUE_FIELDS:
        looks_inside = name == "unfinished_tasks"
        field = field_of(name, open_queue if looks_inside else untouched, open_queue)
        patches.define(queue.Queue, name, field)
    for owner, put, get in (
        (queue.Queue, calling("append"), calling("popleft")),
        (queue.LifoQueue, calling("append"), calling("pop")),
        (queue.PriorityQueue, on_heap(heapq.heappush), on_heap(heapq.heappop)),
    ):
        patches.replace(owner, "_init", created(owner.__dict__["_init"]))
        patches.replace(owner, "_qsize", size)
        patches.replace(owner, "_put", put)
        patches.replace(owner, "_get", get)
