"""asyncio's objects, which are made for the tasks of one thread.

Their code runs unseen: the tasks of a thread take turns, so that nothing comes between. What another thread does to
such an object is not seen either, which the report says.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import asyncio.coroutines
import functools
import inspect
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
_ENTERED = ("__aenter__", "__aexit__")
# What these give never changes.
_CONSTANT = ("get_context", "get_coro", "get_loop")
# Objects that such an object uses for itself.
_INNER = {"Queue": "_finished", "Barrier": "_cond"}


def patch_classes(patches: PatchSet) -> None:
    """Have every public method of asyncio's objects say who uses them."""
    owners: list[Any] = [*(getattr(asyncio, name) for name in _CLASSES), PythonFuture, PythonTask]
    for owner in owners:
        namespace: dict[str, Any] = owner.__dict__
        for name, value in list(namespace.items()):
            public = name in _ENTERED or not name.startswith("_")
            if isinstance(value, FunctionType) and public and name not in _CONSTANT:
                patches.replace(owner, name, _noting(value))
    for name, inner in _INNER.items():
        owner: Any = getattr(asyncio, name)
        patches.replace(owner, "__init__", _making(owner.__init__, inner))


def note_use(owner: Any) -> None:
    """A thread uses an object: the verdict rests on an assumption if another one has used it and may still run."""
    host = current.active_host()
    if host is None or "dpor_inner" in owner.__dict__:
        return
    execution: Execution | None = host.current_thread().dpor_execution
    thread = host.current_index()
    known: tuple[Execution | None, int] | None = owner.__dict__.get("dpor_user")
    if known is not None and known[0] is execution and known[1] != thread and not host.is_finished(known[1]):
        kind = next(class_ for class_ in type(owner).__mro__ if class_.__module__.startswith("asyncio."))
        host.assume(AssumptionKind.THREAD_UNSAFE.value, f"asyncio.{kind.__name__}")
    if known is None or known != (execution, thread):
        owner.__dict__["dpor_user"] = (execution, thread)


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        note_use(self)
        return function(self, *args, **kwargs)

    if inspect.iscoroutinefunction(function):
        _mark(call)
    return call


def _making(init: Callable[..., None], inner: str) -> Callable[..., None]:
    @functools.wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        vars(self)[inner].dpor_inner = True

    return make


def _mark(function: Any) -> None:
    """Let a function pass for one that gives coroutines, as the one does that it calls."""
    mark = getattr(inspect, "markcoroutinefunction", None)
    if mark is not None:
        mark(function)
    else:
        function._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
