"""Random programs with queues, as text for a check and as a machine that runs every interleaving of their steps.

The machine has no part of the checker in it, and none of the library's code: a queue is a list, a capacity and a number
of tasks, and each of its methods is one step of what `queue`'s documentation says.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from checked_programs import functions_of, names_of
from interleavings import Outcomes, outcomes, with_value

_WAITING = ("put", "get", "join")
_CALLS = {
    "put": "{queue}.put({item})",
    "put_nowait": "{queue}.put_nowait({item})",
    "put_within": "{queue}.put({item}, timeout=1)",
    "get": "{queue}.get()",
    "get_nowait": "{queue}.get_nowait()",
    "get_within": "{queue}.get(timeout=1)",
    "qsize": "{queue}.qsize()",
    "empty": "{queue}.empty()",
    "full": "{queue}.full()",
    "task_done": "{queue}.task_done()",
    "join": "{queue}.join()",
}


@dataclass(frozen=True)
class Step:
    """One call of a method of a queue, by number; `append` is none, and tells who came first."""

    call: str
    queue: int = 0
    item: int = 0

    def source(self) -> str:
        """The statement in a function that has `found`, a list of results."""
        if self.call == "append":
            return "order.append(index)"
        text = _CALLS[self.call].format(queue=f"queues[{self.queue}]", item=self.item)
        return f"attempt(found, lambda: {text})"


@dataclass(frozen=True)
class Queue:
    """A queue as it is made, and as it is in the middle of a run."""

    last_first: bool
    capacity: int
    items: tuple[int, ...] = ()
    tasks: int = 0

    def source(self) -> str:
        """The expression that makes it."""
        return f"queue.{'LifoQueue' if self.last_first else 'Queue'}({self.capacity})"

    def do(self, step: Step) -> tuple[Queue, object] | None:
        """The queue after a call, and what that gives; None while it has to wait."""
        is_full = 0 < self.capacity <= len(self.items)
        if step.call.startswith("put"):
            if not is_full:
                return replace(self, items=(*self.items, step.item), tasks=self.tasks + 1), None
            return None if step.call == "put" else (self, "Full")
        if step.call.startswith("get"):
            if self.items:
                at = len(self.items) - 1 if self.last_first else 0
                return replace(self, items=self.items[:at] + self.items[at + 1 :]), self.items[at]
            return None if step.call == "get" else (self, "Empty")
        if step.call == "task_done":
            return (replace(self, tasks=self.tasks - 1), None) if self.tasks else (self, "ValueError")
        if step.call == "join":
            return None if self.tasks else (self, None)
        return self, {"qsize": len(self.items), "empty": not self.items, "full": is_full}[step.call]


@dataclass(frozen=True)
class _State:
    queues: tuple[Queue, ...]
    at: tuple[int, ...]
    found: tuple[tuple[object, ...], ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """Queues, and the steps of each thread."""

    queues: tuple[Queue, ...]
    threads: tuple[tuple[Step, ...], ...]

    def source(self) -> str:
        """The text of a model."""
        bodies, names = functions_of(self.threads), names_of(self.threads)
        queues = ", ".join(queue.source() for queue in self.queues)
        return _MODEL.format(queues=queues, count=len(self.threads), bodies=bodies, names=names)

    def run(self) -> Outcomes:
        """Run all interleavings on the machine."""
        count = len(self.threads)
        first = _State(self.queues, (0,) * count, ((),) * count, ())
        return outcomes(first, self.threads, self._after)

    def _after(self, state: _State, index: int) -> _State | None:
        step = self.threads[index][state.at[index]]
        at = with_value(state.at, index, state.at[index] + 1)
        if step.call == "append":
            return replace(state, at=at, order=(*state.order, index))
        done = state.queues[step.queue].do(step)
        if done is None:
            return None
        queue, result = done
        found = with_value(state.found, index, (*state.found[index], result))
        return replace(state, at=at, queues=with_value(state.queues, step.queue, queue), found=found)


_MODEL = """
import queue, threading
import differential_sink
import dpor

def attempt(found, call):
    try:
        result = call()
    except (queue.Full, queue.Empty, ValueError) as error:
        result = type(error).__name__
    found.append(result)

@dpor.model
def program():
    queues, order, results = [{queues}], [], [[] for _ in range({count})]
{bodies}    threads = [threading.Thread(target=function) for function in ({names},)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    differential_sink.record((tuple(map(tuple, results)), tuple(order)))
"""


def programs(seed: int, most_steps: int = 9) -> Iterator[Program]:
    """Programs without end, the same for the same seed."""
    draw = random.Random(seed)
    while True:
        queues = tuple(
            Queue(draw.random() < 0.2, draw.choice((0, 0, 1, 2))) for _ in range(draw.choice((1, 1, 1, 2)))
        )
        count = draw.choice((2, 2, 3))
        threads = tuple(_thread(draw, len(queues), 6 - count) for _ in range(count))
        if sum(map(len, threads)) <= most_steps:
            yield Program(queues, threads)


def _thread(draw: random.Random, queues: int, length: int) -> tuple[Step, ...]:
    common = draw.choice(
        (("put", "get"), ("put", "get", "task_done"), tuple(_CALLS), ("put", "get_nowait", "join"))
    )
    steps: list[Step] = []
    for _ in range(draw.randint(1, length)):
        call = draw.choice(common)
        if draw.random() < 0.2:
            call = draw.choice((*_CALLS, "append"))
        steps.append(Step(call, draw.randrange(queues), draw.randrange(10)))
    return tuple(steps)
