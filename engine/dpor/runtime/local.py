"""threading.local on model threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from dpor.runtime import current
from dpor.runtime.execution import Execution
from dpor.runtime.thread import Thread

_RealLocal = threading.local


class _Storage:
    """The attribute dictionaries of one local object, one a thread.

    Values set while no execution runs belong to the operating system's thread; those of the thread that imports the
    model are what the model's main thread starts with, in every execution.
    """

    __slots__ = ("args", "execution", "kwargs", "outside", "per_thread")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.outside = _RealLocal()
        self.execution: Execution | None = None
        self.per_thread: dict[Thread, dict[str, Any]] = {}

    def find(self) -> tuple[dict[str, Any], bool]:
        """The calling thread's dictionary, and whether it is new and the object's __init__ still has to fill it."""
        host = current.active_host()
        if host is None:
            values: dict[str, Any] | None = self.outside.__dict__.get("values")
            if values is not None:
                return values, False
            values = self.outside.__dict__["values"] = {}
            return values, True
        thread: Thread = host.current_thread()
        execution = thread.dpor_execution
        if execution is not self.execution:
            self.execution = execution
            self.per_thread = {}
        values = self.per_thread.get(thread)
        if values is not None:
            return values, False
        made_before: dict[str, Any] | None = None
        if execution is not None and thread is execution.main:
            made_before = self.outside.__dict__.get("values")
        values = self.per_thread[thread] = {} if made_before is None else dict(made_before)
        return values, made_before is None


class local:  # noqa: N801 -- the standard library's name
    """Thread-local data: every thread sees attributes of its own; a subclass's __init__ runs once in each thread."""

    __slots__ = ("__dict__", "__weakref__", "_dpor_storage")

    # The kernel takes attributes of instances of classes with this mark for private to the thread.
    __dpor_thread_local__ = True

    def __new__(cls, /, *args: Any, **kwargs: Any) -> local:
        """Keep the arguments for the threads in which __init__ has yet to run."""
        if (args or kwargs) and cls.__init__ is object.__init__:
            raise TypeError("Initialization arguments are not supported")
        self = object.__new__(cls)
        storage = _Storage(args, kwargs)
        object.__setattr__(self, "_dpor_storage", storage)
        # The constructor's own call of __init__ fills the dictionary of the thread that makes the object.
        values, _ = storage.find()
        object.__setattr__(self, "__dict__", values)
        return self

    def __getattribute__(self, name: str) -> Any:
        _enter(self)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse_dict(self, name)
        _enter(self)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _refuse_dict(self, name)
        _enter(self)
        object.__delattr__(self, name)


_get: Callable[[Any, str], Any] = object.__getattribute__


def _enter(self: local) -> None:
    """Give the object the calling thread's dictionary."""
    storage: _Storage = _get(self, "_dpor_storage")
    values, is_new = storage.find()
    if _get(self, "__dict__") is not values:
        object.__setattr__(self, "__dict__", values)
    if is_new:
        initialise: Callable[..., None] = type(self).__init__
        if initialise is not object.__init__:
            initialise(self, *storage.args, **storage.kwargs)


def _refuse_dict(self: local, name: str) -> None:
    if name == "__dict__":
        raise AttributeError(f"{type(self).__name__!r} object attribute '__dict__' is read-only")
