"""Small concurrent programs as data, and their text as a Python model file.

A program is a few threads made of statements. Every thread keeps a local `r`, the value that it last read,
and in `seen` all that it read; branches look at `r`. When all threads have ended, the model hands
`seen` and the shared state to `differential_sink.record`, so that a check can be asked for the set of
outcomes, and asserts something that may or may not hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

INDENT = "    "


@dataclass(frozen=True)
class Statement:
    """One statement; `weight` is about the number of events that it makes."""

    weight: ClassVar[int] = 1

    def lines(self) -> list[str]:
        """Return the statement as Python lines, not indented."""
        raise NotImplementedError

    def total_weight(self) -> int:
        """The weight with that of everything nested in it."""
        return self.weight + sum(item.total_weight() for item in self.nested())

    def nested(self) -> tuple[Statement, ...]:
        """The statements inside this one."""
        return ()


@dataclass(frozen=True)
class Code(Statement):
    """Python text of one or more lines that makes about `cost` events."""

    text: str
    cost: int = 1

    def lines(self) -> list[str]:
        return self.text.split("\n")

    def total_weight(self) -> int:
        return self.cost


@dataclass(frozen=True)
class Read(Statement):
    """Read a location into `r`."""

    location: str

    def lines(self) -> list[str]:
        suffix = ".load()" if is_atomic(self.location) else ""
        return [f"r = {self.location}{suffix}", "seen.append(r)"]


@dataclass(frozen=True)
class Write(Statement):
    """Write a constant, or `r` plus one, to a location."""

    location: str
    value: int | None

    def lines(self) -> list[str]:
        value = "r + 1" if self.value is None else str(self.value)
        return [
            f"{self.location}.store({value})" if is_atomic(self.location) else f"{self.location} = {value}"
        ]


@dataclass(frozen=True)
class Increment(Statement):
    """An augmented assignment: a read and a write."""

    location: str
    weight: ClassVar[int] = 2

    def lines(self) -> list[str]:
        if is_atomic(self.location):
            return [f"{self.location}.store({self.location}.load() + 1)"]
        return [f"{self.location} += 1"]


@dataclass(frozen=True)
class FetchAdd(Statement):
    """An atomic addition of which the old value becomes `r`."""

    location: str

    def lines(self) -> list[str]:
        return [f"r = {self.location}.fetch_add(1)", "seen.append(r)"]


@dataclass(frozen=True)
class CompareExchange(Statement):
    """A compare-and-swap; `r` becomes 1 if it succeeded and 0 if not."""

    location: str
    expected: int
    desired: int

    def lines(self) -> list[str]:
        return [
            f"r = int({self.location}.compare_exchange({self.expected}, {self.desired}))",
            "seen.append(r)",
        ]


@dataclass(frozen=True)
class Locked(Statement):
    """A critical section."""

    lock: str
    body: tuple[Statement, ...]
    weight: ClassVar[int] = 2

    def nested(self) -> tuple[Statement, ...]:
        return self.body

    def lines(self) -> list[str]:
        return [f"with {self.lock}:", *block(self.body)]


@dataclass(frozen=True)
class TryLocked(Statement):
    """A critical section that is left out if the lock is taken; `r` says which."""

    lock: str
    body: tuple[Statement, ...]
    weight: ClassVar[int] = 2

    def nested(self) -> tuple[Statement, ...]:
        return self.body

    def lines(self) -> list[str]:
        return [
            f"r = int({self.lock}.acquire(blocking=False))",
            "seen.append(r)",
            "if r:",
            *block((*self.body, Code(f"{self.lock}.release()"))),
        ]


@dataclass(frozen=True)
class If(Statement):
    """A branch on the value that was read last."""

    value: int
    body: tuple[Statement, ...]
    weight: ClassVar[int] = 0

    def nested(self) -> tuple[Statement, ...]:
        return self.body

    def lines(self) -> list[str]:
        return [f"if r == {self.value}:", *block(self.body)]


@dataclass(frozen=True)
class Assume(Statement):
    """Give the execution up unless `r` has this value."""

    value: int
    weight: ClassVar[int] = 0

    def lines(self) -> list[str]:
        return [f"dpor.assume(r == {self.value})"]


@dataclass(frozen=True)
class Choose(Statement):
    """Take each of these values."""

    options: tuple[int, ...]

    def lines(self) -> list[str]:
        return [f"r = dpor.choose({list(self.options)})", "seen.append(r)"]


@dataclass(frozen=True)
class Check(Statement):
    """An assertion in a thread, about the value that it read last."""

    forbidden: int
    weight: ClassVar[int] = 0

    def lines(self) -> list[str]:
        return [f'assert r != {self.forbidden}, "read {self.forbidden}"']


@dataclass(frozen=True)
class Spawn(Statement):
    """Start the thread with this index in `Program.threads`; it is joined at the end of its parent."""

    thread: int

    def lines(self) -> list[str]:
        return [f"children.append(dpor.spawn(thread_{self.thread}, s))"]


@dataclass(frozen=True)
class Program:
    """Threads by index; `top` are those that main spawns, the others are spawned by a `Spawn`.

    `main` are statements of main between the spawns and the joins; `forbidden` is the number that no final
    value and nothing read may add up to.
    """

    threads: tuple[tuple[Statement, ...], ...]
    top: tuple[int, ...]
    main: tuple[Statement, ...] = ()
    forbidden: int = -1

    def total_weight(self) -> int:
        """About the number of events of an execution."""
        return sum(item.total_weight() for thread in (*self.threads, self.main) for item in thread)

    def source(self) -> str:
        """The program as the text of a Python file with one model, `program`."""
        parts = [HEADER + (GLOBAL if self._uses_global() else ""), STATE]
        for index, thread in enumerate(self.threads):
            parts.append(self._function(index, thread))
        parts.append(self._model())
        return "\n\n".join(parts)

    def _uses_global(self) -> bool:
        # A module that its functions change is loaded afresh for every execution; most programs do without.
        statements = [item for body in (*self.threads, self.main) for item in _flatten(body)]
        return any(getattr(item, "location", None) == "total" for item in statements)

    def _global(self) -> list[str]:
        return [INDENT + "global total"] if self._uses_global() else []

    def _function(self, index: int, thread: tuple[Statement, ...]) -> str:
        lines = [f"def thread_{index}(s):", *self._global(), INDENT + "seen = ()"]
        spawns = any(isinstance(item, Spawn) for item in _flatten(thread))
        lines += [INDENT + "r = 0"] + ([INDENT + "children = []"] if spawns else [])
        lines += block(thread)
        if spawns:
            lines += [INDENT + "for child in children:", INDENT * 2 + "child.join()"]
        return _without_lists("\n".join([*lines, INDENT + f"s.seen[{index}] = seen"]) + "\n")

    def _model(self) -> str:
        count = len(self.threads)
        lines = ["@dpor.model", "def program():", *self._global()]
        lines += [INDENT + f"s = State({count + 1})", INDENT + "seen = ()", INDENT + "r = 0"]
        lines += [INDENT + f"dpor.spawn(thread_{index}, s)" for index in self.top]
        lines += block(self.main) if self.main else []
        lines += [
            INDENT + "dpor.join_all()",
            INDENT + f"s.seen[{count}] = seen",
            INDENT + f"outcome = s.outcome({'total' if self._uses_global() else 0})",
            INDENT + "record(outcome)",
            INDENT + f'assert score(outcome) != {self.forbidden}, f"outcome {{outcome}}"',
        ]
        return _without_lists("\n".join(lines) + "\n")


def _without_lists(text: str) -> str:
    """What was seen as a tuple: an operation on a list waits for the thread's store buffers."""
    text = re.sub(r"seen\.append\((.*)\)$", r"seen += (\1,)", text, flags=re.MULTILINE)
    return re.sub(r"seen\.extend\((.*)\)$", r"seen += tuple(\1)", text, flags=re.MULTILINE)


