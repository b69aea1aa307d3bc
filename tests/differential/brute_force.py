"""Count the classes of a simple program without any engine: by enumerating prefixes of dependence graphs.

Statements are interpreted directly, so that neither the instrumentation nor the kernel has a part in the
answer. A prefix is the set of its events, each labelled with what it depends on directly; every prefix is
extended once. Only programs without `Code` and `Check` statements are understood.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from program import (
    Assume,
    Choose,
    CompareExchange,
    FetchAdd,
    If,
    Increment,
    Locked,
    Program,
    Read,
    Spawn,
    Statement,
    TryLocked,
    Write,
)

# What a thread is about to do: a word, then its operands. `stop` is a failed assumption.
Event = tuple[Any, ...]
Thread = Generator[Event, Any, None]
Schedule = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Classes:
    """The number of complete and of blocked classes, and the outcomes of the complete ones."""

    executions: int
    blocked: int
    outcomes: frozenset[Any]


def count(program: Program, limit: int) -> Classes | None:
    """Enumerate the classes of `program`; None if there are more than `limit` prefixes."""
    level: dict[frozenset[Any], Schedule] = {frozenset(): ()}
    executions = blocked = prefixes = 0
    outcomes: set[Any] = set()
    while level:
        following: dict[frozenset[Any], Schedule] = {}
        for schedule in level.values():
            state = _State(program)
            for thread, option in schedule:
                state.step(thread, option)
            moves = state.moves()
            if not moves and state.ended():
                executions += 1
                outcomes.add(state.outcome())
            elif not moves:
                blocked += 1
            for thread, option in moves:
                key = frozenset((*state.labels, state.label(thread, option)))
                following.setdefault(key, (*schedule, (thread, option)))
        prefixes += len(following)
        if prefixes > limit:
            return None
        level = following
    return Classes(executions, blocked, frozenset(outcomes))


class _State:
    """One execution of the program so far."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memory: dict[str, int] = {}
        self.owner: dict[str, int | None] = {}
        self.seen: list[list[int]] = [[] for _ in range(len(program.threads) + 1)]
        # Threads are known by their index in the program and not by when they start, which may vary; main is -1.
        self.threads: dict[int, Thread] = {}
        self.pending: dict[int, Event | None] = {}
        self.steps: dict[int, int] = {}
        self.last_write: dict[str, Any] = {}
        self.reads: dict[str, frozenset[Any]] = {}
        self.labels: list[Any] = []
        self._start(-1, self._main())

    def ended(self) -> bool:
        return all(event is None for event in self.pending.values())

    def outcome(self) -> Any:
        value = {name: self.memory.get(name, 0) for name in ("s.x", "s.y", "total", "s.a", "s.b")}
        cells = (self.memory.get("s.cells[0]", 0), self.memory.get("s.cells[1]", 0))
        table = (("k", self.memory.get('s.table["k"]', 0)),)
        # What simple programs leave as it is: items, a set, rows and boxes.
        rest = ((), (), "[[0], [1]]", "Box(x=0, y=0)", "Box(x=0, y=0)")
        return tuple(tuple(seen) for seen in self.seen), tuple(value.values()), (cells, table, *rest)

    def moves(self) -> list[tuple[int, int]]:
        """The (thread, option) pairs that can come next."""
        found: list[tuple[int, int]] = []
        for thread, event in self.pending.items():
            if event is None or not self._enabled(event):
                continue
            found += [(thread, option) for option in range(len(event[1]) if event[0] == "choose" else 1)]
        return found

    def label(self, thread: int, option: int) -> Any:
        """The next event of the thread with what it depends on, apart from its own predecessors."""
        event = self.pending[thread]
        assert event is not None
        name = (thread, self.steps[thread])
        kind, location = self._access(event)
        if kind == "read":
            return name, location, self.last_write.get(location)
        if kind == "write":
            return name, location, self.last_write.get(location), self.reads.get(location, frozenset())
        return name, event[0], option

    def step(self, thread: int, option: int) -> None:
        event = self.pending[thread]
        assert event is not None
        self.labels.append(self.label(thread, option))
        name = (thread, self.steps[thread])
        self.steps[thread] += 1
        kind, location = self._access(event)
        if kind == "read":
            self.reads[location] = self.reads.get(location, frozenset()) | {name}
        elif kind == "write":
            self.last_write[location] = name
            self.reads[location] = frozenset()
        result = self._perform(event, thread, option)
        self.pending[thread] = self._advance(self.threads[thread], result)

    def _start(self, index: int, thread: Thread) -> None:
        self.threads[index] = thread
        self.steps[index] = 0
        self.pending[index] = self._advance(thread, None)

    @staticmethod
    def _advance(thread: Thread, value: Any) -> Event | None:
        try:
            return thread.send(value)
        except StopIteration:
            return None

    def _enabled(self, event: Event) -> bool:
        if event[0] == "acquire":
            return self.owner.get(event[1]) is None
        if event[0] == "join":
            return self.pending[event[1]] is None
        return event[0] != "stop"

    def _access(self, event: Event) -> tuple[str, str]:
        """Whether the event, if done now, reads or writes, and what; two empty words if neither."""
        word = event[0]
        if word == "compare-exchange":
            return ("write" if self.memory.get(event[1], 0) == event[2] else "read"), event[1]
        if word == "try":
            return ("write" if self.owner.get(event[1]) is None else "read"), event[1]
        if word == "read":
            return "read", event[1]
        if word in ("write", "fetch-add", "acquire", "release"):
            return "write", event[1]
        return "", ""

    def _perform(self, event: Event, thread: int, option: int) -> Any:
        word, operands = event[0], event[1:]
        match word:
            case "read":
                return self.memory.get(operands[0], 0)
            case "write":
                self.memory[operands[0]] = operands[1]
            case "fetch-add":
                old = self.memory.get(operands[0], 0)
                self.memory[operands[0]] = old + 1
                return old
            case "compare-exchange":
                if self.memory.get(operands[0], 0) != operands[1]:
                    return False
                self.memory[operands[0]] = operands[2]
                return True
            case "acquire":
                self.owner[operands[0]] = thread
            case "try":
                if self.owner.get(operands[0]) is not None:
                    return False
                self.owner[operands[0]] = thread
                return True
            case "release":
                self.owner[operands[0]] = None
            case "choose":
                return operands[0][option]
            case "spawn":
                self._start(operands[0], self._thread(operands[0]))
        return None

    def _main(self) -> Thread:
        for index in self.program.top:
            yield "spawn", index
        runner = _Runner(self.seen[len(self.program.threads)])
        yield from runner.run(self.program.main)
        for child in self.program.top:
            yield "join", child

    def _thread(self, index: int) -> Thread:
        runner = _Runner(self.seen[index])
        yield from runner.run(self.program.threads[index])
        for child in runner.children:
            yield "join", child


