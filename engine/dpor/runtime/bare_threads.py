"""Threads that are started without `threading`: by `_thread.start_new_thread` and `_thread.start_joinable_thread`."""

# pyright: reportPrivateUsage=false
# What is stood in for is private to the library.

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from dpor.runtime import current, timeouts, uncontrolled
from dpor.runtime.identifiers import STARTING, ident_of
from dpor.runtime.thread import Thread

if TYPE_CHECKING:
    from dpor._kernel import Host

_STAY_KNOWN = not hasattr(threading, "_DeleteDummyThreadOnDel")
"""Whether `threading` knows such threads for ever, as it does before Python 3.13."""
_THREAD = "thread"
_real_handle: Any = vars(_thread).get("_ThreadHandle")


class DummyThread(Thread):
    """A thread that was started without `threading`, which comes to know it when it asks for itself."""

    __slots__ = ("dpor_forgotten", "dpor_unmet")

    dpor_unmet: bool
    dpor_forgotten: bool

    def __init__(
        self, target: Callable[..., object] | None = None, args: Any = (), kwargs: Any = None
    ) -> None:
        host = current.active_host()
        if target is None and host is not None:
            host.end_uncontrolled(uncontrolled.with_calls("makes a threading._DummyThread by itself"))
        self.dpor_unmet = True
        self.dpor_forgotten = False
        # Its name is made when `threading` comes to know it.
        super().__init__(target=target, name="Dummy", args=args, kwargs=kwargs, daemon=True)

    def dpor_meet(self, host: Host) -> None:
        """The thread asks for itself."""
        execution = self.dpor_execution
        assert execution is not None
        self._name = f"Dummy-{vars(threading)['_counter']()}"
        started = threading.Event()
        started.set()
        vars(self).update(_started=started, _is_stopped=False)
        execution.move_thread(host, self)
        self.dpor_unmet = False

    def dpor_forget(self, host: Host) -> None:
        """A program takes the thread from those that `threading` knows."""
        execution = self.dpor_execution
        assert execution is not None
        execution.move_thread(host, self)
        self.dpor_forgotten = True

    def dpor_is_known(self) -> bool:
        """Whether `threading` knows it, as long as it has not ended."""
        return not (self.dpor_unmet or self.dpor_forgotten)

    def dpor_is_listed(self, host: Host) -> bool:
        """Whether `threading` lists it."""
        return _STAY_KNOWN or super().dpor_is_listed(host)

    def dpor_is_starting(self, host: Host) -> bool:
        """It runs: it has asked for itself."""
        del host
        return False

    def dpor_shows_end(self, host: Host | None, index: int) -> bool:
        """Whether it shows as one that has ended."""
        return not _STAY_KNOWN and super().dpor_shows_end(host, index)

    def is_alive(self) -> bool:
        """Whether the thread runs; raises what the library's own does if it does not."""
        started = vars(self)["_started"].is_set()
        if _STAY_KNOWN:
            assert not vars(self)["_is_stopped"]
            assert started
        elif not (started and super().is_alive()):
            raise RuntimeError("thread is not alive")
        return True

    def join(self, timeout: float | None = None) -> None:
        """Nobody can wait for it."""
        del timeout
        if _STAY_KNOWN:
            raise AssertionError("cannot join a dummy thread")
        raise RuntimeError("cannot join a dummy thread")


DummyThread.__module__ = threading.__name__
DummyThread.__name__ = DummyThread.__qualname__ = "_DummyThread"


def start_new_thread(function: Any, args: Any, kwargs: Any = None) -> int:
    """_thread.start_new_thread inside an execution: a daemon thread that nobody can join."""
    if not callable(function):
        raise TypeError("first arg must be callable")
    if not isinstance(args, tuple):
        raise TypeError("2nd arg must be a tuple")
    if kwargs is not None and not isinstance(kwargs, dict):
        raise TypeError("optional 3rd arg must be a dictionary")
    begun = _of_library(function)
    if begun is not None:
        return begun.dpor_begin(cast("Host", current.active_host()))
    thread = DummyThread(function, cast("tuple[Any, ...]", args), cast("dict[str, Any] | None", kwargs))
    thread.start()
    return ident_of(thread)


