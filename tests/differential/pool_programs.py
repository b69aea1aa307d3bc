"""Random programs with a pool and futures, as text for a check and as a machine that runs all interleavings.

The machine has no part of the checker in it, and none of the library's code: each method of a future is one step of
what the documentation of `concurrent.futures` says, a pool is a row of tasks and a number of workers that are free.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

_CALLS = {
    "result": "futures[{future}].result()",
    "result_within": "futures[{future}].result(timeout=1)",
    "exception": "type(futures[{future}].exception()).__name__",
    "done": "futures[{future}].done()",
    "running": "futures[{future}].running()",
    "cancelled": "futures[{future}].cancelled()",
    "cancel": "futures[{future}].cancel()",
    "add_callback": "futures[{future}].add_done_callback(lambda _: order.append(({future}, {tag})))",
    "wait": "bool(wait([futures[number] for number in {several}]))",
    "as_completed": "[futures.index(future) for future in as_completed([futures[number] for number in {several}])]",
    "set_result": "futures[{future}].set_result({tag})",
    "set_exception": "futures[{future}].set_exception(KeyError({tag}))",
    "submit": "futures.append(pool.submit(task{future}))",
    "append": "order.append({tag})",
}
_OVER = ("cancelled", "notified", "finished")
_SETTLED = ("notified", "finished")


@dataclass(frozen=True)
class Step:
    """One call, of a method of the future with this number or of several; `tag` tells it from others."""

    call: str
    future: int = 0
    tag: int = 0
    several: tuple[int, ...] = ()

    def source(self) -> str:
        """The statement in a function that has `found`, a list of results."""
        text = _CALLS[self.call].format(future=self.future, tag=self.tag, several=list(self.several))
        return text if self.call in ("submit", "append") else f"attempt(found, lambda: {text})"


@dataclass(frozen=True)
class Task:
    """What a task does before it returns its number, or raises."""

    steps: tuple[Step, ...]
    raises: bool


@dataclass(frozen=True)
class Future:
    """A future in the middle of a run."""

    stage: str = "pending"
    value: object = None
    error: str = ""
    callbacks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Yielding:
    """An `as_completed` of these futures that has given some of them."""

    several: tuple[int, ...]
    given: tuple[int, ...]


@dataclass(frozen=True)
class Thread:
    """A thread in the middle of a run: what it still does, and what it has found.

    `task` is the number of the task that it runs, if any; `before` that it has not taken it yet.
    """

    rest: tuple[object, ...]
    found: tuple[object, ...] = ()
    task: int | None = None
    before: bool = False


@dataclass(frozen=True)
class State:
    """A moment of a run; `settled` has futures in the order in which they settled, `hashed` in that of their hashes."""

    threads: tuple[Thread, ...]
    futures: tuple[Future, ...]
    order: tuple[object, ...] = ()
    settled: tuple[int, ...] = ()
    hashed: tuple[int, ...] = ()
    free: int = 1
    taken: int = 0


@dataclass
class Outcomes:
    """What runs of a program end in."""

    ended: set[object] = field(default_factory=set[object])
    deadlock: bool = False


@dataclass(frozen=True)
class Program:
    """A pool of `workers`, so many futures that no pool has made, what main does, what a thread beside it does, and the
    tasks."""

    workers: int
    bare: int
    main: tuple[Step, ...]
    other: tuple[Step, ...]
    tasks: tuple[Task, ...]

    def source(self) -> str:
        """The text of a module with the model `program`."""
        lines = [
            "import threading",
            "from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait",
            "import dpor",
            "from differential_sink import record",
            "",
            "def attempt(found, call):",
            "    try:",
            "        found.append(call())",
            "    except Exception as error:",
            "        found.append(type(error).__name__)",
            "",
            "def plain(value):",
            "    return tuple(map(plain, value)) if isinstance(value, list) else value",
            "",
            "@dpor.model",
            "def program():",
            f"    futures = [Future() for _ in range({self.bare})]",
            f"    order, results = [], [[] for _ in range({2 + len(self.tasks)})]",
        ]
        for number, task in enumerate(self.tasks):
            lines += self._function(f"task{number + self.bare}", number + 2, task.steps)
            end = f"raise ValueError({number})" if task.raises else f"return {number}"
            lines.append(f"        {end}")
        lines += self._function("other", 1, self.other)
        lines += [
            "    found = results[0]",
            f"    with ThreadPoolExecutor({self.workers}) as pool:",
            "        thread = threading.Thread(target=other)",
            "        thread.start()",
            *(f"        {step.source()}" for step in self.main),
            "        thread.join()",
            "    record((plain(results), plain(order)))",
        ]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _function(name: str, index: int, steps: tuple[Step, ...]) -> list[str]:
        head = [f"    def {name}():", f"        found = results[{index}]"]
        return head + [f"        {step.source()}" for step in steps]

    def run(self) -> Outcomes:
        """Every interleaving of the steps."""
        outcomes = Outcomes()
        first = State(
            threads=(Thread(self.main), Thread(self.other)),
            futures=(Future(),) * self.bare,
            free=self.workers,
        )
        seen = {first}
        waiting = [first]
        while waiting:
            state = waiting.pop()
            following = [
                after for index in range(len(state.threads)) for after in self._steps(state, index) if after
            ]
            if not following:
                if any(thread.rest or thread.before for thread in state.threads):
                    outcomes.deadlock = True
                else:
                    found = [thread.found for thread in state.threads]
                    tasks = {thread.task: thread.found for thread in state.threads[2:]}
                    found[2:] = [tasks.get(self.bare + number, ()) for number in range(len(self.tasks))]
                    outcomes.ended.add((tuple(found), state.order))
            for after in following:
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return outcomes

    def _steps(self, state: State, index: int) -> Iterator[State | None]:
        thread = state.threads[index]
        if thread.before:
            yield self._take(state, index)
        elif thread.rest:
            yield self._step(state, index, thread.rest[0])

    def _take(self, state: State, index: int) -> State | None:
        thread = state.threads[index]
        assert thread.task is not None
        if state.free == 0 or state.taken != thread.task - self.bare:
            return None
        state = replace(state, free=state.free - 1, taken=state.taken + 1)
        return _with(state, index, replace(thread, before=False, rest=("begin",)))

    def _step(self, state: State, index: int, step: object) -> State | None:
        thread = state.threads[index]
        rest = thread.rest[1:]
        if step == "begin":
            assert thread.task is not None
            future = state.futures[thread.task]
            if future.stage == "cancelled":
                state = _settle(state, thread.task, replace(future, stage="notified"))
                return _with(state, index, replace(thread, rest=("free",)))
            task = self.tasks[thread.task - self.bare]
            state = _put(state, thread.task, replace(future, stage="running"))
            return _with(state, index, replace(thread, rest=(*task.steps, "end")))
        if step == "end":
            assert thread.task is not None
            number = thread.task - self.bare
            task = self.tasks[number]
            end = Future("finished", None if task.raises else number, "ValueError" if task.raises else "")
            calls = state.futures[thread.task].callbacks
            state = _settle(state, thread.task, end)
            return _with(state, index, replace(thread, rest=(*calls, "free")))
        if step == "free":
            return _with(replace(state, free=state.free + 1), index, replace(thread, rest=()))
        if isinstance(step, tuple):
            state = replace(state, order=(*state.order, step))
            return _with(state, index, replace(thread, rest=rest))
        if isinstance(step, Yielding):
            return self._yield(state, index, step)
        assert isinstance(step, Step)
        return self._call(state, index, step, rest)

    def _call(self, state: State, index: int, step: Step, rest: tuple[object, ...]) -> State | None:
        thread = state.threads[index]

        def gives(state: State, value: object, then: tuple[object, ...] = ()) -> State:
            return _with(state, index, replace(thread, rest=(*then, *rest), found=(*thread.found, value)))

        if step.call == "append":
            return _with(replace(state, order=(*state.order, step.tag)), index, replace(thread, rest=rest))
        if step.call == "submit":
            state = replace(state, futures=(*state.futures, Future()))
            state = _with(state, index, replace(thread, rest=rest))
            made = Thread((), task=len(state.futures) - 1, before=True)
            return replace(state, threads=(*state.threads, made))
        if step.call == "wait":
            stages = [state.futures[number].stage for number in step.several]
            return (
                gives(_hash(state, step.several), True)
                if all(stage in _SETTLED for stage in stages)
                else None
            )
        if step.call == "as_completed":
            state = _hash(state, step.several)
            settled = [number for number in reversed(state.hashed) if number in state.settled]
            given = tuple(number for number in settled if number in step.several)
            return _with(state, index, replace(thread, rest=(Yielding(step.several, given), *rest)))
        return self._call_future(state, step, gives)

    @staticmethod
    def _yield(state: State, index: int, step: Yielding) -> State | None:
        thread = state.threads[index]
        if len(step.given) == len(step.several):
            found = (*thread.found, step.given)
            return _with(state, index, replace(thread, rest=thread.rest[1:], found=found))
        left = [number for number in state.settled if number in step.several and number not in step.given]
        if not left:
            return None
        following = replace(step, given=(*step.given, left[0]))
        return _with(state, index, replace(thread, rest=(following, *thread.rest[1:])))

    @staticmethod
    def _call_future(state: State, step: Step, give: Callable[..., State]) -> State | None:
        future = state.futures[step.future]
        is_over = future.stage in _OVER
        match step.call:
            case "done":
                return give(state, is_over)
            case "running":
                return give(state, future.stage == "running")
            case "cancelled":
                return give(state, future.stage in ("cancelled", "notified"))
            case "result" | "result_within" | "exception":
                if not is_over:
                    return give(state, "TimeoutError") if step.call == "result_within" else None
                if future.stage != "finished":
                    return give(state, "CancelledError")
                if step.call == "exception":
                    return give(state, future.error or "NoneType")
                return give(state, future.error or future.value)
            case "cancel":
                if future.stage in ("running", "finished"):
                    return give(state, False)
                if is_over:
                    return give(state, True)
                after = _put(state, step.future, replace(future, stage="cancelled"))
                return give(after, True, future.callbacks)
            case "add_callback":
                called = (step.future, step.tag)
                if is_over:
                    return give(state, None, (called,))
                added = replace(future, callbacks=(*future.callbacks, called))
                return give(_put(state, step.future, added), None)
            case "set_result" | "set_exception":
                if is_over:
                    return give(state, "InvalidStateError")
                error = "KeyError" if step.call == "set_exception" else ""
                end = Future("finished", None if error else step.tag, error)
                return give(_settle(state, step.future, end), None, future.callbacks)
        raise AssertionError(step)


def _with(state: State, index: int, thread: Thread) -> State:
    return replace(state, threads=(*state.threads[:index], thread, *state.threads[index + 1 :]))


def _put(state: State, number: int, future: Future) -> State:
    return replace(state, futures=(*state.futures[:number], future, *state.futures[number + 1 :]))


def _hash(state: State, several: tuple[int, ...]) -> State:
    new = tuple(number for number in several if number not in state.hashed)
    return replace(state, hashed=state.hashed + new)


def _settle(state: State, number: int, future: Future) -> State:
    return replace(_put(state, number, future), settled=(*state.settled, number))


def programs(seed: int, tasks: int = 3) -> Iterator[Program]:
    """Programs without end, the same for the same seed, with so many tasks at most."""
    draw = random.Random(seed)
    while True:
        yield _program(draw, tasks)


def _program(draw: random.Random, most: int) -> Program:
    bare, count = draw.choice((0, 1, 1)), draw.randint(0, most)
    if bare + count == 0:
        bare = 1
    main: list[Step] = []
    for number in range(count):
        main.append(Step("submit", bare + number))
        main += _steps(draw, bare + number + 1, draw.choice((0, 0, 1)), ends=bare > 0)
    main += _steps(draw, bare + count, draw.randint(0, 2), ends=bare > 0, several=True)
    tasks = tuple(
        Task(_steps(draw, bare + number, draw.choice((0, 0, 1)), ends=bare > 0), draw.random() < 0.2)
        for number in range(count)
    )
    other = _steps(draw, bare, draw.choice((0, 1, 2)), ends=True) if bare else ()
    ends = any(
        step.call.startswith("set_")
        for step in (*main, *other, *(step for task in tasks for step in task.steps))
    )
    if bare and not ends and draw.random() < 0.8:
        other = (*other, Step("set_result", 0, draw.randrange(10)))
    return Program(draw.choice((1, 2, 2, 3)), bare, tuple(main), other, tasks)


def _steps(
    draw: random.Random, futures: int, length: int, *, ends: bool, several: bool = False
) -> tuple[Step, ...]:
    """Steps on the first futures, none of which has to be one that a task has made where that could not be yet."""
    steps: list[Step] = []
    for _ in range(length):
        calls = ["append", "append"]
        if futures:
            calls += [
                "result",
                "result",
                "done",
                "cancel",
                "add_callback",
                "exception",
                "running",
                "cancelled",
            ]
            calls += ["result_within"] + ["set_result", "set_exception"] * ends
        if futures and several:
            calls += ["wait", "as_completed", "as_completed"]
        numbers = tuple(sorted(draw.sample(range(futures), draw.randint(1, futures)))) if futures else ()
        number = draw.randrange(futures) if futures else 0
        call = draw.choice(calls)
        if call.startswith("set_"):
            number = 0
        steps.append(Step(call, number, draw.randrange(10), numbers))
    return tuple(steps)
