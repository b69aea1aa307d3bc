"""Which schedules of a program are run: all with few preemptions, then some drawn at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time

from oracle.scheduler import DEADLOCK, ENDLESS, Execution, Policy
from oracle.sink import foreseeable

NEVER = 1 << 60
Plan = tuple[tuple[int, int], ...]


class Planned:
    """Follows a plan, the numbers of decisions with the threads chosen there; else the thread goes on that runs, or
    the first one that can.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = dict(plan)
        self._ahead = [number for number, _ in reversed(plan)]
        self.stop = 0
        self._next()

    def _next(self) -> None:
        self.stop = self._ahead.pop() if self._ahead else NEVER

    def preempt(self, number: int, current: int, others: tuple[int, ...]) -> int | None:
        target = self._plan.get(number)
        if target is not None:
            self._next()
            return target if target in others else others[0]
        return None

    def choose(self, number: int, enabled: tuple[int, ...]) -> int:
        target = self._plan.get(number)
        if target is None:
            return enabled[0]
        self._next()
        return target if target in enabled else enabled[0]


class Priorities:
    """PCT (Burckhardt et al., ASPLOS 2010): threads have priorities drawn at random, and at `changes` decisions the one
    that runs gets the lowest.
    """

    def __init__(self, draw: random.Random, length: int, changes: int) -> None:
        self._draw = draw
        self._order: dict[int, float] = {}
        self._at = sorted((draw.randrange(max(1, length)) for _ in range(changes)), reverse=True)
        self.stop = self._at.pop() if self._at else NEVER
        self._lowest = 0.0

    def _priority(self, thread: int) -> float:
        if thread not in self._order:
            self._order[thread] = self._draw.random() + 1
        return self._order[thread]

    def preempt(self, number: int, current: int, others: tuple[int, ...]) -> int | None:
        if number >= self.stop:
            self.stop = self._at.pop() if self._at else NEVER
            self._lowest -= 1
            self._order[current] = self._lowest
        best = max(others, key=self._priority)
        return best if self._priority(best) > self._priority(current) else None

    def choose(self, number: int, enabled: tuple[int, ...]) -> int:
        return max(enabled, key=self._priority)


class Wandering:
    """Goes to a thread drawn at random after a number of decisions drawn at random."""

    def __init__(self, draw: random.Random, length: int, switches: int) -> None:
        self._draw = draw
        self._rate = switches / max(1, length)
        self.stop = self._after(0)

    def _after(self, number: int) -> int:
        return number + 1 + int(self._draw.expovariate(min(1.0, self._rate)))

    def preempt(self, number: int, current: int, others: tuple[int, ...]) -> int | None:
        if number < self.stop:
            return None
        self.stop = self._after(number)
        return self._draw.choice(others)

    def choose(self, number: int, enabled: tuple[int, ...]) -> int:
        return self._draw.choice(enabled)


@dataclass
class Observed:
    """What was seen of a program. `complete` is the number of preemptions up to which all schedules were run (-1 for
    none), `outcomes` says how often each was seen, and `preemptions` with how few at least.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    preemptions: dict[str, int] = field(default_factory=dict)
    complete: int = -1
    executions: int = 0
    cut: int = 0
    decisions: int = 0


@dataclass(frozen=True)
class Effort:
    """How much is run: schedules in all, preemptions of the enumeration, seconds of processor time. `focused` leaves
    library code alone, so that there are fewer schedules and more preemptions among them.
    """

    executions: int = 400
    preemptions: int = 2
    seconds: float = 10.0
    focused: bool = False


def explore(run: Callable[[Policy], Execution], effort: Effort, seed: int) -> Observed:
    """Run schedules of a program, and say what was seen. The same seed gives the same schedules."""
    observed = Observed()
    draw = random.Random(seed)
    end = process_time() + effort.seconds
    level: list[Plan] = [()]
    for preemptions in range(effort.preemptions + 1):
        room = effort.executions - observed.executions
        whole = len(level) <= room
        if not whole:
            level = draw.sample(level, room // 2)
        following: list[Plan] = []
        # Free choices cost nothing, so their schedules join the level that is being run.
        while level:
            if observed.executions >= effort.executions or process_time() > end:
                whole = False
                break
            plan = level.pop()
            execution = run(Planned(plan))
            _note(observed, execution, preemptions)
            if execution.outcome == ENDLESS:
                whole = False
                continue
            for step, cost in _alternatives(plan, execution):
                (following if cost else level).append((*plan, step))
        if not whole:
            break
        observed.complete = preemptions
        level = following
        if not level:
            # There is nothing more to run, with however many preemptions.
            observed.complete = NEVER
            return observed
    length = max(1, observed.decisions // max(1, observed.executions))
    while observed.executions < effort.executions and process_time() < end:
        switches = draw.randint(1, 4)
        policy: Policy = (
            Priorities(draw, length, switches) if draw.random() < 0.5 else Wandering(draw, length, switches)
        )
        _note(observed, run(policy), switches)
    return observed


def _note(observed: Observed, execution: Execution, preemptions: int) -> None:
    observed.executions += 1
    observed.decisions += len(execution.decisions)
    if execution.outcome == ENDLESS:
        observed.cut += 1
        return
    seen = foreseeable(execution.outcome)
    for outcome in (seen, DEADLOCK) if execution.stuck else (seen,):
        observed.outcomes[outcome] = observed.outcomes.get(outcome, 0) + 1
        observed.preemptions.setdefault(outcome, preemptions)


def _alternatives(plan: Plan, execution: Execution) -> list[tuple[tuple[int, int], bool]]:
    """The steps by which the plan can be prolonged, and whether they are preemptions."""
    found: list[tuple[tuple[int, int], bool]] = []
    begin = plan[-1][0] + 1 if plan else 0
    for number in range(begin, len(execution.decisions)):
        free = number in execution.free
        threads = execution.decisions[number]
        found += [((number, thread), not free) for thread in (threads[1:] if free else threads)]
    return found
