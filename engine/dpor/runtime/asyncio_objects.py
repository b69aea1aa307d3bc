"""asyncio's objects, which are made for the tasks of one thread: their methods say who uses them."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import asyncio.coroutines
import asyncio.futures
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import FrameSummary
from types import CellType, CodeType, FunctionType
from typing import Any

from dpor.runtime.makers import Maker
from dpor.runtime.patchset import PatchSet
from dpor.runtime.tasks import PythonFuture, PythonTask
from dpor.runtime.thread_bound import is_settled, note_use
from dpor.runtime.turn_events import (
    has_seen_comparison,
    is_value,
    leave_turns,
    note_access,
    note_group,
    note_made,
    note_result,
)

_CLASSES = ("Queue", "Event", "Lock", "Semaphore", "BoundedSemaphore", "Condition", "Barrier", "StreamReader")
_SPECIAL = ("__aenter__", "__aexit__", "__repr__", "__str__")
_RESULTS = ("exception", "result")
# What these give never changes.
_CONSTANT = ("get_coro", "get_loop")
# Objects that such an object uses for itself.
_INNER = {"Queue": "_finished", "Barrier": "_cond"}
_OWN = str(Path(__file__).parent)


def _are_values(*args: Any, **kwargs: Any) -> bool:
    return all(map(is_value, (*args, *kwargs.values())))


def _is_callback(callback: Any, *, context: Any = None) -> bool:
    """Whether a callback is compared with others by nothing that changes, and runs in a context of its own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("dpor."):
        frame = frame.f_back
    by_asyncio = str(frame.f_globals.get("__name__")).startswith("asyncio.")
    return by_asyncio or (context is None and has_seen_comparison(callback))


# What reads its arguments by code that runs unseen, and whether that tells nothing new.
_ARGUMENTS: Mapping[str, Callable[..., bool]] = {
    "_put": _are_values,
    "add_done_callback": _is_callback,
    "feed_data": _are_values,
    "readuntil": _are_values,
    "remove_done_callback": _is_callback,
    "set_name": _are_values,
}


def patch_classes(patches: PatchSet, turns: bool) -> None:
    """Have every public method of asyncio's objects say who uses them, and the kernel who looks into any of these. With
    `turns` it also says what it accesses.
    """
    owners: list[Any] = [*(getattr(asyncio, name) for name in _CLASSES), PythonFuture, PythonTask]
    for owner in owners:
        namespace: dict[str, Any] = owner.__dict__
        for name, value in list(namespace.items()):
            if (name.startswith("_") and name not in _SPECIAL) or name in _CONSTANT:
                continue
            note = note_result if name in _RESULTS else functools.partial(note_access, name=name)
            told = functools.partial(_telling, note=note) if turns else _plain
            if isinstance(value, FunctionType):
                patches.replace(owner, name, _noting(told(value)))
            elif isinstance(value, property) and value.fget is not None:
                patches.replace(owner, name, value.getter(_noting(told(value.fget))))
        if "__init__" in namespace:
            patches.replace(owner, "__init__", _making(namespace["__init__"], _INNER.get(owner.__name__)))
        patches.define(owner, "dpor_thread_bound", True)
    if turns:
        _tell_of_groups(patches)
        queue: Any
        for queue in (asyncio.Queue, asyncio.LifoQueue, asyncio.PriorityQueue):
            _tell_of_items(patches, queue)
        owner: Any
        for owner in (PythonTask, asyncio.Handle):
            if hasattr(owner, "get_context"):
                patches.replace(owner, "get_context", _telling(owner.get_context, _leaving))


def _tell_of_items(patches: PatchSet, queue: Any) -> None:
    """Methods that a class derived from a queue may have of its own, and call."""
    for name in ("_get", "_init", "_put"):
        if name == "_put" and queue is not asyncio.PriorityQueue:
            # Only that one compares what it holds.
            patches.replace(queue, name, _telling(getattr(queue, name), note_access, reads=False))
        elif name in vars(queue):
            patches.replace(queue, name, _telling(getattr(queue, name), note_access))


