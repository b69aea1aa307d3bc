"""The orders in which an event loop of a model serves what is ready: what is explored of asyncio."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dpor.options import TaskOrder
from dpor.runtime.callbacks import is_forwarding, only_counts, task_of, wakes_a_sleeper
from dpor.runtime.decision_texts import cancelling, ending, going_on

if TYPE_CHECKING:
    from dpor.runtime.event_loop import EventLoop


_ROUNDS_OF_A_TIMER = 1
_ROUNDS_OF_A_SLEEPER = 2
"""From the round in which a timer is scheduled to the first that can end with its callback, or what that wakes."""


class Scheduled(NamedTuple):
    """A timer, and how many rounds the loop had begun when it was scheduled."""

    timer: asyncio.TimerHandle
    round: int


class Turns(Protocol):
    """An order in which callbacks and timers take their turns."""

    @property
    def round(self) -> int:
        """How many rounds have begun."""
        ...

    def serve(self, loop: EventLoop) -> None:
        """Serve what is ready, at least one callback unless the loop is to stop; wait until there is something."""
        ...


def turns_of(order: TaskOrder) -> Turns:
    """The turns that an option asks for."""
    return AsPromised() if order is TaskOrder.LOOP else AnyTask()


class AsPromised:
    """What asyncio promises: callbacks first in, first out, and timers by their time.

    In each round the loop takes as many callbacks as are ready, puts timers whose time has come behind them, and runs
    all these. So a timer's callback runs after the callbacks of a later round than the one that has scheduled it, and
    before what they schedule; after which round, and together with which others, is explored.

    Time passes as it likes: any sleep may be over, as if the network had decided. Other timers keep their order if
    their times certainly do: if the earlier one was also scheduled first. Those of one time belong to one round, in
    any order. A sleeper wakes in the round after the one
    that its timer belongs to, and the timer can be taken as late as that: so it makes its step with its timer.
    """

    def __init__(self) -> None:
        self.round = 0

    def serve(self, loop: EventLoop) -> None:
        """Run one round, and the timers after it."""
        self.round += 1
        loop.receive()
        if not loop.has_ready and not loop.timers() and not loop.is_stopping:
            loop.wait()
        for _ in range(len(loop.ready)):
            loop.run_handle(loop.ready.popleft())
        # A turn that is an event ends with its round, whether a timer could be over or not.
        while loop.timers() or loop.takes_turns or loop.cancellable():
            while loop.has_ready and only_counts(loop.ready[0]):
                loop.run_handle(loop.ready.popleft())
            if not loop.has_ready:
                loop.receive()
            tasks = loop.cancellable()
            # With nothing else to come, it may also be that nobody is cancelled.
            may_wait = loop.has_ready or loop.is_stopping or bool(tasks and not loop.timers())
            if not may_wait:
                if not loop.timers():
                    return
                # Rounds without callbacks pass, until a time has come.
                self.round += _ROUNDS_OF_A_SLEEPER
            timers = self._next(loop.timers())
            chosen = loop.decide(timers, self._is_early, may_wait)
            if may_wait and chosen == 0:
                return
            if chosen - may_wait >= len(timers):
                loop.cancel_task(tasks[chosen - may_wait - len(timers)])
                continue
            over = timers[chosen - may_wait]
            loop.fire(over)
            while together := [] if wakes_a_sleeper(over) else _at(over.when(), loop.timers()):
                loop.fire(together[loop.decide_between_equals(together)])

    def _next(self, timers: list[Scheduled]) -> list[asyncio.TimerHandle]:
        """Those that may be over now and before all others, by their times."""
        found: list[asyncio.TimerHandle] = []
        for number, scheduled in enumerate(timers):
            if self._is_early(scheduled):
                continue
            timer = scheduled.timer
            if wakes_a_sleeper(timer) or not any(
                comes_before(other.timer, timer) for other in timers[:number]
            ):
                found.append(timer)
        return sorted(found)

    def _is_early(self, scheduled: Scheduled) -> bool:
        """Whether too few rounds have begun since a timer was scheduled."""
        least = _ROUNDS_OF_A_SLEEPER if wakes_a_sleeper(scheduled.timer) else _ROUNDS_OF_A_TIMER
        return self.round - scheduled.round < least


class AnyTask:
    """Any task that can make a step may be next, and any timer may be over.

    Plain callbacks run in the order in which they were scheduled. Callbacks by which asyncio itself hands a result on
    run at once: whatever they wake may be chosen at any later moment, so that delaying them adds no behaviour.
    """

    round = 0

    def serve(self, loop: EventLoop) -> None:
        """Run one step, callback or timer."""
        if loop.has_ready or loop.timers():
            loop.receive()
        choices = self._choices(loop)
        while not choices:
            if loop.is_stopping or self._cancels(loop):
                return
            loop.wait()
            loop.receive()
            choices = self._choices(loop)
        tasks = loop.cancellable()
        number = loop.choose(
            len(choices) + len(tasks), lambda number: self._describe(loop, choices, tasks, number)
        )
        if number >= len(choices):
            loop.cancel_task(tasks[number - len(choices)])
            return
        chosen = choices[number]
        if isinstance(chosen, asyncio.TimerHandle):
            loop.fire(chosen)
        else:
            loop.ready.remove(chosen)
            loop.run_handle(chosen)
        self._forward_results(loop)

    def _cancels(self, loop: EventLoop) -> bool:
        """Nothing can go next, unless a task is cancelled: whether one is."""
        tasks = loop.cancellable()
        number = loop.choose(
            1 + len(tasks),
            lambda number: cancelling(tasks[number - 1]) if number else "waits for other threads",
        )
        if number:
            loop.cancel_task(tasks[number - 1])
        return number > 0

    def _describe(self, loop: EventLoop, choices: list[asyncio.Handle], tasks: list[Any], number: int) -> str:
        if number >= len(choices):
            return cancelling(tasks[number - len(choices)])
        chosen = choices[number]
        return (
            ending(chosen, loop.dpor_tasks) if isinstance(chosen, asyncio.TimerHandle) else going_on(chosen)
        )

    def _choices(self, loop: EventLoop) -> list[asyncio.Handle]:
        """What could go next, in the order in which the standard loop would take it."""
        self._forward_results(loop)
        choices: list[asyncio.Handle] = []
        lanes: set[Any] = set()
        for handle in list(loop.ready):
            if handle._cancelled:
                loop.ready.remove(handle)
                continue
            lane = task_of(handle)
            if lane not in lanes:
                lanes.add(lane)
                choices.append(handle)
        choices.extend(sorted(scheduled.timer for scheduled in loop.timers()))
        return choices

    def _forward_results(self, loop: EventLoop) -> None:
        """Run the callbacks by which asyncio hands results on, until none is left."""
        forwarded = True
        while forwarded:
            forwarded = False
            for handle in list(loop.ready):
                if not handle._cancelled and is_forwarding(handle):
                    loop.ready.remove(handle)
                    loop.run_handle(handle)
                    forwarded = True


def comes_before(earlier: asyncio.TimerHandle, timer: asyncio.TimerHandle) -> bool:
    """Whether a timer that was scheduled earlier is certainly over first."""
    return not wakes_a_sleeper(earlier) and earlier.when() < timer.when()


def _at(time: float, timers: list[Scheduled]) -> list[asyncio.TimerHandle]:
    """The timers for exactly this time: whoever reads the clock twice gets two times."""
    return [timer for timer, _ in timers if timer.when() == time and not wakes_a_sleeper(timer)]
