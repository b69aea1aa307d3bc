"""Telling apart what an event loop is asked to call: steps of tasks, asyncio's own messengers, anything else."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

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
_WAKING_TIMER = ("asyncio.futures", "_set_result_unless_cancelled")


def task_of(handle: Any) -> Any:
    """The task whose step a handle is, or None for a plain callback."""
    callback = handle._callback
    owner = getattr(callback, "__self__", None)
    return owner if isinstance(owner, PythonTask) and callback.__name__ in ("__step", "__wakeup") else None


def wakes_a_sleeper(timer: Any) -> bool:
    """Whether the timer is that of an asyncio.sleep."""
    return _origin(timer) == _WAKING_TIMER


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


def only_counts(handle: Any) -> bool:
    """Whether the callback only notes that one of several things has ended that somebody waits for, so that nothing is
    scheduled and nobody can tell when it is done.
    """
    origin = _origin(handle)
    if origin == ("asyncio.taskgroups", "TaskGroup._on_task_done"):
        task = handle._args[0]
        return len(handle._callback.__self__._tasks) > 1 and (task.cancelled() or task._exception is None)
    if origin == ("asyncio.tasks", "gather.<locals>._done_callback"):
        kept = _kept(handle._callback)
        return _and_more(kept, "nfinished", "nfuts") and (
            kept.get("return_exceptions") is True or _succeeded(handle._args[0])
        )
    if origin == ("asyncio.tasks", "_wait.<locals>._on_completion"):
        kept = _kept(handle._callback)
        wanted = kept.get("return_when")
        return kept.get("counter", 0) > 1 and (
            wanted == asyncio.ALL_COMPLETED
            or (wanted == asyncio.FIRST_EXCEPTION and _succeeded(handle._args[0]))
        )
    return False


def _succeeded(future: Any) -> bool:
    return not future.cancelled() and future._exception is None


def _and_more(kept: dict[str, Any], ended: str, all_of_them: str) -> bool:
    """Whether something is left to wait for after this; not if asyncio has other names for its counters."""
    return ended in kept and all_of_them in kept and kept[ended] + 1 < kept[all_of_them]


def _kept(function: Any) -> dict[str, Any]:
    """The variables that an inner function shares with the function that has made it, as far as they are bound."""
    names: tuple[str, ...] = function.__code__.co_freevars
    found: dict[str, Any] = {}
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            found[name] = cell.cell_contents
    return found
