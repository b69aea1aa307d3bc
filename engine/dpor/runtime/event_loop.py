"""The asyncio event loop inside a model.

A loop runs in one thread, and so does ours: in the model thread that runs it, which keeps what is true of tasks (they
share the thread's identity, its locals and the re-entrancy of its locks; a lock held across an await blocks the whole
loop). What is explored is when timers are over, what other threads do meanwhile, and as far as the option `task_order`
asks for it the order of what is ready (`turns.py`). Steps between two awaits are atomic towards other tasks and
interleave freely with other threads, through the operations that they perform.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportUntypedBaseClass=false, reportPrivateUsage=false
# asyncio's base loop is made to be derived from, but its stubs leave out the protected methods.

from __future__ import annotations

import asyncio
import asyncio.base_events
import heapq
import math
import queue
import sys
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from dpor.instrument.tracebacks import leave_out_own_frames
from dpor.runtime import current
from dpor.runtime.callbacks import only_counts, owner_of_group, task_of, wakes_a_sleeper
from dpor.runtime.clock import look_at_clock
from dpor.runtime.decision_texts import cancelling, ending
from dpor.runtime.decisions import Decision
from dpor.runtime.execution import Execution
from dpor.runtime.handles import ModelHandle, ModelTimerHandle
from dpor.runtime.loop_methods import note_users, refuse_network
from dpor.runtime.makers import Maker
from dpor.runtime.ready_queue import note_added
from dpor.runtime.tasks import ModelFuture, is_pending
from dpor.runtime.thread import Thread
from dpor.runtime.thread_bound import note_use
from dpor.runtime.turn_events import Unseen, leave_turns, note_access, note_timer, number_of
from dpor.runtime.turns import Scheduled, comes_before, turns_of

if TYPE_CHECKING:
    from dpor._kernel import Host


# Code that looks at a loop's time to schedule for it.
_OF_LOOPS = ("asyncio.", "dpor.")
_READING = 2.0**-24
"""Seconds from one reading of the clock to the next."""


class EventLoop(asyncio.base_events.BaseEventLoop):
    """An event loop of a model; made inside an execution, dropped with it."""

    # Who looks into one looks at what its code changes unseen.
    dpor_thread_bound = True
    dpor_keeps_unseen = True

    _ready: Any
    _scheduled: list[Any]
    _stopping: bool
    _closed: bool
    _thread_id: int | None
    _exception_handler: Any
    _default_executor: Any
    _asyncgens: Any

    def __init__(self, host: Host) -> None:
        host.outside_predicates("makes an event loop")
        self._debugging = False
        super().__init__()
        # What asyncio's loop does in debug mode by itself.
        self._debug = False
        self._host = host
        execution: Execution = host.current_thread().dpor_execution
        self.dpor_execution = execution
        self._inbox: queue.SimpleQueue[asyncio.Handle] = queue.SimpleQueue()  # controlled: this is a model
        self._turns = turns_of(execution.task_order)
        self._timers: list[Scheduled] = []
        self._readings = 0
        self._aborted: BaseException | None = None
        self._runner: Thread | None = None
        self.dpor_tasks: list[Any] = []
        # The number of the task that makes a step, or 0.
        self.dpor_activity = 0
        # Whoever runs now: what is made is numbered by it, and so in one way wherever its turn comes.
        self._maker = Maker()
        self._unseen = Unseen()
        self._may_take_turns = host.may_take_turns()
        self._wakes = False
        execution.loops.append(self)

    def __del__(self, *_: object) -> None:
        """An execution that is given up leaves its loops open; that is nobody's mistake."""

    def time(self) -> float:
        """The time of the model, a little later with each reading, so that two timers have the same only if both were
        made from one reading.
        """
        asking: str = sys._getframe(1).f_globals.get("__name__", "")  # pyright: ignore[reportPrivateUsage]
        if not asking.startswith(_OF_LOOPS) and self._host.active:
            look_at_clock(self._host, "loop.time")
        elif asking != "asyncio.base_events" and self.takes_turns:
            # Not only to make a timer.
            self._host.touch_clock()
        self._readings += 1
        return super().time() + self._readings * _READING

    # Making and scheduling

    def create_future(self) -> Any:
        """A future of this loop."""
        return ModelFuture(loop=self)

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Any = None) -> asyncio.Handle:
        """Schedule a callback; RuntimeError from another thread, where the standard loop silently may not wake."""
        self._host.outside_predicates("schedules a callback")
        if context is not None and not _asks_for_asyncio(sys._getframe(1)):
            leave_turns()
        self._check_closed()
        self._check_thread()
        # What another thread has posted by now comes before it.
        self.receive()
        return self._call_soon(callback, args, context)

    def call_at(
        self, when: float | None, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> Any:
        """Schedule a callback for a time, which may come at any moment unless it is infinite; checks as `call_soon`."""
        self._host.outside_predicates("schedules a callback")
        if context is not None:
            # asyncio's own timers have none.
            leave_turns()
        self._check_thread()
        if when is None:
            raise TypeError("when cannot be None")
        self._check_closed()
        timer = ModelTimerHandle(when, callback, args, self, context)
        timer.dpor_maker = self._maker.next_maker()
        if when == math.inf:
            return timer
        if self._may_take_turns and self._host.may_take_turns():
            self._make_turn_of(timer)
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        self._timers.append(Scheduled(timer, self._turns.round))
        return timer

    def _make_turn_of(self, timer: ModelTimerHandle) -> None:
        """Let the callback of a timer be a turn of its own."""
        if wakes_a_sleeper(timer):
            timer.dpor_number = self._host.make_timer(None)
            # Whoever ends the future ends the timer.
            timer._args[0].dpor_timer = timer.dpor_number
        else:
            before = [scheduled.timer for scheduled in self.timers() if comes_before(scheduled.timer, timer)]
            timer.dpor_number = self._host.make_timer([other.dpor_number for other in before])
        self._host.touch_ready(False)

    def call_soon_threadsafe(self, callback: Callable[..., Any], *args: Any, context: Any = None) -> Any:
        """Schedule a callback from any thread."""
        self._host.outside_predicates("schedules a callback")
        if self._is_own_thread():
            self._check_closed()
            return self._call_soon(callback, args, context)
        handle = ModelHandle(callback, args, self, context)
        self._inbox.put(handle)
        # After the visible operation, so that closing the loop before it and after it are told apart.
        self._check_closed()
        return handle

    def _call_soon(self, callback: Callable[..., Any], args: Any, context: Any) -> asyncio.Handle:
        handle = ModelHandle(callback, args, self, context)
        if not self._wakes and self.takes_turns:
            note_added(self._host, handle, self._ready)
        self._ready.append(handle)
        return handle

    def _is_own_thread(self) -> bool:
        if self._thread_id is not None:
            return self._thread_id == self._host.current_index()
        return not self.dpor_execution.threads

    def _check_thread(self) -> None:
        if self._thread_id is not None and self._thread_id != self._host.current_index():
            raise RuntimeError(
                "Non-thread-safe operation invoked on an event loop other than the current one"
            )

    # Running

    def run_forever(self) -> None:
        """Serve callbacks until `stop` is called."""
        self._check_closed()
        self._check_running()
        if self._aborted is not None:
            self._discard()
            raise self._aborted
        thread: Thread = self._host.current_thread()
        hooks = sys.get_asyncgen_hooks()
        try:
            self._thread_id = self._host.current_index()
            self._runner = thread
            sys.set_asyncgen_hooks(
                firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook
            )
            thread.dpor_running_loop = self
            while True:
                # Also if stop() was called before the start: what is scheduled by now still runs.
                self._turns.serve(self)
                if self._stopping:
                    break
            if self.takes_turns:
                self._unseen.note_advanced()
                # What another loop does is no time for these.
                for scheduled in self.timers():
                    note_timer(scheduled.timer.dpor_number)
        except current.Abort as abort:
            self._aborted = abort
            self._discard()
            raise
        finally:
            self._stopping = False
            self._thread_id = None
            thread.dpor_running_loop = None
            sys.set_asyncgen_hooks(*hooks)

    def _discard(self) -> None:
        """Close what the tasks were doing, when the loop is closed or the execution given up.

        Left to the garbage collector, their `finally` blocks would run in the middle of a later execution.
        """
        for task in self.dpor_tasks:
            if is_pending(task):
                task._log_destroy_pending = False
                try:
                    task.get_coro().close()
                except current.Abort:
                    if self._aborted is None:
                        raise
                except BaseException:
                    # As when the garbage collector closes it: nobody is there to take the exception.
                    continue

    # What those ask who take turns

    @property
    def ready(self) -> deque[Any]:
        """The callbacks that are ready, the oldest first."""
        return self._ready

    @property
    def has_ready(self) -> bool:
        """Whether a callback is ready that nobody has cancelled."""
        while self._ready and self._is_cancelled(self._ready[0]):
            self._ready.popleft()
        return bool(self._ready)

    @property
    def is_stopping(self) -> bool:
        """Whether the loop ends after this round."""
        return self._stopping

    def timers(self) -> list[Scheduled]:
        """The timers that are not over, in the order in which they were scheduled; without those of sleepers that have
        been woken otherwise, whose end nobody can tell.
        """
        self._timers = [
            scheduled
            for scheduled in self._timers
            if not self._is_cancelled(scheduled.timer)
            and not (wakes_a_sleeper(scheduled.timer) and not is_pending(scheduled.timer._args[0]))
        ]
        return self._timers

    def _is_cancelled(self, handle: Any) -> bool:
        if self.dpor_execution.threads:
            note_use(handle)
        return handle._cancelled

    def choose(self, number: int, describe: Callable[[int], str]) -> int:
        """One of the numbers below `number`, all of which are explored; `describe` says what one stands for."""
        if number < 2:
            return 0
        return self._host.choose(number, lambda chosen: Decision.of(chosen, describe(chosen)))

    @property
    def takes_turns(self) -> bool:
        """Whether the turns of the loop are events."""
        return self._may_take_turns and self._host.takes_turns()

    def decide(self, timers: list[Any], is_early: Callable[[Scheduled], bool], may_go_on: bool) -> int:
        """Who goes next: the loop itself with what is ready, if it may, one of the timers, by its position among these,
        or a task that is cancelled, behind them. For a timer that `is_early` too few rounds have begun.
        """
        if not self.takes_turns:
            tasks = self.cancellable()
            return self.choose(
                may_go_on + len(timers) + len(tasks),
                lambda chosen: self._describe(timers, tasks, chosen - may_go_on),
            )
        self._unseen.note_advanced()
        waiting = [scheduled.timer.dpor_number for scheduled in self.timers() if is_early(scheduled)]
        return self._host.next_turn([timer.dpor_number for timer in timers], waiting, may_go_on)

    def _describe(self, timers: list[Any], tasks: list[Any], position: int) -> str:
        if position < 0:
            return "lets no timer end before what is ready"
        if position < len(timers):
            return ending(timers[position], self.dpor_tasks)
        return cancelling(tasks[position - len(timers)])

    def decide_between_equals(self, timers: list[Any]) -> int:
        """Which of the timers goes next that are over at the same time."""
        self._host.leave_turns()
        return self.choose(len(timers), lambda chosen: ending(timers[chosen], self.dpor_tasks))

    def cancellable(self) -> list[Any]:
        """The tasks that may be cancelled now although nobody asks for it."""
        return self.dpor_execution.cancellations.candidates(self)

    def cancel_task(self, task: Any) -> None:
        """Cancel a task that nobody has asked to cancel."""
        self.dpor_execution.cancellations.make(task)

    def wait(self) -> None:
        """Wait until another thread posts something."""
        if self.takes_turns:
            self._host.turns_are_stuck()
        self._ready.append(self._inbox.get())

    def receive(self) -> None:
        """Take what other threads have posted."""
        while self.dpor_execution.threads:
            try:
                self._ready.append(self._inbox.get_nowait())
            except queue.Empty:
                return

    def fire(self, timer: Any) -> None:
        """Let a timer's time come."""
        # By identity: timers with the same time and callback are equal.
        self._timers = [other for other in self._timers if other.timer is not timer]
        self._scheduled = [other for other in self._scheduled if other is not timer]
        timer._scheduled = False
        late = timer.when() - super().time()
        if late > 0:
            self._host.advance_time(late)
        before = len(self._ready)
        maker, self._maker = self._maker, timer.dpor_maker
        try:
            self._wakes = wakes_a_sleeper(timer)
            try:
                self.run_handle(timer)
            finally:
                wakes, self._wakes = self._wakes, False
            if wakes and len(self._ready) == before + 1:
                # A sleeper that wakes and then waits for its turn is no different from one that sleeps on.
                self.run_handle(self._ready.pop())
            elif wakes and len(self._ready) > before and self.takes_turns:
                self._host.touch_ready(True)
        finally:
            self._maker = maker

    def run_handle(self, handle: Any) -> None:
        """Run a callback, unless it is cancelled."""
        if self._is_cancelled(handle):
            return
        task = task_of(handle)
        if self.takes_turns:
            self._note_run(handle, task)
        thread: Thread = self._host.current_thread()
        thread.dpor_lane = None if task is None else task._name
        # Tasks of a class that the model has not got from asyncio as `Task` count as the loop's own callbacks.
        self.dpor_activity = getattr(task, "dpor_hash", 0)
        self._host.enter_lane(self.dpor_activity)
        try:
            handle._context.run(self._host.callee(handle._callback), *handle._args)
        except Exception as error:
            self.note_control()
            leave_out_own_frames(error)
            self.call_exception_handler(
                {
                    "message": f"Exception in callback {handle._callback!r}",
                    "exception": error,
                    "handle": handle,
                }
            )
        finally:
            thread.dpor_lane = None
            self.dpor_activity = 0
            self._host.enter_lane(0)
        if task is not None and isinstance(task._exception, current.Abort):
            raise task._exception

    def note_coroutine(self, coroutine: Any, note: Callable[[], None]) -> None:
        """A method of one of asyncio's objects has made a coroutine; `note` tells of its use of the object."""
        if self._may_take_turns:
            self._unseen.add(coroutine, note)

    def note_tasks(self) -> None:
        """The model asks which tasks there are that have not ended."""
        if not self.takes_turns:
            return
        self._host.touch_ready(False)
        for task in self.dpor_tasks:
            note_access(task, "done")

    def note_control(self) -> None:
        """The model changes how the loop runs, or asks."""
        if self.takes_turns:
            self._host.touch_ready(True)

    @property
    def dpor_maker(self) -> Maker:
        """Whoever runs now."""
        return self._maker

    def _note_run(self, handle: Any, task: Any) -> None:
        """A callback runs in a turn that is an event: the step of a task, if there is one."""
        if task is not None:
            self._host.touch_object(number_of(self._host, task), True)
        elif getattr(handle._callback, "__self__", None) is self:
            self.note_control()
        elif not only_counts(handle):
            group = owner_of_group(handle)
            if group is not None:
                self._host.touch_group(number_of(self._host, group))

    # Failures

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Fail with an exception that nobody handles, where the standard loop logs it, and go on as that does.

        What a task says when it is destroyed is left out: `raise_unretrieved` looks for results that nobody took.
        """
        if self.takes_turns:
            self._host.touch_ready(True)
        error = context.get("exception")
        if isinstance(error, BaseException) and "never retrieved" not in str(context.get("message")):
            self._host.fail(error)

    def fails_with(self, ending: Thread) -> bool:
        """Whether it is for a thread that ends to raise what tasks of the loop failed with and nobody has asked for.

        It is for the thread that has run the loop, after all code that could catch it. Daemons need not end, so that
        it is for the main thread to look at their loops.
        """
        runner = self._runner
        is_main = ending is self.dpor_execution.main
        return runner is ending or (is_main and (runner is None or runner._daemonic))

    def raise_unretrieved(self) -> None:
        """Raise the exception of a task that failed and whose result nobody has asked for."""
        for task in self.dpor_tasks:
            if task._log_traceback:
                raise task.exception()

    def close(self) -> None:
        """Close the loop, and what its tasks were doing."""
        if not self._closed and self.dpor_execution.threads:
            # Visible, so that a thread may be found posting to the loop before and after it is closed.
            self._inbox.qsize()
        super().close()
        self._discard()

    def waits_at(self, target: object) -> bool:
        """Whether a thread that waits at `target` is one that runs this loop and finds nothing to do."""
        return target is self._inbox

    def suspended_tasks(self) -> list[Any]:
        """The tasks that have not ended."""
        return [task for task in self.dpor_tasks if is_pending(task)]

    # Executors

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for the default executor's threads to end, without a limit."""
        del timeout
        self._executor_shutdown_called = True
        if self._default_executor is None:
            return
        future = self.create_future()
        thread = Thread(target=self._do_shutdown, args=(future,))
        thread.start()
        try:
            await future
        finally:
            thread.join()

    def _do_shutdown(self, future: Any) -> None:
        try:
            self._default_executor.shutdown(wait=True)
        except Exception as error:
            self.call_soon_threadsafe(future.set_exception, error)
        else:
            self.call_soon_threadsafe(future.set_result, None)

    def set_debug(self, enabled: bool) -> None:
        """Say whether debug mode is on. It changes nothing else: what it measures is real time, and what it checks of
        threads is always checked here.
        """
        self._debugging = enabled

    def get_debug(self) -> bool:
        """Whether debug mode is on."""
        return self._debugging

    def add_signal_handler(self, *args: Any, **kwargs: Any) -> None:
        """NotImplementedError, as where the platform has no signals."""
        raise NotImplementedError


def _asks_for_asyncio(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("asyncio.")


note_users(EventLoop)
refuse_network(EventLoop)
