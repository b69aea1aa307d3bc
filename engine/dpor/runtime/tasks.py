"""The futures and tasks of a model: asyncio's pure-Python ones, with a place in sets that is always the same."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false, reportUnknownArgumentType=false
# asyncio's pure-Python classes are not in its stubs.

from __future__ import annotations

import asyncio
import asyncio.events
import asyncio.futures
import asyncio.tasks
import sys
from types import FrameType
from typing import Any

from dpor.instrument.tracebacks import leave_out_own_frames
from dpor.runtime import current
from dpor.runtime.makers import Maker
from dpor.runtime.turn_events import is_value, leave_turns, note_made, note_timer

_MAKING = ("asyncio.base_events", "asyncio.tasks", "dpor.runtime.loop_methods", "dpor.runtime.tasks")

PythonTask: Any = asyncio.tasks._PyTask
PythonFuture: Any = asyncio.futures._PyFuture

# What the futures in C say, in place of the texts of those in Python.
_HAS_NO_RESULT = ("Result is not set.",)
_HAS_ENDED = ("invalid state",)


def _loop_by_default() -> Any:
    """The loop of a task or a future that is given none."""
    events: Any = asyncio.events
    return getattr(events, "_get_event_loop", events.get_event_loop)()


class ModelFuture(PythonFuture):
    """A future whose place in a set does not depend on where it lies in memory. `dpor_timer` is the number of the timer
    that sets its result.
    """

    dpor_timer: int | None = None

    def __init__(self, *, loop: Any = None) -> None:
        _outside_predicates("makes a future")
        super().__init__(loop=loop)
        # A task has one already.
        if "dpor_hash" not in vars(self):
            self.dpor_hash = _next_hash(self._loop, self)
        note_made(self)

    def result(self) -> Any:
        """What the future has ended with."""
        try:
            return super().result()
        except asyncio.InvalidStateError as error:
            if error is not self._exception:
                error.args = _HAS_NO_RESULT
            raise

    def set_result(self, result: Any) -> None:
        """Mark the future as done."""
        _outside_predicates("sets the result of a future")
        note_timer(self.dpor_timer)
        try:
            super().set_result(result)
        except asyncio.InvalidStateError as error:
            error.args = _HAS_ENDED
            raise

    def set_exception(self, exception: Any) -> None:
        """Mark the future as failed."""
        _outside_predicates("sets the exception of a future")
        note_timer(self.dpor_timer)
        leave_out_own_frames(exception)
        try:
            super().set_exception(exception)
        except asyncio.InvalidStateError as error:
            error.args = _HAS_ENDED
            raise

    def cancel(self, *message: Any, **options: Any) -> bool:
        """Cancel the future."""
        _outside_predicates("cancels a future")
        note_timer(self.dpor_timer)
        # What a task ends with that is cancelled: it is kept before this is called.
        leave_out_own_frames(getattr(self, "_cancelled_exc", None))
        return super().cancel(*message, **options)

    def __hash__(self) -> int:
        return self.dpor_hash


class ModelTask(PythonTask, ModelFuture):
    """A task whose place in a set does not depend on where it lies in memory."""

    def __init__(self, coro: Any, *, loop: Any = None, **options: Any) -> None:
        _outside_predicates("makes a task")
        if options.get("context") is not None and not _is_run_by_asyncio():
            # Tasks of one context see what others set in it.
            leave_turns()
        if not is_value(options.get("name")):
            leave_turns()
        # Eager tasks run, and are put into sets, before the constructor returns.
        if loop is None:
            # If there is none, nobody is told later that this was no task.
            self._log_destroy_pending = False
            loop = _loop_by_default()
            del self._log_destroy_pending
        self.dpor_hash = _next_hash(loop, self)
        _note_started(coro, self.dpor_hash)
        super().__init__(coro, loop=loop, **options)
        made: list[Any] | None = getattr(self._loop, "dpor_tasks", None)
        if made is not None:
            made.append(self)

    def get_name(self) -> str:
        """The task's name, by default `Task-N`."""
        host = current.active_host()
        if host is not None:
            host.current_thread().dpor_execution.numbers.tasks.see(host)
        return super().get_name()

    def cancel(self, *message: Any, **options: Any) -> bool:
        """Cancel the task."""
        _outside_predicates("cancels a task")
        return super().cancel(*message, **options)


for _shown, _names in ((ModelFuture, "Future"), (ModelTask, "Task")):
    _shown.__name__ = _shown.__qualname__ = _names
    _shown.__module__ = getattr(asyncio, _names).__module__


def is_pending(future: Any) -> bool:
    """Whether a future has no result yet: asked by the loop itself, which is no use of the future by the model."""
    return future._state == asyncio.futures._PENDING


def _outside_predicates(what: str) -> None:
    host = current.active_host()
    if host is not None:
        host.outside_predicates(what)


def _is_run_by_asyncio() -> bool:
    """Whether a task is made by a `Runner`, which has a context for its tasks, one after the other."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") in _MAKING:
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "asyncio.runners"


def _note_started(coroutine: Any, task: int) -> None:
    host = current.active_host()
    if host is not None:
        host.note_started(coroutine, task)


def _next_hash(loop: Any, item: Any) -> int:
    # Loops that are not the model's run tasks too while a check lasts.
    maker: Maker | None = getattr(loop, "dpor_maker", None)
    return object.__hash__(item) if maker is None else maker.next_number()
