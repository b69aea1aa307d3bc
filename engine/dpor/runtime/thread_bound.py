"""Objects that threads use one at a time: those of asyncio, and text files that are read.

The code of asyncio runs unseen: the tasks of a thread take turns, so that nothing comes between. So does the code in
Python that decodes what is read of a text file. What another thread does to such an object meanwhile is not seen,
which the report says.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import asyncio.coroutines
import functools
import inspect
import io
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from dpor.results import AssumptionKind
from dpor.runtime import current
from dpor.runtime.patchset import PatchSet
from dpor.runtime.tasks import PythonFuture, PythonTask

if TYPE_CHECKING:
    from dpor.runtime.execution import Execution

_CLASSES = ("Queue", "Event", "Lock", "Semaphore", "BoundedSemaphore", "Condition", "Barrier")
_SPECIAL = ("__aenter__", "__aexit__", "__repr__", "__str__")
# What these give never changes.
_CONSTANT = ("get_context", "get_coro", "get_loop", "_loop")
# Objects that such an object uses for itself.
_INNER = {"Queue": "_finished", "Barrier": "_cond"}


def patch_classes(patches: PatchSet) -> None:
    """Have every public method of asyncio's objects say who uses them, and the kernel who looks into any of these."""
    owners: list[Any] = [*(getattr(asyncio, name) for name in _CLASSES), PythonFuture, PythonTask]
    for owner in owners:
        namespace: dict[str, Any] = owner.__dict__
        for name, value in list(namespace.items()):
            public = name in _SPECIAL or not name.startswith("_")
            if isinstance(value, FunctionType) and public and name not in _CONSTANT:
                patches.replace(owner, name, _noting(value))
        if "__init__" in namespace:
            patches.replace(owner, "__init__", _making(namespace["__init__"], _INNER.get(owner.__name__)))
        patches.define(owner, "dpor_thread_bound", True)


def note_use(owner: Any) -> None:
    """A thread uses an object: the verdict rests on an assumption if another one has used it and may still run, unless
    both held the same lock.
    """
    host = current.active_host()
    if host is None or getattr(owner, "dpor_inner", False):
        return
    execution: Execution | None = host.current_thread().dpor_execution
    thread = host.current_index()
    # The locks that each thread has held in every use of it.
    known: tuple[Execution | None, dict[int, frozenset[int]]] = getattr(owner, "dpor_users", (None, {}))
    users = known[1] if known[0] is execution else {}
    before = users.get(thread)
    if before is not None and not before:
        return
    held = frozenset(host.held_locks())
    locks = held if before is None else held & before
    if locks == before:
        return
    users[thread] = locks
    owner.dpor_users = (execution, users)
    if any(
        other != thread and not (locks & theirs) and not host.is_finished(other)
        for other, theirs in users.items()
    ):
        host.assume(AssumptionKind.THREAD_UNSAFE.value, _standard_name(owner))


def _standard_name(owner: object) -> str:
    for base in type(owner).__mro__:
        package = base.__module__.partition(".")[0].lstrip("_")
        if package in ("asyncio", "io"):
            return f"{package}.{base.__name__}"
    raise TypeError(owner)


def note_look(owner: Any, name: str | None) -> None:
    """A thread looks into an object past its methods, at an attribute or at all of it."""
    if name not in _CONSTANT and not _only_encodes(owner):
        note_use(owner)


def _only_encodes(owner: Any) -> bool:
    # What is written is encoded in C.
    return isinstance(owner, io.TextIOWrapper) and not owner.closed and not owner.readable()


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        note_use(self)
        return function(self, *args, **kwargs)

    if inspect.iscoroutinefunction(function):
        _mark(call)
    return call


def _making(init: Callable[..., None], inner: str | None) -> Callable[..., None]:
    @functools.wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        # Who makes it is no user of it yet.
        if vars(self):
            note_use(self)
        init(self, *args, **kwargs)
        if inner is not None:
            vars(self)[inner].dpor_inner = True

    return make


def _mark(function: Any) -> None:
    """Let a function pass for one that gives coroutines, as the one does that it calls."""
    mark = getattr(inspect, "markcoroutinefunction", None)
    if mark is not None:
        mark(function)
    else:
        function._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
