"""The tasks of a hosted model: what they are called, and where those stand that wait."""

# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from types import FrameType
from typing import Any

from dpor.counterexample.records import WaitingTask
from dpor.hosted import HostedModel

_DEFAULT_NAME = re.compile(r"Task-\d+")
# Where asyncio waits in a method of what the program waits for.
_PRIMITIVES = ("asyncio.locks", "asyncio.queues")


def task_name(task: Any) -> str:
    """What to call a task: the name that it was given, else its function."""
    # Not by the method: to ask for a name can be an operation of the model.
    name = str(getattr(task, "_name", None) or task.get_name())
    if not _DEFAULT_NAME.fullmatch(name):
        return name
    code = getattr(task.get_coro(), "__qualname__", name)
    return str(code).rpartition("<locals>.")[2]


def waiting_tasks(hosted: HostedModel, target: object) -> tuple[WaitingTask, ...] | None:
    """The tasks of the event loop that has nothing to do and waits at `target`; None if no event loop waits there.

    Those that do not wait for others come first.
    """
    execution = hosted.patches.main_thread.dpor_execution
    loops = execution.loops if execution is not None else []
    loop = next((loop for loop in loops if loop.waits_at(target)), None)
    if loop is None:
        return None
    tasks = tuple(_waiting(task) for task in loop.suspended_tasks())
    return tuple(sorted(tasks, key=lambda task: task.for_task is not None))


def _waiting(task: Any) -> WaitingTask:
    frames = tuple(_frames(task.get_coro()))[::-1]
    waiter = task._fut_waiter
    if hasattr(waiter, "get_coro"):
        return WaitingTask(task_name(task), frames, for_task=f"task {task_name(waiter)}")
    if hasattr(waiter, "_children"):
        return WaitingTask(task_name(task), frames, for_task="the tasks that it gathers")
    inner = next((frame for frame in frames if frame.f_globals.get("__name__") in _PRIMITIVES), None)
    return WaitingTask(
        task_name(task), frames, target=inner.f_locals.get("self") if inner is not None else None
    )


def _frames(coroutine: Any) -> Iterator[FrameType]:
    """The frames of a suspended coroutine and of what it awaits, from the outside."""
    while coroutine is not None:
        awaited: Any = None
        for frame, inner in (
            ("cr_frame", "cr_await"),
            ("gi_frame", "gi_yieldfrom"),
            ("ag_frame", "ag_await"),
        ):
            running = getattr(coroutine, frame, None)
            if running is not None:
                yield running
                awaited = getattr(coroutine, inner)
                break
        else:
            # A step of an asynchronous generator refers to it, and says so to nobody else.
            referents: list[Any] = gc.get_referents(coroutine)
            awaited = next((item for item in referents if hasattr(item, "ag_frame")), None)
        coroutine = awaited
