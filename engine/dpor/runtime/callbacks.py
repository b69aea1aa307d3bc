"""Telling apart what an event loop is asked to call: steps of tasks, asyncio's own messengers, anything else."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, NamedTuple

from dpor.runtime.tasks import PythonTask

# Callbacks that only hand a result on to somebody who then may run at any later moment.
_FORWARDING = frozenset(
    {
        ("asyncio.tasks", "_release_waiter"),
        ("asyncio.tasks", "gather.<locals>._done_callback"),
        ("asyncio.tasks", "_wait.<locals>._on_completion"),
        ("asyncio.tasks", "as_completed.<locals>._on_completion"),
        ("asyncio.tasks", "_AsCompletedIterator._handle_completion"),
        ("asyncio.tasks", "run_coroutine_threadsafe.<locals>.callback"),
        ("asyncio.tasks", "shield.<locals>._inner_done_callback"),
        ("asyncio.tasks", "shield.<locals>._outer_done_callback"),
        ("asyncio.futures", "_set_result_unless_cancelled"),
        ("asyncio.futures", "_chain_future.<locals>._set_state"),
        ("asyncio.taskgroups", "TaskGroup._on_task_done"),
    }
)
_ENDS_IN_TASK_GROUP = ("asyncio.taskgroups", "TaskGroup._on_task_done")
_ENDS_IN_GATHER = ("asyncio.tasks", "gather.<locals>._done_callback")
_ENDS_IN_WAIT = ("asyncio.tasks", "_wait.<locals>._on_completion")
_WAKING_TIMER = ("asyncio.futures", "_set_result_unless_cancelled")


def task_of(handle: Any) -> Any:
    """The task whose step a handle is, or None for a plain callback."""
    callback = handle._callback
    owner = getattr(callback, "__self__", None)
    return owner if isinstance(owner, PythonTask) and callback.__name__ in ("__step", "__wakeup") else None


def wakes_a_sleeper(timer: Any) -> bool:
    """Whether the timer is that of an asyncio.sleep."""
    known: bool | None = timer.dpor_sleeps
    if known is None:
        known = timer.dpor_sleeps = _origin(timer) == _WAKING_TIMER
    return known


def _origin(handle: Any) -> tuple[str, str]:
    callback = handle._callback
    function = getattr(callback, "func", callback)
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


def is_forwarding(handle: Any) -> bool:
    """Whether the callback is one by which asyncio hands a result on, and nothing else."""
    origin = _origin(handle)
    if origin not in _FORWARDING:
        return False
    if origin[0] == "asyncio.taskgroups":
        # A task that failed makes its group cancel the others: when that happens matters.
        task = handle._args[0]
        return not task.cancelled() and task._exception is None
    return True


class Group(NamedTuple):
    """Several things that somebody waits for: an object that stands for them, and how many are left to be counted."""

    owner: Any
    left: int


def counted_group(handle: Any) -> Group | None:
    """The group of which the callback counts one that has ended, if that is all it does unless it is the last; None
    also if asyncio has other names for its counters.
    """
    origin = _origin(handle)
    if origin == _ENDS_IN_TASK_GROUP:
        group = handle._callback.__self__
        task = handle._args[0]
        return Group(group, len(group._tasks)) if _is_cancelled(task) or task._exception is None else None
    if origin == _ENDS_IN_GATHER:
        kept = _kept(handle._callback)
        counts = kept.get("return_exceptions") is True or _succeeded(handle._args[0])
        if counts and kept.keys() >= {"nfinished", "nfuts", "outer"}:
            return Group(kept["outer"], kept["nfuts"] - kept["nfinished"])
    if origin == _ENDS_IN_WAIT:
        kept = _kept(handle._callback)
        wanted = kept.get("return_when")
        counts = wanted == asyncio.ALL_COMPLETED or (
            wanted == asyncio.FIRST_EXCEPTION and _succeeded(handle._args[0])
        )
        if counts and kept.keys() >= {"counter", "waiter"}:
            return Group(kept["waiter"], kept["counter"])
    return None


def owner_of_group(handle: Any) -> Any:
    """What stands for the group of which the callback notes that one has ended, in whatever way; None for others."""
    origin = _origin(handle)
    if origin == _ENDS_IN_TASK_GROUP:
        return handle._callback.__self__
    if origin == _ENDS_IN_GATHER:
        return _kept(handle._callback).get("outer")
    return _kept(handle._callback).get("waiter") if origin == _ENDS_IN_WAIT else None


def is_same_counter(handle: Any, other: Any) -> bool:
    """Whether two callbacks count for the same group."""
    return handle._callback == other._callback


def only_counts(handle: Any) -> bool:
    """Whether the callback only notes that one of several things has ended that somebody waits for, so that nothing is
    scheduled and nobody can tell when it is done.
    """
    group = counted_group(handle)
    return group is not None and group.left > 1


def _succeeded(future: Any) -> bool:
    return not _is_cancelled(future) and future._exception is None


def _is_cancelled(future: Any) -> bool:
    """Not by its method: the loop asks, which is no use of the future."""
    return future._state == "CANCELLED"


def _kept(function: Any) -> dict[str, Any]:
    """The variables that an inner function shares with the function that has made it, as far as they are bound."""
    names: tuple[str, ...] = function.__code__.co_freevars
    found: dict[str, Any] = {}
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            found[name] = cell.cell_contents
    return found