class _Runner:
    """Interprets statements; `r` is the value read last."""

    def __init__(self, seen: list[int]) -> None:
        self.seen = seen
        self.r = 0
        self.children: list[int] = []

    def run(self, body: tuple[Statement, ...]) -> Thread:
        for statement in body:
            yield from self._one(statement)

    def _saw(self, value: Any) -> None:
        self.r = int(value)
        self.seen.append(self.r)

    def _one(self, statement: Statement) -> Thread:
        match statement:
            case Read(location):
                self._saw((yield "read", location))
            case Write(location, value):
                yield "write", location, self.r + 1 if value is None else value
            case Increment(location):
                old = yield "read", location
                yield "write", location, old + 1
            case FetchAdd(location):
                self._saw((yield "fetch-add", location))
            case CompareExchange(location, expected, desired):
                self._saw((yield "compare-exchange", location, expected, desired))
            case Choose(options):
                self._saw((yield "choose", options))
            case Assume(value):
                if self.r != value:
                    yield ("stop",)
            case If(value, body):
                if self.r == value:
                    yield from self.run(body)
            case Locked(lock, body):
                yield "acquire", lock
                yield from self.run(body)
                yield "release", lock
            case TryLocked(lock, body):
                taken = yield "try", lock
                self._saw(taken)
                if taken:
                    yield from self.run(body)
                    yield "release", lock
            case Spawn(thread):
                self.children.append(thread)
                yield "spawn", thread
            case _:
                raise TypeError(f"{type(statement).__name__} is not simple")
