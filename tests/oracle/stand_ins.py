"""What can make a thread wait inside C is replaced by an equivalent that asks the scheduler.

Everything of the library that is written in Python on top of it (conditions, events, queues, pools, ...) stays as it
is, and is switched inside like all other code.
"""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import contextlib
import functools
import logging
import queue
import selectors
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from oracle.scheduler import Abandoned, Actor, Scheduler


def _not_copied(self: Any, protocol: Any) -> Any:
    raise TypeError(f"cannot pickle '_thread.{type(self).__name__.lower()}' object")


def primitives(scheduler: Scheduler) -> dict[str, type]:
    """The classes that take the place of the library's locks and of its queue in C."""

    class Lock:
        # No attributes of its own, as the one in C.
        __slots__ = ("__weakref__", "_taken")
        __reduce_ex__ = _not_copied

        def __init__(self) -> None:
            self._taken = False

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            _check(blocking, timeout)
            if scheduler.aborting:
                raise Abandoned
            while self._taken:
                if not blocking or timeout == 0:
                    return False
                if not scheduler.wait(lambda: not self._taken, None if timeout < 0 else timeout):
                    return False
            self._taken = True
            scheduler.changed()
            return True

        def release(self) -> None:
            if scheduler.aborting:
                return
            if not self._taken:
                raise RuntimeError("release unlocked lock")
            self._taken = False
            scheduler.changed()

        def locked(self) -> bool:
            return self._taken

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *exception: object) -> None:
            self.release()

        def _at_fork_reinit(self) -> None:
            self._taken = False

        acquire_lock = acquire
        release_lock = release
        locked_lock = locked

    class RLock:
        __slots__ = ("__weakref__", "_count", "_owner")
        __reduce_ex__ = _not_copied

        def __init__(self) -> None:
            self._owner: Actor | None = None
            self._count = 0

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            _check(blocking, timeout)
            if scheduler.aborting:
                raise Abandoned
            me = scheduler.current if scheduler.active else None
            while self._count and self._owner is not me:
                if not blocking or timeout == 0:
                    return False
                if not scheduler.wait(lambda: not self._count, None if timeout < 0 else timeout):
                    return False
            self._owner = me
            self._count += 1
            scheduler.changed()
            return True

        def release(self) -> None:
            if scheduler.aborting:
                return
            if not self._is_owned():
                raise RuntimeError("cannot release un-acquired lock")
            self._count -= 1
            scheduler.changed()

        def locked(self) -> bool:
            return self._count > 0

        def _is_owned(self) -> bool:
            return self._count > 0 and self._owner is (scheduler.current if scheduler.active else None)

        def _release_save(self) -> int:
            count, self._count = self._count, 0
            scheduler.changed()
            return count

        def _acquire_restore(self, count: int) -> None:
            self.acquire()
            self._count = count

        def _recursion_count(self) -> int:
            return self._count if self._is_owned() else 0

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *exception: object) -> None:
            self.release()

        def _at_fork_reinit(self) -> None:
            self._count = 0

    class SimpleQueue(queue.SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            if scheduler.aborting:
                raise Abandoned
            if block and timeout is not None and timeout < 0:
                raise ValueError("'timeout' must be a non-negative number")
            while block and timeout != 0 and self.empty():
                if not scheduler.wait(lambda: not self.empty(), timeout):
                    break
            scheduler.changed()
            return super().get(False)

        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            super().put(item)
            scheduler.changed()

        def put_nowait(self, item: Any) -> None:
            super().put(item)
            scheduler.changed()

    return {"Lock": Lock, "RLock": RLock, "SimpleQueue": SimpleQueue}


def _check(blocking: bool, timeout: float) -> None:
    if not blocking and timeout != -1:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if blocking and timeout < 0 and timeout != -1:
        raise ValueError("timeout value must be a non-negative number")


def _thread_methods(scheduler: Scheduler) -> dict[str, Callable[..., Any]]:
    made = threading.Thread.__init__

    def init(self: Any, *arguments: Any, **options: Any) -> None:
        scheduler.quiet += 1
        try:
            made(self, *arguments, **options)
            # A thread has the same attributes before and after its start.
            self._actor = None
        finally:
            scheduler.quiet -= 1

    def start(self: Any) -> None:
        if getattr(self, "_actor", None) is not None:
            raise RuntimeError("threads can only be started once")

        def name_thread(begins: bool) -> None:
            if begins:
                threading._active[_thread.get_ident()] = self  # type: ignore[attr-defined]
            else:
                threading._active.pop(_thread.get_ident(), None)  # type: ignore[attr-defined]

        def body() -> None:
            self.run()

        self._actor = scheduler.spawn(body, name_thread)

    def join(self: Any, timeout: float | None = None) -> None:
        actor = getattr(self, "_actor", None)
        if actor is None:
            raise RuntimeError("cannot join thread before it is started")
        if actor is scheduler.current:
            raise RuntimeError("cannot join current thread")
        if not actor.done:
            scheduler.wait(lambda: actor.done, timeout)

    def is_alive(self: Any) -> bool:
        actor = getattr(self, "_actor", None)
        return actor is not None and not actor.done

    return {"__init__": init, "start": start, "join": join, "is_alive": is_alive}


def _select(scheduler: Scheduler, select: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    def polled(self: Any, timeout: float | None = None) -> list[Any]:
        found = select(self, 0)
        if found or (timeout is not None and timeout <= 0) or not scheduler.active:
            return found
        scheduler.wait(lambda: bool(select(self, 0)), timeout)
        return select(self, 0)

    return polled


@contextlib.contextmanager
def replaced(scheduler: Scheduler) -> Iterator[None]:
    """Put the stand-ins in place of what they stand for, as long as the context lasts."""
    made = primitives(scheduler)
    lock, rlock = made["Lock"], made["RLock"]

    def sleep(seconds: float) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        scheduler.wait(lambda: False, seconds)

    places: list[tuple[Any, str, Any]] = [
        (threading, "Lock", lock),
        (threading, "_allocate_lock", lock),
        (threading, "RLock", rlock),
        (threading, "_CRLock", rlock),
        (threading, "_time", lambda: scheduler.now),
        (functools, "RLock", rlock),
        (queue, "SimpleQueue", made["SimpleQueue"]),
        (queue, "time", lambda: scheduler.now),
        (time, "sleep", sleep),
        (time, "monotonic", lambda: scheduler.now),
        # What a thread that is given up raises in a destructor is no news.
        (sys, "unraisablehook", lambda unraisable: None),
        (logging, "_lock", rlock()),
        (logging.lastResort, "lock", rlock()),
        (concurrent.futures.thread, "_global_shutdown_lock", lock()),
        # The interpreter joins the threads in it when it ends.
        (concurrent.futures.thread, "_threads_queues", weakref.WeakKeyDictionary()),
        (
            selectors.DefaultSelector,
            "select",
            _select(scheduler, selectors.DefaultSelector.select),
        ),
        *((threading.Thread, name, method) for name, method in _thread_methods(scheduler).items()),
    ]
    places = [place for place in places if hasattr(place[0], place[1])]
    before = [getattr(owner, name) for owner, name, _ in places]
    for owner, name, new in places:
        setattr(owner, name, new)
    scheduler.untraced |= {
        value.__code__ for value in vars(threading.Thread).values() if hasattr(value, "__code__")
    }
    scheduler.untraced |= {threading.current_thread.__code__}
    try:
        yield
    finally:
        for (owner, name, _), old in zip(places, before, strict=True):
            setattr(owner, name, old)
