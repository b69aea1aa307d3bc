"""Cancellations of tasks that no code of the model asks for: those of the option `cancellations`.

A task can be cancelled at any await: by a client that goes away, a time limit further up or the end of a program. A
loop decides between its rounds, so between any two steps of tasks that are not ready at the same time: there it may
cancel one that awaits something.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpor.runtime.event_loop import EventLoop

# The callback by which a loop ends when what it runs for has.
_ENDS_LOOP = "_run_until_complete_cb"
_PENDING = "PENDING"


class Cancellations:
    """Those of one execution: how many are `left`, and how many were `made`."""

    __slots__ = ("left", "made")

    def __init__(self, left: int) -> None:
        self.left = left
        self.made = 0

    def candidates(self, loop: EventLoop) -> list[Any]:
        """The tasks of a loop that may be cancelled now, in the order in which they were made: each that awaits
        something and that the loop does not run for.
        """
        if self.left == 0:
            return []
        return [
            task
            for task in loop.dpor_tasks
            if task._state == _PENDING and _awaits(task) and not _is_root(task)
        ]

    def make(self, task: Any) -> None:
        """Cancel a task."""
        self.left -= 1
        self.made += 1
        task.cancel()


def _awaits(task: Any) -> bool:
    coroutine = task._coro
    if not inspect.iscoroutine(coroutine):
        return task._fut_waiter is not None
    return inspect.getcoroutinestate(coroutine) == inspect.CORO_SUSPENDED


def _is_root(task: Any) -> bool:
    return any(getattr(callback, "__name__", None) == _ENDS_LOOP for callback, _ in task._callbacks)
