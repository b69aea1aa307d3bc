"""threading.local on model threads, under all the names that it has."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from dpor.runtime import current
from dpor.runtime.execution import Execution
from dpor.runtime.thread import Thread, known_thread
from dpor.runtime.turn_events import note_access, note_made

RealLocal = threading.local


class _Storage:
    """The attribute dictionaries of one local object, one a thread.

    Values set while no execution runs belong to the operating system's thread; those of the thread that imports the
    model are what the model's main thread starts with, in every execution.
    """

    __slots__ = ("args", "dpor_number", "execution", "kwargs", "outside", "per_thread")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.outside = RealLocal()
        self.execution: Execution | None = None
        self.per_thread: dict[Thread, dict[str, Any]] = {}
        self.dpor_number: int | None = None
        note_made(self)

    def find(self) -> tuple[dict[str, Any], bool]:
        """The calling thread's dictionary, and whether it is new and the object's __init__ still has to fill it."""
        host = current.active_host()
        if host is None:
            values: dict[str, Any] | None = self.outside.__dict__.get("values")
            if values is not None:
                return values, False
            values = self.outside.__dict__["values"] = {}
            return values, True
        # The tasks of a thread share what is its own.
        note_access(self)
        thread = known_thread(host)
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

    __dpor_own__ = True

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
        try:
            return object.__getattribute__(self, name)
        except AttributeError as error:
            raise _named(error, self, name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse_dict(self, name)
        _enter(self)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _refuse_dict(self, name)
        _enter(self)
        try:
            object.__delattr__(self, name)
        except AttributeError as error:
            raise _named(error, self, name) from None

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle {_shown_class(self)!r} object")


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
        raise AttributeError(f"{_shown_class(self)!r} object attribute '__dict__' is read-only")


def _shown_class(self: local) -> str:
    """The class as the interpreter names it in errors: with its module if it is its own."""
    return "_thread._local" if type(self) is local else type(self).__name__


def _named(error: AttributeError, self: local, name: str) -> AttributeError:
    """The error of an attribute that is not there. It must not say more than that of another class's property."""
    if type(self) is not local:
        return error
    return AttributeError(f"{_shown_class(self)!r} object has no attribute {name!r}", name=name, obj=self)


def like(real: Any) -> local:
    """Thread-local data of a model in place of a real one, with what the thread that imports has stored there."""
    made = local()
    values: dict[str, Any] = real.__dict__
    for name, value in values.items():
        setattr(made, name, value)
    return made


local.__module__ = RealLocal.__module__
local.__name__ = local.__qualname__ = RealLocal.__name__
