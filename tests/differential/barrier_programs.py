"""Random programs with barriers, as text for a check and as a machine that runs every interleaving of their steps.

The machine has no part of the checker in it, and none of the library's code: a barrier fills until as many have come as
it is for, and empties until the last of them has left, as `threading`'s documentation says.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from checked_programs import functions_of, names_of
from interleavings import Outcomes, outcomes, with_value

_STATEMENTS = {
    "wait": "{barrier}.wait()",
    "place": "found.append({barrier}.wait())",
    "waiting": "{barrier}.n_waiting",
    "append": "order.append(index)",
    "look": "found.append(len(order))",
}


@dataclass(frozen=True)
class Step:
    """One statement of a thread; `append` and `look` concern no barrier, and tell who came first.

    What `n_waiting` gives between two statements of the library under its lock is no matter of the documentation, so
    that nobody looks at it here.
    """

    kind: str
    barrier: int = 0

    def source(self) -> str:
        """The statement in a function that has `found`, a list of results, and `index`, the number of its thread."""
        return _STATEMENTS[self.kind].format(barrier=f"barriers[{self.barrier}]")


@dataclass(frozen=True)
class Barrier:
    """How many it is for, how many are in it, and whether they leave it."""

    parties: int
    inside: int = 0
    empties: bool = False

    def enter(self) -> tuple[Barrier, int, bool] | None:
        """The barrier after one has come, the place of that one, and whether he stays inside; None if he has to wait
        until the others have left.
        """
        if self.empties:
            return None
        if self.inside + 1 < self.parties:
            return replace(self, inside=self.inside + 1), self.inside, True
        return replace(self, empties=self.inside > 0), self.inside, False

    def leave(self) -> Barrier | None:
        """The barrier after one has left; None if others have to come first."""
        if not self.empties:
            return None
        return replace(self, inside=self.inside - 1, empties=self.inside > 1)


@dataclass(frozen=True)
class _State:
    barriers: tuple[Barrier, ...]
    at: tuple[int, ...]
    # The place of each thread that is inside a barrier.
    places: tuple[int | None, ...]
    found: tuple[tuple[int, ...], ...]
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Program:
    """How many each barrier is for, and the steps of each thread."""

    parties: tuple[int, ...]
    threads: tuple[tuple[Step, ...], ...]

    def source(self) -> str:
        """The text of a model."""
        bodies, names = functions_of(self.threads), names_of(self.threads)
        barriers = ", ".join(f"threading.Barrier({parties})" for parties in self.parties)
        return _MODEL.format(barriers=barriers, count=len(self.threads), bodies=bodies, names=names)

    def needs_library(self) -> bool:
        """Whether something is done that only the library's own code can do."""
        for barrier, parties in enumerate(self.parties):
            come = [
                any(step.barrier == barrier and step.kind in ("wait", "place") for step in steps)
                for steps in self.threads
            ]
            if sum(come) > parties:
                return True
        return any(step.kind == "waiting" for steps in self.threads for step in steps)

    def run(self) -> Outcomes:
        """Run all interleavings on the machine."""
        count = len(self.threads)
        barriers = tuple(Barrier(parties) for parties in self.parties)
        first = _State(barriers, (0,) * count, (None,) * count, ((),) * count)
        return outcomes(first, self.threads, self._after)

    def _after(self, state: _State, index: int) -> _State | None:
        step = self.threads[index][state.at[index]]
        barrier = state.barriers[step.barrier]
        place = state.places[index]
        if step.kind in ("wait", "place"):
            if place is None:
                entered = barrier.enter()
                if entered is None:
                    return None
                barrier, place, stays = entered
                state = replace(state, barriers=with_value(state.barriers, step.barrier, barrier))
                if stays:
                    return replace(state, places=with_value(state.places, index, place))
            else:
                left = barrier.leave()
                if left is None:
                    return None
                barriers = with_value(state.barriers, step.barrier, left)
                state = replace(state, barriers=barriers, places=with_value(state.places, index, None))
            told = [place] if step.kind == "place" else []
        else:
            told = [len(state.order)] if step.kind == "look" else []
        if step.kind == "append":
            state = replace(state, order=(*state.order, index))
        found = with_value(state.found, index, (*state.found[index], *told))
        return replace(state, found=found, at=with_value(state.at, index, state.at[index] + 1))


_MODEL = """
import threading
import differential_sink
import dpor

@dpor.model
def program():
    barriers, order, results = [{barriers}], [], [[] for _ in range({count})]
{bodies}    threads = [threading.Thread(target=function) for function in ({names},)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    differential_sink.record((tuple(map(tuple, results)), tuple(order)))
"""


def programs(seed: int) -> Iterator[Program]:
    """Programs without end, the same for the same seed; threads come to barriers equally often in most."""
    draw = random.Random(seed)
    while True:
        count = draw.choice((2, 2, 3))
        parties = tuple(
            count if draw.random() < 0.7 else draw.randint(1, 3) for _ in range(draw.choice((1, 1, 2)))
        )
        meetings = [draw.randrange(len(parties)) for _ in range(draw.randint(1, 2))]
        yield Program(parties, tuple(_thread(draw, meetings, len(parties)) for _ in range(count)))


def _thread(draw: random.Random, meetings: list[int], barriers: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    for barrier in meetings:
        if draw.random() < 0.5:
            steps.append(Step(draw.choice(("append", "append", "look"))))
        if draw.random() < 0.9:
            steps.append(Step("place" if draw.random() < 0.15 else "wait", barrier))
    if draw.random() < 0.5:
        steps.append(Step("append"))
    if draw.random() < 0.05:
        steps.append(Step("waiting", draw.randrange(barriers)))
    return tuple(steps) or (Step("append"),)