def start_joinable_thread(function: Any, handle: Any, daemon: Any) -> ThreadHandle:
    """_thread.start_joinable_thread inside an execution: a thread that is waited for by its handle."""
    if not callable(function):
        raise TypeError("thread function must be callable")
    if handle is None:
        handle = ThreadHandle()
    elif type(handle) is not ThreadHandle:
        raise TypeError("'handle' must be a _ThreadHandle")
    started: ThreadHandle = handle
    started.dpor_start(function, bool(daemon))
    return started


def _of_library(function: Callable[..., object]) -> Thread | None:
    """The `threading.Thread` that is being started, if `function` is what the library has run for it."""
    thread = getattr(function, "__self__", None)
    if not isinstance(thread, Thread) or getattr(function, "__func__", None) is not Thread._bootstrap:
        return None
    return thread if thread.dpor_index == STARTING else None


class ThreadHandle:
    """_thread._ThreadHandle in a model: what a thread is waited for by."""

    __slots__ = ("_ended", "_states")

    __dpor_own__ = True

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """A handle of the library outside of executions."""
        return _real_handle(*args, **kwargs) if current.active_host() is None else object.__new__(cls)

    def __init__(self, *args: object, **kwargs: object) -> None:
        del args, kwargs
        # What other threads can change of the handle: which thread it is of, and whether it was said to have ended.
        self._states: dict[str, Any] = {}
        self._ended = threading.Event()
        host = current.active_host()
        if host is not None:
            host.created(self._states)

    def __init_subclass__(cls, **kwargs: object) -> None:
        raise TypeError("type '_thread._ThreadHandle' is not an acceptable base type")

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle '_thread._ThreadHandle' object")

    def dpor_start(self, function: Callable[..., object], daemon: bool) -> None:
        """Start the thread; RuntimeError if the handle has one."""
        host = cast("Host", current.active_host())
        self._access(writes=True)
        if _THREAD in self._states:
            raise RuntimeError("thread already started")
        begun = _of_library(function)
        if begun is not None:
            self._states[_THREAD] = begun
            begun.dpor_begin(host)
            return
        self._states[_THREAD] = thread = DummyThread(self._run, (function,))
        thread._daemonic = daemon
        thread.start()

    def _run(self, function: Callable[..., object]) -> None:
        try:
            current.controlled(function)()
        finally:
            self._ended.set()

    def _access(self, *, writes: bool) -> None:
        host = current.active_host()
        if host is not None:
            host.access_whole(self._states, writes, self)

    def _started(self, *, writes: bool = False) -> Thread:
        self._access(writes=writes)
        thread: Thread | None = self._states.get(_THREAD)
        if thread is None:
            raise RuntimeError("thread not started")
        return thread

    @property
    def ident(self) -> int:
        """The identifier of the thread; 0 before it is started."""
        self._access(writes=False)
        thread: Thread | None = self._states.get(_THREAD)
        return 0 if thread is None or thread.dpor_index in (None, STARTING) else ident_of(thread)

    @ident.setter
    def ident(self, value: object) -> None:
        raise AttributeError("attribute 'ident' of '_thread._ThreadHandle' objects is not writable")

    def join(self, timeout: Any = None, /) -> None:
        """Wait until the thread has ended, at most for `timeout` seconds unless that is negative."""
        thread = self._started()
        host = cast("Host", current.active_host())
        if thread is host.current_thread() and not self._ended.is_set():
            raise RuntimeError("Cannot join current thread")
        if timeout is not None:
            timeouts.of_wait(timeout)
        self._ended.wait(None if timeout is None or timeout < 0 else timeout)

    def is_done(self) -> bool:
        """Whether the thread has ended, or was said to have."""
        return self._ended.is_set()

    def _set_done(self) -> None:
        """Say that the thread has ended."""
        self._started()
        self._ended.set()

    def __repr__(self) -> str:
        return f"<_thread._ThreadHandle object: ident={self.ident}>"


ThreadHandle.__module__ = _thread.__name__
ThreadHandle.__name__ = ThreadHandle.__qualname__ = "_ThreadHandle"
