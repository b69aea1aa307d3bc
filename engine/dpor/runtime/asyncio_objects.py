"""asyncio's objects, which are made for the tasks of one thread: their methods say who uses them."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import asyncio.coroutines
import asyncio.futures
import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from traceback import FrameSummary
from types import CodeType, FunctionType
from typing import Any

from dpor.runtime.patchset import PatchSet
from dpor.runtime.tasks import PythonFuture, PythonTask
from dpor.runtime.thread_bound import is_settled, note_use

_CLASSES = ("Queue", "Event", "Lock", "Semaphore", "BoundedSemaphore", "Condition", "Barrier")
_SPECIAL = ("__aenter__", "__aexit__", "__repr__", "__str__")
# What these give never changes.
_CONSTANT = ("get_context", "get_coro", "get_loop")
# Objects that such an object uses for itself.
_INNER = {"Queue": "_finished", "Barrier": "_cond"}
_OWN = str(Path(__file__).parent)


def patch_classes(patches: PatchSet) -> None:
    """Have every public method of asyncio's objects say who uses them, and the kernel who looks into any of these."""
    owners: list[Any] = [*(getattr(asyncio, name) for name in _CLASSES), PythonFuture, PythonTask]
    for owner in owners:
        namespace: dict[str, Any] = owner.__dict__
        for name, value in list(namespace.items()):
            if (name.startswith("_") and name not in _SPECIAL) or name in _CONSTANT:
                continue
            if isinstance(value, FunctionType):
                patches.replace(owner, name, _noting(value))
            elif isinstance(value, property) and value.fget is not None:
                patches.replace(owner, name, value.getter(_noting(value.fget)))
        if "__init__" in namespace:
            patches.replace(owner, "__init__", _making(namespace["__init__"], _INNER.get(owner.__name__)))
        patches.define(owner, "dpor_thread_bound", True)


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_settled(self) and not _is_handing_over(sys._getframe(1).f_code):
            note_use(self)
        return function(self, *args, **kwargs)

    if inspect.iscoroutinefunction(function):
        _mark(call)
    return call


def _is_handing_over(code: CodeType) -> bool:
    """Whether asyncio's code asks, in the thread of a pool, whether a future still waits for the result that it has.

    It then hands the result over to the thread of the loop.
    """
    return code.co_qualname.startswith("_chain_future.") and code.co_filename == asyncio.futures.__file__


def _making(init: Callable[..., None], inner: str | None) -> Callable[..., None]:
    @functools.wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        # Who makes it is no user of it yet.
        if vars(self):
            note_use(self)
        init(self, *args, **kwargs)
        own: dict[str, Any] = self.__dict__
        made_by: list[FrameSummary] | None = own.get("_source_traceback")
        if made_by:
            # What debug mode shows of where it was made.
            made_by[:] = [entry for entry in made_by if not entry.filename.startswith(_OWN)]
        if inner is not None:
            own[inner].dpor_inner = True

    return make


def _mark(function: Any) -> None:
    """Let a function pass for one that gives coroutines, as the one does that it calls."""
    mark = getattr(inspect, "markcoroutinefunction", None)
    if mark is not None:
        mark(function)
    else:
        function._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
