"""Telling apart what an event loop is asked to call: steps of tasks, asyncio's own messengers, anything else."""

from __future__ import annotations

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
