"""Small concurrent programs with C11's memory orders: as data, as the text of a Python model, and drawn at random.

Main starts the threads, does something meanwhile, joins them one by one, and does something after each join. As in
`program`, a thread keeps in `r` what it read last and in `seen` all that it read; the outcome is what all threads have
seen. It is kept in tuples, since an operation on a list waits for the store buffers.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from program import INDENT, Assume, If, Locked, Statement, block

PLAIN = ("s.x", "s.y")
ATOMIC = ("s.a", "s.b")
LOCKS = ("s.lock", "s.other")
LOAD_ORDERS = ("relaxed", "acquire", "seq_cst")
STORE_ORDERS = ("relaxed", "release", "seq_cst")
UPDATE_ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
FENCE_ORDERS = ("acquire", "release", "acq_rel", "seq_cst")
# What the operations of one program may be.
SORTS = (
    UPDATE_ORDERS,
    UPDATE_ORDERS,
    ("relaxed", "acquire", "release", "acq_rel"),
    ("relaxed", "seq_cst"),
    ("seq_cst",),
)
# The thread in which the model itself runs.
MAIN = -1


def _order(order: str, *others: str) -> str:
    """The arguments of an operation; the default order is left out."""
    return ", ".join((*others, f'order="{order}"') if order != "seq_cst" else others)


@dataclass(frozen=True)
class Load(Statement):
    """Read a location into `r`; plain variables have the order "relaxed"."""

    location: str
    order: str

    def lines(self) -> list[str]:
        call = f".load({_order(self.order)})" if self.location in ATOMIC else ""
        return [f"r = {self.location}{call}", "seen += (r,)"]


@dataclass(frozen=True)
class Store(Statement):
    """Write a constant, or `r` plus one, to a location."""

    location: str
    value: int | None
    order: str

    def lines(self) -> list[str]:
        value = "r + 1" if self.value is None else str(self.value)
        if self.location in ATOMIC:
            return [f"{self.location}.store({_order(self.order, value)})"]
        return [f"{self.location} = {value}"]


@dataclass(frozen=True)
class Exchange(Statement):
    """Write a constant; `r` becomes the old value."""

    location: str
    value: int
    order: str

    def lines(self) -> list[str]:
        return [f"r = {self.location}.exchange({_order(self.order, str(self.value))})", "seen += (r,)"]


@dataclass(frozen=True)
class FetchAdd(Statement):
    """Add one; `r` becomes the old value."""

    location: str
    order: str

    def lines(self) -> list[str]:
        return [f"r = {self.location}.fetch_add({_order(self.order, '1')})", "seen += (r,)"]


@dataclass(frozen=True)
class CompareExchange(Statement):
    """A compare-and-swap; `r` becomes 1 if it succeeded and 0 if not."""

    location: str
    expected: int
    desired: int
    order: str

    def lines(self) -> list[str]:
        arguments = _order(self.order, str(self.expected), str(self.desired))
        return [f"r = int({self.location}.compare_exchange({arguments}))", "seen += (r,)"]


@dataclass(frozen=True)
class Fence(Statement):
    """A memory fence."""

    order: str

    def lines(self) -> list[str]:
        return [f"dpor.fence({_order(self.order)})"]


@dataclass(frozen=True)
class TryLocked(Statement):
    """A critical section that is left out if the lock is taken; `r` says which."""

    lock: str
    body: tuple[Statement, ...]
    weight: ClassVar[int] = 2

    def nested(self) -> tuple[Statement, ...]:
        return self.body

    def lines(self) -> list[str]:
        body = [*block(self.body), INDENT + f"{self.lock}.release()"]
        return [f"r = int({self.lock}.acquire(blocking=False))", "seen += (r,)", "if r:", *body]


@dataclass(frozen=True)
class Spawn(Statement):
    """Start the thread with this index."""

    thread: int

    def lines(self) -> list[str]:
        return [f"child_{self.thread} = dpor.spawn(thread_{self.thread}, s)"]


@dataclass(frozen=True)
class Join(Statement):
    """Wait until the thread with this index has ended."""

    thread: int

    def lines(self) -> list[str]:
        return [f"child_{self.thread}.join()"]


@dataclass(frozen=True)
class OrderedProgram:
    """Threads by index, and what main does; every thread is started once and joined by who started it."""

    threads: tuple[tuple[Statement, ...], ...]
    main: tuple[Statement, ...]

    def body(self, thread: int) -> tuple[Statement, ...]:
        """The statements of a thread."""
        return self.main if thread == MAIN else self.threads[thread]

    def source(self) -> str:
        """The program as the text of a Python file with one model, `program`."""
        parts = [HEADER]
        for index, thread in enumerate(self.threads):
            lines = [f"def thread_{index}(s):", INDENT + "r, seen = 0, ()", *block(thread)]
            parts.append("\n".join([*lines, INDENT + f"s.seen_{index} = seen"]) + "\n")
        lines = ["@dpor.model", "def program():", INDENT + "s = State()", INDENT + "r, seen = 0, ()"]
        lines += block(self.main) if self.main else []
        outcome = ", ".join([*(f"s.seen_{index}" for index in range(len(self.threads))), "seen"])
        parts.append("\n".join([*lines, INDENT + f"record(({outcome}))"]) + "\n")
        return "\n\n".join(parts)


HEADER = """\
import threading

import dpor
from differential_sink import record


class State:
    def __init__(self):
        self.x = 0
        self.y = 0
        self.a = dpor.Atomic(0)
        self.b = dpor.Atomic(0)
        self.lock = threading.Lock()
        self.other = threading.Lock()
