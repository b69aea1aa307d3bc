"""Random programs with C11's memory orders against an enumeration of all graphs by the axioms of each memory model.

`graph` has the same numbers of graphs and of reads-from classes and the same outcomes; the explorers of interleavings,
where they know the memory model, the same outcomes.
"""

from __future__ import annotations

from typing import Any

import pytest
from amount import PROGRAMS, SEED
from graph_enumeration import Enumeration
from ordered_programs import CompareExchange, FetchAdd, Generator, Join, Load, OrderedProgram, Spawn, Store
from test_random_programs import answer as answer

MODELS = ("sc", "tso", "pso", "rc11")
WEIGHT = 9
# Prefixes of graphs: enough for most programs of this weight; what needs more is left out and another one drawn.
MAX_PREFIXES = 600


def agree(program: OrderedProgram, enumeration: Enumeration, answer: Any, context: str) -> None:
    """Compare all that explores graphs, or their outcomes, with the enumeration."""
    for memory_model in MODELS:
        expected = enumeration.under(memory_model)
        verdict = "violated" if expected.deadlock else "verified"
        counts = {"coherence": (expected.executions, expected.blocked)}
        counts["rf"] = (expected.complete_classes, expected.blocked_classes)
        for partition, (executions, blocked) in counts.items():
            got, result = answer(program, "graph", memory_model=memory_model, partition=partition)
            case = f"graph, {memory_model}, {partition}\n{context}"
            assert got.outcomes == expected.outcomes, case
            assert (got.executions, got.blocked, result.redundant) == (executions, blocked, 0), case
            assert got.verdict == verdict, case
        for algorithm in ("optimal", "parsimonious") if memory_model != "rc11" else ():
            got, result = answer(program, algorithm, memory_model=memory_model)
            case = f"{algorithm}, {memory_model}\n{context}"
            assert (got.outcomes, got.verdict, result.redundant) == (expected.outcomes, verdict, 0), case


def drawn(seed: int) -> tuple[OrderedProgram, Enumeration]:
    """The first program of the seed whose graphs are few enough."""
    generator = Generator(seed, WEIGHT)
    while True:
        program = generator.program()
        enumeration = Enumeration(program, MAX_PREFIXES)
        if len(enumeration.endings) == 1:
            continue
        # Under RC11 it can matter whether accesses that race with nothing are events; for `graph` they are none.
        if enumeration.ended and enumeration.under("rc11") == enumeration.under("rc11", with_private=False):
            return program, enumeration


@pytest.mark.parametrize("number", range(max(1, PROGRAMS // 2)))
@pytest.mark.parametrize("first", [0, SEED], ids=["fixed", "seeded"])
def test_graphs_are_those_that_the_axioms_allow(first, number, answer):
    program, enumeration = drawn(first + number)
    agree(program, enumeration, answer, f"seed {first + number}\n{program.source()}")


@pytest.mark.parametrize("number", range(PROGRAMS))
@pytest.mark.parametrize("first", [0, SEED], ids=["fixed", "seeded"])
def test_data_races_are_accesses_that_happens_before_leaves_unordered(first, number, answer):
    program, enumeration = drawn(first + number)
    got, _ = answer(program, "graph", memory_model="rc11", races="error")
    found = [one for one in got.broken if "DATA_RACE" in one]
    assert len(found) == len(enumeration.racing()), f"seed {first + number}\n{program.source()}"


@pytest.mark.parametrize("memory_model", MODELS)
@pytest.mark.parametrize(
    ("threads", "main"),
    [
        # Store buffering, with half of a thread after the join of another: `s.a` is stored to before `s.b` is loaded.
        (
            ((Store("s.a", 1, "seq_cst"),), (Store("s.b", 1, "seq_cst"), Load("s.a", "seq_cst"))),
            (Spawn(0), Spawn(1), Join(0), Load("s.b", "seq_cst"), Join(1)),
        ),
        # The same with a start between the two.
        (
            ((Store("s.b", 1, "seq_cst"), Load("s.a", "seq_cst")), (Load("s.b", "seq_cst"),)),
            (Spawn(0), Store("s.a", 1, "seq_cst"), Spawn(1), Join(0), Join(1)),
        ),
    ],
    ids=["join", "start"],
)
def test_the_order_of_seq_cst_accesses_respects_starts_and_joins(threads, main, memory_model, answer):
    program = OrderedProgram(threads, main)
    expected = Enumeration(program, MAX_PREFIXES).under(memory_model)
    got, _ = answer(program, "graph", memory_model=memory_model)
    assert (got.executions, got.outcomes) == (3, expected.outcomes)


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
def test_a_compare_exchange_that_fails_waits_for_the_store_buffers(memory_model, answer):
    left = (Store("s.x", 1, "relaxed"), CompareExchange("s.b", 1, 1, "relaxed"))
    right = (FetchAdd("s.b", "relaxed"), Load("s.x", "relaxed"))
    program = OrderedProgram((left, right), (Spawn(0), Spawn(1), Join(0), Join(1)))
    expected = Enumeration(program, MAX_PREFIXES).under(memory_model).outcomes
    assert ((0,), (0, 0), ()) not in expected
    for algorithm in ("graph", "optimal", "parsimonious", "source", "exhaustive"):
        got, _ = answer(program, algorithm, memory_model=memory_model)
        assert (algorithm, got.outcomes) == (algorithm, expected)
