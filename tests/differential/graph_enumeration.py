"""All execution graphs of a small program, without any engine: the oracle where no machine says what may happen.

A graph is made by adding one event after another, a read after the write that it reads from: all graphs without
out-of-thin-air reads (`po | rf` has no cycle) are made so, and none other. What a memory model allows is asked of
finished graphs alone. An event that decides nothing (a store, a fence, the start of a thread) is added as soon as its
thread comes to it: whatever order of events makes a graph, so does the order in which this one comes earlier.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from axioms import INITIAL, Event, Graph, Name, orders_allowed, unordered_accesses
from ordered_programs import (
    MAIN,
    PLAIN,
    CompareExchange,
    Exchange,
    Fence,
    FetchAdd,
    Join,
    Load,
    OrderedProgram,
    Spawn,
    Store,
    TryLocked,
    flattened,
)
from program import Assume, If, Locked, Statement

# What a thread is about to do: a word, then its operands. `stop` is a failed assumption.
Action = tuple[Any, ...]
Thread = Generator[Action, Any, None]
# The events of each thread that has started.
Prefix = dict[int, tuple[Event, ...]]

LOCKING = ("acquire", "try", "release")
START: Action = ("start",)
END: Action = ("end",)


@dataclass(frozen=True)
class Graphs:
    """What a memory model allows: the numbers of complete and of blocked graphs and of their classes by reads-from, the
    outcomes of the complete ones, and whether some graph ends in a deadlock.
    """

    executions: int
    blocked: int
    complete_classes: int
    blocked_classes: int
    outcomes: frozenset[Any]
    deadlock: bool


@dataclass(frozen=True)
class Ending:
    """A graph to which nothing can be added: every thread has ended, or some wait, or an assumption `stopped` one."""

    graph: Graph
    complete: bool
    stopped: bool
    outcome: Any


class Enumeration:
    """The graphs of a program, whatever the memory model. `limit` bounds the prefixes that are looked at, and the
    orders of writes that there are to try; `ended` tells whether it sufficed.
    """

    def __init__(self, program: OrderedProgram, limit: int) -> None:
        self.program = program
        self.endings: list[Ending] = []
        self._actions: dict[tuple[int, tuple[int | None, ...]], Action] = {}
        bodies = [program.body(thread) for thread in (MAIN, *range(len(program.threads)))]
        statements = [item for body in bodies for item in flattened(body)]
        locations = {item.location for item in statements if isinstance(item, ACCESSES)}
        self._initial = tuple(
            Event((INITIAL, index), "store", ("initial",), location, written=0)
            for index, location in enumerate(sorted(locations))
        )
        self.ended = (
            self._enumerate(limit) and sum(ending.graph.possible_orders() for ending in self.endings) <= limit
        )

    def _enumerate(self, limit: int) -> bool:
        seen: set[frozenset[Event]] = set()
        left = [self._forced({MAIN: (_object(MAIN, 0, START),)})]
        while left:
            prefix = left.pop()
            key = frozenset(_events(prefix))
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > limit:
                return False
            choices = list(self._choices(prefix))
            left += [self._forced(_with(prefix, event)) for event in choices]
            if not choices:
                self.endings.append(self._ending(prefix))
        return True

    def under(self, memory_model: str, *, with_private: bool = True) -> Graphs:
        """What the memory model allows of them.

        Accesses that race with nothing, and locks that one thread uses, are events like others, or not: then RC11
        orders fewer of its seq_cst events, as `po|≠loc` relates them by what lies between.
        """
        public = self._public()
        graphs = {True: 0, False: 0}
        classes = {True: 0, False: 0}
        outcomes: set[Any] = set()
        deadlock = False
        for ending in self.endings:
            allowed = orders_allowed(
                ending.graph, memory_model, lambda event: not with_private and _object_of(event) not in public
            )
            if allowed:
                graphs[ending.complete] += allowed
                classes[ending.complete] += 1
                deadlock = deadlock or not (ending.complete or ending.stopped)
                if ending.complete:
                    outcomes.add(ending.outcome)
        return Graphs(
            graphs[True], graphs[False], classes[True], classes[False], frozenset(outcomes), deadlock
        )

    def racing(self) -> set[str]:
        """The plain variables with a data race in some graph that RC11 allows."""
        found: set[str] = set()
        for ending in self.endings:
            races = {one.location or "" for one, _ in unordered_accesses(ending.graph)} & set(PLAIN)
            if races - found and orders_allowed(ending.graph, "rc11", lambda event: False):
                found |= races
        return found

    def _public(self) -> set[str | None]:
        """The locations that race, the locks of several threads, and None for all that is neither."""
        public: set[str | None] = {None}
        users: dict[str, set[int]] = {}
        for ending in self.endings:
            public.update(ending.graph.races())
            for event in ending.graph.events:
                if event.kind == "object" and event.action[0] in LOCKING:
                    users.setdefault(event.action[1], set()).add(event.thread)
        return public | {lock for lock, threads in users.items() if len(threads) > 1}

    def _action(self, prefix: Prefix, thread: int) -> Action:
        """What the thread does next."""
        answers = tuple(event.answer for event in prefix[thread][1:])
        key = (thread, answers)
        if key not in self._actions:
            running = _run(self.program.body(thread))
            action = next(running)
            for answer in answers:
                action = running.send(answer)
            self._actions[key] = action
        return self._actions[key]

    def _forced(self, prefix: Prefix) -> Prefix:
        """The prefix with all that decides nothing."""
        found = True
        while found:
            found = False
            for thread in list(prefix):
                if _has_ended(prefix, thread):
                    continue
                action = self._action(prefix, thread)
                word, operands = action[0], action[1:]
                index = len(prefix[thread])
                if word in ("end", "spawn") or (word == "join" and _has_ended(prefix, operands[0])):
                    event = _object(thread, index, action)
                elif word == "store":
                    location, value, order = operands
                    event = Event((thread, index), "store", action, location, order, value)
                elif word == "fence":
                    event = Event((thread, index), "fence", action, order=operands[0])
                else:
                    continue
                found = True
                prefix = _with(prefix, event)
                if word == "spawn":
                    prefix = _with(prefix, _object(operands[0], 0, START))
        return prefix

    def _choices(self, prefix: Prefix) -> Iterator[Event]:
        """The events that may come next: one for each write that a read can read from."""
        for thread in prefix:
            if _has_ended(prefix, thread):
                continue
            action = self._action(prefix, thread)
            name = (thread, len(prefix[thread]))
            match action:
                case ("load", location, order):
                    for write in self._writes(prefix, location):
                        found = write.written
                        yield Event(name, "load", action, location, order, None, write.name, found)
                case ("update", location, order, change):
                    updated = {event.source for event in _events(prefix) if event.kind == "update"}
                    for write in self._writes(prefix, location):
                        written, answer = change.apply(write.written)
                        if written is None:
                            yield Event(name, "load", action, location, order, None, write.name, answer)
                        elif write.name not in updated:
                            yield Event(name, "update", action, location, order, written, write.name, answer)
                case ("acquire" | "try" | "release" as word, lock):
                    last = _last_change(prefix, lock)
                    free = last is None or last.action[0] == "release"
                    source = None if last is None else last.name
                    if word == "try":
                        yield _object(thread, name[1], action, source, int(free))
                    elif word == "release" or free:
                        yield _object(thread, name[1], action, source)
                case _:
                    continue

    def _writes(self, prefix: Prefix, location: str) -> list[Event]:
        everything = (*self._initial, *_events(prefix))
        return [event for event in everything if event.location == location and event.written is not None]

    def _ending(self, prefix: Prefix) -> Ending:
        events = list(_events(prefix))
        waiting = [thread for thread in prefix if not _has_ended(prefix, thread)]
        seen = [
            tuple(event.answer for event in prefix.get(thread, ()) if event.answer is not None)
            for thread in (*range(len(self.program.threads)), MAIN)
        ]
        return Ending(
            graph=Graph((*self._initial, *events), frozenset(_links(events))),
            complete=not waiting,
            stopped=any(self._action(prefix, thread) == ("stop",) for thread in waiting),
            outcome=tuple(seen),
        )


def _links(events: list[Event]) -> Iterator[tuple[Name, Name]]:
    """The operations on objects that are ordered: starting and joining threads, and those on one lock that conflict."""
    ends = {event.thread: event.name for event in events if event.action == END}
    failed = [event for event in events if event.action[0] == "try" and not event.answer]
    for event in events:
        match event.action:
            case ("spawn", thread):
                yield event.name, (thread, 0)
            case ("join", thread):
                yield ends[thread], event.name
            case ("acquire" | "try" | "release", _) if event.source is not None:
                yield event.source, event.name
                if _changes_lock(event):
                    yield from ((other.name, event.name) for other in failed if other.source == event.source)


def _object_of(event: Event) -> str | None:
    """The location or the lock that an event is about."""
    return event.action[1] if event.kind == "object" and event.action[0] in LOCKING else event.location


def _changes_lock(event: Event) -> bool:
    word = event.action[0]
    return word in ("acquire", "release") or (word == "try" and event.answer == 1)


def _last_change(prefix: Prefix, lock: str) -> Event | None:
    """The operation that left the lock as it is; None if there was none."""
    changes = [event for event in _events(prefix) if _changes_lock(event) and event.action[1] == lock]
    found = {event.source for event in changes}
    return next((event for event in changes if event.name not in found), None)


def _has_ended(prefix: Prefix, thread: int) -> bool:
    return thread in prefix and prefix[thread][-1].action == END


def _events(prefix: Prefix) -> Iterator[Event]:
    return (event for events in prefix.values() for event in events)


def _with(prefix: Prefix, event: Event) -> Prefix:
    return {**prefix, event.thread: (*prefix.get(event.thread, ()), event)}


def _object(
    thread: int, index: int, action: Action, source: Name | None = None, answer: int | None = None
) -> Event:
    return Event((thread, index), "object", action, source=source, answer=answer)


@dataclass(frozen=True)
class Change:
    """What a read-modify-write does with what it finds: the value to write (None: it is a read) and what it returns."""

    statement: Exchange | FetchAdd | CompareExchange

    def apply(self, found: int | None) -> tuple[int | None, int | None]:
        assert found is not None
        match self.statement:
            case Exchange(_, value):
                return value, found
            case FetchAdd():
                return found + 1, found
            case CompareExchange(_, expected, desired):
                return (desired, 1) if found == expected else (None, 0)


ACCESSES = (Load, Store, Exchange, FetchAdd, CompareExchange)


def _run(body: tuple[Statement, ...]) -> Thread:
    """Interpret the statements of a thread up to its end."""
    yield from _Runner().run(body)
    while True:
        yield END


class _Runner:
    """Interprets statements; `r` is the value read last."""

    def __init__(self) -> None:
        self.r = 0

    def run(self, body: tuple[Statement, ...]) -> Thread:
        for statement in body:
            yield from self._one(statement)

    def _one(self, statement: Statement) -> Thread:
        match statement:
            case Load(location, order):
                self.r = yield "load", location, order
            case Store(location, value, order):
                yield "store", location, self.r + 1 if value is None else value, order
            case Exchange() | FetchAdd() | CompareExchange():
                self.r = yield "update", statement.location, statement.order, Change(statement)
            case Fence(order):
                yield "fence", order
            case Assume(value):
                while self.r != value:
                    yield ("stop",)
            case If(value, body):
                if self.r == value:
                    yield from self.run(body)
            case Locked(lock, body):
                yield "acquire", lock
                yield from self.run(body)
                yield "release", lock
            case TryLocked(lock, body):
                self.r = yield "try", lock
                if self.r:
                    yield from self.run(body)
                    yield "release", lock
            case Spawn(thread):
                yield "spawn", thread
            case Join(thread):
                yield "join", thread
            case _:
                raise TypeError(f"{type(statement).__name__} is not interpreted")
