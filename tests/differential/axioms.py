"""Which graphs a memory model allows, by its axioms.

Sequential consistency, TSO and PSO as in Alglave, Maranget and Tautschnig, "Herding Cats" (TOPLAS'14), section 4; RC11
as in Lahav, Vafeiadis, Kang, Hur and Dreyer, "Repairing Sequential Consistency in C/C++11" (PLDI'17), section 3, with
release sequences of C++20. Each definition is written as in its paper and evaluated as it stands; nothing is shared
with the kernel.

Operations on objects (locks, starting and joining threads) are not in the papers. Here `so` orders those on one
object; it is part of happens-before, and for TSO and PSO they are fences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import relations as r
from relations import Relation

# An event is named by its thread and its number in the thread.
Name = tuple[int, int]
# Of the writes that make the initial values.
INITIAL = -2
RELEASING = ("release", "acq_rel", "seq_cst")
ACQUIRING = ("acquire", "acq_rel", "seq_cst")


@dataclass(frozen=True)
class Event:
    """One event. `kind` is load, store, update (a read-modify-write that took place), fence or object.

    `action` is what the thread does, and `answer` what it learns by it. `source` is the write that a load or an update
    reads from; for an operation on a lock, the one that left the lock as it was found.
    """

    name: Name
    kind: str
    action: tuple[Any, ...] = ()
    location: str | None = None
    order: str | None = None
    written: int | None = None
    source: Name | None = None
    answer: int | None = None

    @property
    def thread(self) -> int:
        return self.name[0]


class Graph:
    """The events of an execution with what they read from, but without a coherence order.

    `events` begin with the initial writes. `links` are pairs of operations on one object.
    """

    def __init__(self, events: tuple[Event, ...], links: frozenset[tuple[Name, Name]]) -> None:
        self.events = events
        self.size = len(events)
        number = {event.name: position for position, event in enumerate(events)}
        self.po = r.related(
            self.size,
            lambda one, other: (
                events[one].thread in (INITIAL, events[other].thread)
                and events[other].thread != INITIAL
                and events[one].name < events[other].name
            ),
        )
        self.so = r.pairs(self.size, ((number[one], number[other]) for one, other in links))
        # The order that does not depend on what is read from what.
        self.structure = r.closure(r.union(self.po, self.so))
        accesses = ((number[event.source], number[event.name]) for event in events if self._reads(event))
        self.rf = r.pairs(self.size, accesses)
        self.same = r.related(
            self.size,
            lambda one, other: (
                events[one].location is not None and events[one].location == events[other].location
            ),
        )

    @staticmethod
    def _reads(event: Event) -> bool:
        return event.kind in ("load", "update")

    def reads(self, event: int) -> bool:
        return self._reads(self.events[event])

    def writes(self, event: int) -> bool:
        return self.events[event].kind in ("store", "update")

    def is_kind(self, event: int, kind: str) -> bool:
        return self.events[event].kind == kind

    def has_order(self, event: int, *orders: str) -> bool:
        return self.events[event].order in orders

    def races(self) -> Iterator[str]:
        """The locations of accesses that conflict and are in no order that is the same in all executions."""
        for one, other in itertools.combinations(range(self.size), 2):
            ordered = self.structure[one] >> other & 1 or self.structure[other] >> one & 1
            if not ordered and self.same[one] >> other & 1 and (self.writes(one) or self.writes(other)):
                yield self.events[one].location or ""

    def possible_orders(self) -> int:
        """The number of orders of the writes of each location, allowed or not."""
        return sum(math.factorial(len(others)) for _, others in self._written())

    def orders(self) -> Iterator[list[list[int]]]:
        """Every coherence order of each location, the initial write first, in which updates are atomic: nothing comes
        between an update and what it reads from.
        """
        for first, others in self._written():
            orders = [[first, *rest] for rest in itertools.permutations(others)]
            yield [order for order in orders if self._is_atomic(order)]

    def _written(self) -> Iterator[tuple[int, list[int]]]:
        """The initial write and the others of each location."""
        for first in range(self.size):
            if self.events[first].thread == INITIAL:
                yield (
                    first,
                    [
                        event
                        for event in range(self.size)
                        if self.writes(event) and self.same[first] >> event & 1 and event != first
                    ],
                )

    def _is_atomic(self, order: list[int]) -> bool:
        return all(
            not self.is_kind(later, "update") or self.rf[earlier] >> later & 1
            for earlier, later in itertools.pairwise(order)
        )


@dataclass(frozen=True)
class Coherence:
    """`co` and `rb` of a graph, for some of its locations."""

    co: Relation
    rb: Relation

    @staticmethod
    def of(graph: Graph, orders: tuple[list[int], ...]) -> Coherence:
        """The relations for these orders of writes."""
        co = r.pairs(graph.size, (pair for order in orders for pair in itertools.combinations(order, 2)))
        rb = r.without(r.then(r.inverse(graph.rf), co), r.identity(graph.size, lambda event: True))
        return Coherence(co, rb)


class Preserving:
    """SC, TSO or PSO: coherent at each location, and part of program order is kept for everybody."""

    def __init__(self, graph: Graph, memory_model: str) -> None:
        self.graph = graph
        self.here = r.both(graph.structure, graph.same)
        external = r.related(
            graph.size, lambda one, other: graph.events[one].thread != graph.events[other].thread
        )
        if memory_model == "sc":
            self.kept = r.union(graph.structure, graph.rf)
        else:
            self.kept = r.union(
                self._preserved(memory_model), self._fenced(memory_model), r.both(graph.rf, external)
            )

    def _preserved(self, memory_model: str) -> Relation:
        """`ppo`: program order but from stores to later loads; under PSO also but from stores to stores elsewhere."""
        graph = self.graph

        def holds(one: int, other: int) -> bool:
            if not graph.po[one] >> other & 1:
                return False
            if not (graph.reads(one) or graph.writes(one)) or not (graph.reads(other) or graph.writes(other)):
                return False
            if not graph.is_kind(one, "store"):
                return True
            if graph.is_kind(other, "load"):
                return False
            return (
                memory_model == "tso"
                or not graph.is_kind(other, "store")
                or bool(graph.same[one] >> other & 1)
            )

        return r.related(graph.size, holds)

    def _fenced(self, memory_model: str) -> Relation:
        """What fences keep in order: seq_cst fences, updates, compare-exchanges that fail, operations on objects, and
        what follows a seq_cst store; under PSO a release fence, and what precedes a release store, keeps stores in
        order.
        """
        graph = self.graph
        size = graph.size
        strong = r.identity(
            size,
            lambda event: (
                graph.events[event].action[0] == "update"
                or graph.is_kind(event, "object")
                or (graph.is_kind(event, "fence") and graph.has_order(event, "seq_cst"))
            ),
        )
        stored = r.identity(
            size, lambda event: graph.is_kind(event, "store") and graph.has_order(event, "seq_cst")
        )
        reaches = r.optional(graph.structure)
        fenced = r.union(r.then(reaches, strong, reaches), r.then(reaches, stored, graph.structure))
        if memory_model == "pso":
            store = r.identity(size, lambda event: graph.is_kind(event, "store"))
            write = r.identity(size, graph.writes)
            barrier = r.identity(
                size,
                lambda event: graph.is_kind(event, "fence") and graph.has_order(event, *RELEASING),
            )
            releasing = r.identity(
                size, lambda event: graph.is_kind(event, "store") and graph.has_order(event, *RELEASING)
            )
            po = graph.po
            between = r.union(r.then(po, barrier, po), r.then(po, releasing, r.optional(po)))
            fenced = r.union(fenced, r.then(store, between, write))
        return r.without(fenced, r.identity(size, lambda event: True))

    def is_coherent(self, coherence: Coherence) -> bool:
        """Sequential consistency of the location that `coherence` is about."""
        located = r.both(self.graph.rf, self.graph.same)
        return r.is_acyclic(r.union(self.here, located, coherence.co, coherence.rb))

    def is_consistent(self, coherence: Coherence) -> bool:
        """Global happens-before has no cycle."""
        return r.is_acyclic(r.union(self.kept, coherence.co, coherence.rb))


class Rc11:
    """RC11 without its axiom of atomicity and that of thin air, which orders and graphs have by construction.

    `private` are the events to take as none where it matters that something happens elsewhere (`po|≠loc`).
    """

    def __init__(self, graph: Graph, private: Callable[[Event], bool]) -> None:
        self.graph = graph
        size = graph.size
        self.public = r.identity(size, lambda event: not private(graph.events[event]))
        write = r.identity(size, graph.writes)
        update = r.identity(size, lambda event: graph.is_kind(event, "update"))
        fence = r.identity(size, lambda event: graph.is_kind(event, "fence"))
        release = r.identity(size, lambda event: graph.has_order(event, *RELEASING))
        acquire = r.identity(size, lambda event: graph.has_order(event, *ACQUIRING))
        # rs = [W]; (rf; [U])*
        sequence = r.then(write, r.optional(r.closure(r.then(graph.rf, update))))
        # sw = [E⊒rel]; ([F]; po)?; rs; rf; [R]; (po; [F])?; [E⊒acq]
        before = r.optional(r.then(fence, graph.po))
        after = r.optional(r.then(graph.po, fence))
        synchronises = r.then(release, before, sequence, graph.rf, after, acquire)
        # hb = (po | so | sw)+
        self.hb = r.closure(r.union(graph.po, graph.so, synchronises))

    def is_coherent(self, coherence: Coherence) -> bool:
        """`hb; eco?` is irreflexive; eco relates accesses of one location, so each can be asked alone."""
        eco = r.closure(r.union(r.both(self.graph.rf, self.graph.same), coherence.co, coherence.rb))
        return r.is_irreflexive(r.then(self.hb, r.optional(eco)))

    def is_consistent(self, coherence: Coherence) -> bool:
        """`psc_base | psc_F` is acyclic."""
        graph, hb = self.graph, self.hb
        event = r.identity(graph.size, lambda event: graph.has_order(event, "seq_cst"))
        fence = r.both(event, r.identity(graph.size, lambda event: graph.is_kind(event, "fence")))
        elsewhere = r.without(graph.po, graph.same)
        here = r.both(hb, graph.same)
        # scb = po | po|≠loc; hb; po|≠loc | hb|loc | co | rb
        long = r.then(elsewhere, self.public, hb, self.public, elsewhere)
        scb = r.union(graph.po, long, here, coherence.co, coherence.rb)
        begin = r.union(event, r.then(fence, r.optional(hb)))
        end = r.union(event, r.then(r.optional(hb), fence))
        base = r.then(begin, scb, end)
        eco = r.closure(r.union(graph.rf, coherence.co, coherence.rb))
        between = r.then(fence, r.union(hb, r.then(hb, eco, hb)), fence)
        return r.is_acyclic(r.union(base, between))


def unordered_accesses(graph: Graph) -> Iterator[tuple[Event, Event]]:
    """The pairs of conflicting accesses that happens-before of RC11 leaves unordered."""
    hb = Rc11(graph, lambda event: False).hb
    for one, other in itertools.combinations(range(graph.size), 2):
        conflict = graph.same[one] >> other & 1 and (graph.writes(one) or graph.writes(other))
        if conflict and not (hb[one] >> other & 1 or hb[other] >> one & 1):
            yield graph.events[one], graph.events[other]


def orders_allowed(graph: Graph, memory_model: str, private: Callable[[Event], bool]) -> int:
    """How many coherence orders make the graph consistent under the memory model: sc, tso, pso or rc11."""
    model = Rc11(graph, private) if memory_model == "rc11" else Preserving(graph, memory_model)
    coherent: list[list[list[int]]] = []
    for orders in graph.orders():
        coherent.append([order for order in orders if model.is_coherent(Coherence.of(graph, (order,)))])
        if not coherent[-1]:
            return 0
    return sum(model.is_consistent(Coherence.of(graph, chosen)) for chosen in itertools.product(*coherent))
