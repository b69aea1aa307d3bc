"""Calls of the library's code that runs unseen, in a turn of an event loop that is one event.

A turn has to tell all that it accesses. Code that computes from what it is given tells nothing more than that. Other
code is called here by name: what is not known to be harmless ends that turns are events.
"""

from __future__ import annotations

from types import FunctionType

from dpor.instrument.standard_library import computes_from_arguments, is_incurious
from dpor.runtime.turn_events import leave_turns

# Their objects tell of what is accessed by them (`turn_events.py`), and they access nothing else.
_OF_ASYNCIO = frozenset(
    {
        "asyncio.base_events.BaseEventLoop.call_later",
        "asyncio.base_events.BaseEventLoop.create_task",
        "asyncio.coroutines.iscoroutine",
        "asyncio.events.Handle.__init__",
        "asyncio.events.TimerHandle.when",
        "asyncio.events._py_get_event_loop",
        "asyncio.events._py_get_running_loop",
        "asyncio.events.get_event_loop",
        "asyncio.events.get_running_loop",
        "asyncio.events.new_event_loop",
        "asyncio.events.set_event_loop",
        "asyncio.exceptions.IncompleteReadError.__init__",
        "asyncio.exceptions.LimitOverrunError.__init__",
        "asyncio.futures.Future.__await__",
        "asyncio.futures.Future.__init__",
        "asyncio.futures.Future.get_loop",
        "asyncio.locks.Barrier._block.<locals>.<lambda>",
        "asyncio.locks.Barrier._wait.<locals>.<lambda>",
        "asyncio.locks._ContextManagerMixin.__aenter__",
        "asyncio.locks._ContextManagerMixin.__aexit__",
        "asyncio.runners.Runner.__init__",
        "asyncio.runners.Runner.__enter__",
        "asyncio.runners.Runner.__exit__",
        "asyncio.runners.Runner.close",
        "asyncio.runners.Runner.get_loop",
        "asyncio.runners.Runner.run",
        "asyncio.runners.run",
        "asyncio.tasks.Task.__init__",
        "asyncio.tasks._py_current_task",
        "asyncio.tasks._wrap_awaitable",
        "asyncio.tasks.as_completed",
        "asyncio.tasks.create_task",
        "asyncio.tasks.current_task",
        "asyncio.tasks.ensure_future",
        "asyncio.tasks.gather",
        "asyncio.tasks.shield",
        "asyncio.tasks.sleep",
        "asyncio.tasks.wait",
        "asyncio.tasks.wait_for",
        "asyncio.timeouts.timeout",
        "asyncio.timeouts.timeout_at",
    }
)

# What the loop itself runs, for others that tell of what they do.
_OF_LOOPS = frozenset(
    {
        "asyncio.base_events._run_until_complete_cb",
        "asyncio.futures._chain_future.<locals>._call_check_cancel",
        "asyncio.futures._chain_future.<locals>._call_set_state",
        "asyncio.futures._chain_future.<locals>._set_state",
        "asyncio.futures._set_result_unless_cancelled",
        "asyncio.taskgroups.TaskGroup._on_task_done",
        "asyncio.tasks.Task.__step",
        "asyncio.tasks.Task.__wakeup",
        "asyncio.tasks._AsCompletedIterator._handle_completion",
        "asyncio.tasks._AsCompletedIterator._handle_timeout",
        "asyncio.tasks._release_waiter",
        "asyncio.tasks._wait.<locals>._on_completion",
        "asyncio.tasks.as_completed.<locals>._on_completion",
        "asyncio.tasks.as_completed.<locals>._on_timeout",
        "asyncio.tasks.gather.<locals>._done_callback",
        "asyncio.tasks.shield.<locals>._inner_done_callback",
        "asyncio.tasks.shield.<locals>._outer_done_callback",
    }
)


# What gives no part of an object that somebody else changes.
_OF_DEFINITIONS = frozenset(
    {
        "cleandoc",
        "get_annotations",
        "getdoc",
        "getfile",
        "getfullargspec",
        "getmodule",
        "getmro",
        "getsource",
        "getsourcefile",
        "getsourcelines",
        "BoundArguments",
        "Parameter",
        "Signature",
        "signature",
        "unwrap",
    }
)


def note_call(function: FunctionType, in_turn: bool) -> None:
    """A function in Python is called that runs unseen, in a turn or before the first one. What is called before comes
    first in any order, but may give a part of an object.
    """
    module = str(function.__globals__.get("__name__"))
    top = module.partition(".")[0]
    if top == "dpor" or computes_from_arguments(top) or is_incurious(module, function.__qualname__):
        return
    if not in_turn:
        if top == "inspect" and function.__code__.co_qualname.partition(".")[0] not in _OF_DEFINITIONS:
            leave_turns()
        return
    name = f"{module}.{function.__code__.co_qualname}"
    if name not in _OF_ASYNCIO and name not in _OF_LOOPS:
        leave_turns()
