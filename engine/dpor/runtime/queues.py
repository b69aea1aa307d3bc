"""`queue.Queue` and `queue.LifoQueue` as primitives of the kernel: each operation is one step.

The classes stay the library's. What an instance has in place of its lock, its conditions and its items is one object of
the kernel, and the methods act on that. It is closed as long as nobody looks inside. Code that uses the lock, the
conditions or the items, and a class that overrides what the library lets it override (`_init`, `_put`, `_get`,
`_qsize`), run on the library's own code, which is learned like all that an exploration rests on. So do a PriorityQueue,
which compares its items, `shutdown`, and queues that modules make when they are imported.

That nothing is lost: the library's methods are sections of one lock. In each a thread waits only until there is an
item, room or no task left, and then changes the queue once. Which of the threads that wait goes on first is open, since
one that has not come to the queue yet may overtake them. A wait with a time limit ends without an item only if there is
none when it ends.
"""

# pyright: reportPrivateUsage=false
# What is replaced is private to the classes.

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from dpor.runtime.patchset import PatchSet

if TYPE_CHECKING:
    from dpor._kernel import TaskQueue

_KEY = "dpor_inside"
_OVERRIDABLE = ("_init", "_qsize", "_put", "_get")
_PARTS = ("all_tasks_done", "mutex", "not_empty", "not_full", "queue")
_MOST = 2**31

# What a class that derives from a queue's cannot have without seeing that the insides are others.
_SEEING = frozenset(
    {*_PARTS, "maxsize", "unfinished_tasks", "is_shutdown", "__setattr__", "__getattribute__", "__getattr__"}
)


class PrimitiveQueues:
    """The methods that take the place of the library's for a check. `kernel` is the module of the primitives."""

    def __init__(self, kernel: Any) -> None:
        self._make: Callable[[int, bool], TaskQueue | None] = kernel.TaskQueue.make
        self._library: dict[str, Any] = {}
        self._orders: dict[bool, tuple[Any, ...]] = {}

    def install(self, patches: PatchSet) -> None:
        """Replace the methods, after all else that is replaced of the classes."""
        self._library = dict(queue.Queue.__dict__)
        self._orders = {False: _overridable(queue.Queue), True: _overridable(queue.LifoQueue)}
        for name, method in self._methods().items():
            # What shows its parameters.
            method.__wrapped__ = self._library[name]
            patches.replace(queue.Queue, name, method)
        for name in _PARTS:
            patches.define(queue.Queue, name, self._part(name))

    def open(self, owner: Any) -> None:
        """The queue is used in a way that only the library's own code knows: explore again with that."""
        inside = _inside_of(owner)
        if inside is not None:
            inside.open()

    def _closed(self, owner: Any) -> TaskQueue | None:
        """What stands for the inside of a queue; None if it runs on the library's own code."""
        inside = _inside_of(owner)
        if inside is not None:
            kind = type(cast("object", owner))
            is_own = _OWN.isdisjoint(object.__getattribute__(owner, "__dict__"))
            if not is_own or self._last_first(kind) is not inside.last_first:
                inside.open()
        return inside

    def _last_first(self, kind: type) -> bool | None:
        """In which order a class takes items; None for one of which the library's own code has to tell."""
        for base in kind.__mro__[: kind.__mro__.index(queue.Queue)]:
            if not _SEEING.isdisjoint(base.__dict__):
                return None
        parts = _overridable(kind)
        return next((order for order, library in self._orders.items() if library == parts), None)

    def _methods(self) -> dict[str, Any]:
        library, closed = self._library, self._closed

        def init(self: Any, maxsize: Any = 0) -> None:
            made = _inside_of(self)
            if made is not None:
                made.open()
            made = self_made(self, maxsize)
            if made is None:
                library["__init__"](self, maxsize)
                return
            self.__dict__[_KEY] = made
            self.maxsize = maxsize
            if "shutdown" in library:
                self.is_shutdown = False

        def put(self: Any, item: Any, block: Any = True, timeout: Any = None) -> None:
            inside = closed(self)
            if inside is None:
                library["put"](self, item, block, timeout)
                return
            block = not inside.bounded or bool(block)
            if not inside.put(self, item, block, _limit(block, timeout) if inside.bounded else None):
                raise queue.Full

        def get(self: Any, block: Any = True, timeout: Any = None) -> Any:
            inside = closed(self)
            if inside is None:
                return library["get"](self, block, timeout)
            block = bool(block)
            found = inside.get(self, block, _limit(block, timeout))
            if not found:
                raise queue.Empty
            return found[0]

        def task_done(self: Any) -> None:
            inside = closed(self)
            if inside is None:
                library["task_done"](self)
            elif not inside.task_done(self):
                raise ValueError("task_done() called too many times")

        def join(self: Any) -> None:
            inside = closed(self)
            library["join"](self) if inside is None else inside.join(self)

        def qsize(self: Any) -> int:
            inside = closed(self)
            return library["qsize"](self) if inside is None else inside.qsize()

        def empty(self: Any) -> bool:
            inside = closed(self)
            return library["empty"](self) if inside is None else inside.empty()

        def full(self: Any) -> bool:
            inside = closed(self)
            return library["full"](self) if inside is None else inside.full()

        def shutdown(self: Any, immediate: Any = False) -> None:
            open_queue(self)
            library["shutdown"](self, immediate)

        self_made, open_queue = self._made, self.open
        methods: dict[str, Any] = {
            "__init__": init,
            "put": put,
            "get": get,
            "task_done": task_done,
            "join": join,
        }
        methods |= {"qsize": qsize, "empty": empty, "full": full}
        return methods | ({"shutdown": shutdown} if "shutdown" in library else {})

    def _made(self, owner: Any, maxsize: Any) -> TaskQueue | None:
        """The inside of a new queue; None if it is to run on the library's own code."""
        kind = type(cast("object", owner))
        last_first = self._last_first(kind)
        if last_first is None or type(maxsize) is not int or maxsize >= _MOST:
            return None
        return self._make(max(maxsize, 0), last_first)

    def _part(self, name: str) -> property:
        def read(owner: Any) -> Any:
            self.open(owner)
            try:
                return owner.__dict__[name]
            except KeyError:
                error = AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
                error.name, error.obj = name, owner
                raise error from None

        def write(owner: Any, value: Any) -> None:
            self.open(owner)
            owner.__dict__[name] = value

        def delete(owner: Any) -> None:
            read(owner)
            del owner.__dict__[name]

        return property(read, write, delete)


_OWN = frozenset(_OVERRIDABLE)
"""What an instance has of its own only if somebody gives it to it."""


def _inside_of(owner: Any) -> TaskQueue | None:
    return object.__getattribute__(owner, "__dict__").get(_KEY)


def _limit(block: bool, timeout: Any) -> Any:
    """The time limit of a wait, with the library's errors for what is none."""
    if not block or timeout is None:
        return None
    if timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    return 0.0 + timeout


def _overridable(kind: type) -> tuple[Any, ...]:
    return tuple(getattr(kind, name) for name in _OVERRIDABLE)
