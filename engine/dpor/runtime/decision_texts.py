"""What an event loop decides, in words."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from dpor.runtime.callbacks import task_of, wakes_a_sleeper


def ending(timer: asyncio.TimerHandle, tasks: Iterable[Any]) -> str:
    """That a timer is over, which one of the `tasks` may be waiting for."""
    if wakes_a_sleeper(timer):
        callback: Any = timer
        future = callback._args[0]
        sleeper = next((task for task in tasks if task._fut_waiter is future), None)
        return "lets a sleep end" if sleeper is None else f"lets the sleep of {name_of(sleeper)} end"
    owner = getattr(getattr(timer, "_callback", None), "__self__", None)
    if isinstance(owner, asyncio.Timeout):
        limited: Any = owner
        return f"lets the time limit of {name_of(limited._task)} run out"
    return f"lets the timer of {_called(timer)} end"


def going_on(handle: Any) -> str:
    """That a callback that is ready comes next."""
    task = task_of(handle)
    return f"goes on with {_called(handle) if task is None else name_of(task)}"


def cancelling(task: Any) -> str:
    """That a task is cancelled."""
    return f"cancels {name_of(task)}"


def name_of(task: Any) -> str:
    """The name of a task, which to ask for is no use of it by the model."""
    return str(task._name)


def _called(handle: Any) -> str:
    callback = handle._callback
    return str(getattr(callback, "__qualname__", None) or type(callback).__name__)