def block(statements: tuple[Statement, ...]) -> list[str]:
    """The statements' lines, indented once; `pass` if there are none."""
    lines = [INDENT + line for item in statements for line in item.lines()]
    return lines or [INDENT + "pass"]


def is_atomic(location: str) -> bool:
    """True if the location is a `dpor.Atomic`."""
    return location in ("s.a", "s.b")


def _flatten(statements: tuple[Statement, ...]) -> list[Statement]:
    found: list[Statement] = []
    for item in statements:
        found += [item, *_flatten(item.nested())]
    return found


HEADER = """\
import queue
import threading
from dataclasses import dataclass

import dpor
from differential_sink import record, score
"""

GLOBAL = "\ntotal = 0\n"

STATE = """\
@dataclass
class Box:
    x: int = 0
    y: int = 0


class State:
    def __init__(self, threads):
        self.seen = [()] * threads
        self.x = 0
        self.y = 0
        self.cells = [0, 0]
        self.table = {"k": 0}
        self.items = []
        self.found = set()
        self.rows = [[0], [1]]
        self.box = Box()
        self.twin = Box()
        self.a = dpor.Atomic(0)
        self.b = dpor.Atomic(0)
        self.lock = threading.Lock()
        self.other = threading.Lock()
        self.reentrant = threading.RLock()
        self.changed = threading.Condition()
        self.flag = threading.Event()
        self.permits = threading.Semaphore(1)
        self.queue = queue.Queue()

    def outcome(self, total):
        seen = tuple(self.seen)
        containers = (tuple(self.cells), tuple(self.table.items()), tuple(self.items), tuple(sorted(self.found)))
        whole = (str(self.rows), repr(self.box), repr(self.twin))
        return seen, (self.x, self.y, total, self.a.load(), self.b.load()), containers + whole
"""