"""


class Generator:
    """Draws programs of about `weight` events; the same ones for the same seed."""

    def __init__(self, seed: int, weight: int) -> None:
        self.random = random.Random(seed)
        self.weight = weight
        # What the threads of the program use: the fewer locations, the more they meet.
        self.locations: list[str] = []
        self.locks: tuple[str, ...] = ()
        self.orders: tuple[str, ...] = ()

    def program(self) -> OrderedProgram:
        """Draw a program of up to four threads beside main."""
        draw = self.random.choice
        self.locations = self.random.sample((*ATOMIC, *PLAIN), draw((1, 2, 2, 2, 2, 3)))
        self.locks = draw(((), (), (), LOCKS[:1], LOCKS))
        self.orders = draw(SORTS)
        return self._ring() if draw((True, False)) else self._mixture()

    def _mixture(self) -> OrderedProgram:
        """Threads that do anything, and main too."""
        draw = self.random.choice
        count = draw((1, 2, 2, 2, 2, 3, 3))
        after = draw((0, 0, 0, 1, 2))
        # What main does before it joins makes it one thread more.
        before = draw((2, 3, 4)) if count == 1 else draw((0, 0, 0, 0, 1, 2))
        share = max(1, (self.weight - before - after) // count)
        threads = [self._body(share, ()) for _ in range(count)]
        top = list(range(count))
        if count > 1 and draw((True, False, False, False)):
            self._start_last_by_another(threads)
            top.pop()
        return OrderedProgram(tuple(threads), self._main(top, before, after))

    def _ring(self) -> OrderedProgram:
        """Threads that go from one location to the next and in the end back to the first: only in such rings do memory
        models differ. A thread stays at a location or goes on to the next; locks are taken in such rings too.
        """
        draw = self.random.choice
        moves = draw(
            ((True, True),) * 4 + ((False, True, True), (True, True, True), (False, True, False, True))
        )
        places = self.random.sample((*ATOMIC, *PLAIN), sum(moves))
        locked = len(self.locks) == len(places) and draw((True, False))
        extra = max(0, self.weight - len(moves) - len(places))
        threads: list[tuple[Statement, ...]] = []
        place = 0
        for move in moves:
            one, other = place, (place + move) % len(places)
            if locked and move:
                inner = Locked(self.locks[other], (self._access(places[one]),))
                threads.append((Locked(self.locks[one], (inner, self._access(places[other]))),))
            else:
                body = [self._access(places[one])]
                if extra and draw((True, False)):
                    extra -= 1
                    body += self._body(1, ())
                if move:
                    body.append(self._access(places[other]))
                threads.append(tuple(body))
            place = other
        self.random.shuffle(threads)
        return OrderedProgram(tuple(threads), self._main(range(len(threads)), 0, min(extra, draw((0, 0, 1)))))

    def _main(self, top: Iterable[int], before: int, after: int) -> tuple[Statement, ...]:
        """Start the threads and join them, with about so many events before the first join and after one."""
        main: list[Statement] = [Spawn(thread) for thread in top]
        main += self._body(before, ())
        for thread in top:
            main.append(Join(thread))
            if after and self.random.choice((True, False)):
                main += self._body(after, ())
                after = min(after, 1)
        return tuple(main)

    def _start_last_by_another(self, threads: list[tuple[Statement, ...]]) -> None:
        parent = self.random.randrange(len(threads) - 1)
        body = list(threads[parent])
        start = self.random.randint(0, len(body))
        body.insert(start, Spawn(len(threads) - 1))
        body.insert(self.random.randint(start + 1, len(body)), Join(len(threads) - 1))
        threads[parent] = tuple(body)

    def _body(self, weight: int, held: tuple[str, ...]) -> tuple[Statement, ...]:
        """Statements that weigh about `weight` together; `held` are the locks around them."""
        body: list[Statement] = []
        while weight > 0:
            body.append(self._statement(weight, held))
            # An assumption weighs nothing, but two are too many.
            weight -= max(1, body[-1].total_weight())
        return tuple(body)

    def _statement(self, weight: int, held: tuple[str, ...]) -> Statement:
        shape = self.random.randrange(20)
        free = [lock for lock in self.locks if lock not in held]
        if shape < 6 and free and weight > 1:
            lock = self.random.choice(free)
            body = self._body(weight - 2, (*held, lock))
            return TryLocked(lock, body) if shape == 0 else Locked(lock, body)
        if shape == 6 and weight > 1:
            return If(self._value(), self._body(min(weight, 2), held))
        if shape == 7:
            return Assume(self._value())
        if shape in (8, 9):
            return Fence(self._among(FENCE_ORDERS))
        return self._access(self.random.choice(self.locations))

    def _access(self, location: str) -> Statement:
        kind = self.random.randrange(9 if location in ATOMIC else 6)
        if kind <= 2:
            return Load(location, self._among(LOAD_ORDERS) if location in ATOMIC else "relaxed")
        if kind <= 5:
            order = self._among(STORE_ORDERS) if location in ATOMIC else "relaxed"
            return Store(location, self.random.choice((1, 1, 2, 0, None)), order)
        order = self._among(UPDATE_ORDERS)
        if kind == 6:
            return Exchange(location, self._value(), order)
        if kind == 7:
            return FetchAdd(location, order)
        # Most of them can succeed: a failing one is a mere read.
        return CompareExchange(location, self.random.choice((0, 0, 1)), self._value(), order)

    def _value(self) -> int:
        return self.random.choice((0, 1, 1, 2))

    def _among(self, possible: tuple[str, ...]) -> str:
        return self.random.choice([order for order in possible if order in self.orders] or possible[-1:])


def flattened(body: tuple[Statement, ...]) -> list[Statement]:
    """The statements with all that is nested in them."""
    return [item for statement in body for item in (statement, *flattened(statement.nested()))]