def _tell_of_groups(patches: PatchSet) -> None:
    limits = ("__aenter__", "__aexit__", "__repr__", "when", "reschedule", "expired", "_on_timeout")
    for owner, names, note in (
        (asyncio.TaskGroup, ("__aenter__", "__aexit__", "__repr__", "create_task"), note_group),
        (asyncio.Timeout, limits, note_access),
    ):
        for name in names:
            patches.replace(owner, name, _telling(getattr(owner, name), note))
        patches.replace(owner, "__init__", _numbering(owner.__init__))
        patches.define(owner, "dpor_thread_bound", True)
        patches.define(owner, "dpor_keeps_unseen", True)


def _leaving(_: Any) -> None:
    leave_turns()


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _noting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that says who uses its object."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_settled(self) and not _is_handing_over(sys._getframe(1).f_code):
            note_use(self)
        return function(self, *args, **kwargs)

    return alike(call, function)


def _numbering(init: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(init)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        _leave_if_known(self)
        init(self, *args, **kwargs)
        note_made(self)

    return make


def _leave_if_known(owner: Any) -> None:
    """An object is made, again if it was before."""
    if getattr(owner, "dpor_number", None) is not None:
        leave_turns()


def _telling(
    function: Callable[..., Any], note: Callable[[Any], None], *, reads: bool = True
) -> Callable[..., Any]:
    """A method that says what a turn accesses by it, and by its arguments if it reads them."""
    makes_coroutines = inspect.iscoroutinefunction(function)
    is_told = _ARGUMENTS.get(function.__name__) if reads else None

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(self)
        if is_told is not None and not is_told(*args, **kwargs):
            leave_turns()
        made = function(self, *args, **kwargs)
        if makes_coroutines:
            _note_coroutine(made, functools.partial(note, self))
        return made

    return alike(call, function)


def alike(stand_in: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Let the stand-in pass for one that gives coroutines if the function gives some."""
    if inspect.iscoroutinefunction(getattr(function, "__wrapped__", function)):
        mark = getattr(inspect, "markcoroutinefunction", None)
        if mark is not None:
            mark(stand_in)
        else:
            marked: Any = stand_in
            marked._is_coroutine = getattr(asyncio.coroutines, "_is_coroutine", None)
    return stand_in


def _note_coroutine(coroutine: Any, note: Callable[[], None]) -> None:
    loop: Any = asyncio._get_running_loop()
    if isinstance(getattr(loop, "dpor_maker", None), Maker):
        loop.note_coroutine(coroutine, note)
    else:
        # Nobody would see it go on.
        leave_turns()


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
        _leave_if_known(self)
        init(self, *args, **kwargs)
        note_made(self)
        own: dict[str, Any] = self.__dict__
        made_by: list[FrameSummary] | None = own.get("_source_traceback")
        if made_by:
            # What debug mode shows of where it was made.
            made_by[:] = [entry for entry in made_by if not entry.filename.startswith(_OWN)]
        if inner is not None:
            own[inner].dpor_inner = True

    return make


def gathering_future(owner: Any, base: Any) -> Any:
    """The class of what `gather` gives, derived from our class of futures in the place of the one in C."""
    made = _derived_anew(owner, base)
    made.cancel = _telling(made.cancel, note_group)
    return made


def _derived_anew(owner: Any, base: Any) -> Any:
    cell = CellType()
    namespace: dict[str, Any] = {}
    for name, value in owner.__dict__.items():
        if name in ("__dict__", "__weakref__"):
            continue
        if isinstance(value, FunctionType) and "__class__" in value.__code__.co_freevars:
            # What `super()` goes by.
            function = FunctionType(
                value.__code__, value.__globals__, value.__name__, value.__defaults__, (cell,)
            )
            function.__kwdefaults__ = value.__kwdefaults__
            function.__qualname__ = value.__qualname__
            namespace[name] = function
        else:
            namespace[name] = value
    made = type(owner.__name__, (base,), namespace)
    made.__qualname__ = owner.__qualname__
    cell.cell_contents = made
    return made
