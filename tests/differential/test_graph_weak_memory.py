"""Random programs explored as execution graphs under TSO, PSO and RC11, and by classes of reads-from.

The store-buffer machine is the oracle for TSO and PSO. RC11 has no machine: there
the relations between the models are asked for; what it allows exactly is compared with brute force by the kernel's
own tests, and by the litmus tests.
"""

from __future__ import annotations

from typing import Any

import generator
import pytest
from amount import SEED
from hypothesis import given, note, reject, seed
from program import Program
from test_random_programs import FEW, FIXED, MAX_INTERLEAVINGS, RANDOM, _answerer
from test_random_programs import answer as answer

from dpor.checking.guided_replay import run_guided
from dpor.codes import Code
from dpor.counterexample.schedule import decode
from dpor.errors import DporError
from dpor.results import ReplayRequest

PROGRAMS = generator.programs(rich=True, weight=6)
ITEMS = generator.programs(rich=True, weight=6, families=("items",))
WAITING = generator.programs(rich=True, weight=6, families=("predicate",))
PREDICATES = generator.programs(rich=True, weight=7, families=("predicate over several locations",))
SIMPLE = generator.programs(rich=False, weight=7)
MACHINES = ("tso", "pso")


def treated(answer: Any, program: Program, **options: Any) -> Any:
    """What `graph` says of a program; rejects one that it refuses with a code."""
    try:
        return answer(program, "graph", **options)
    except DporError as error:
        if error.code is not Code.UNSUPPORTED_PAIR:
            raise
        reject()


def agree(program: Program, answer: Any, memory_model: str) -> None:
    note(program.source())
    note(f"DPOR_PROGRAM_SEED={SEED}")
    options = {"memory_model": memory_model}
    graphs, result = treated(answer, program, **options)
    assert result.redundant == 0
    # Most programs have too many interleavings with flushes to try all; that `optimal` leaves out no outcome of
    # the machine is what `test_weak_memory_programs` is for.
    expected, _ = answer(program, "optimal", max_executions=MAX_INTERLEAVINGS, **options)
    assert graphs.found() == expected.found()
    classes, result = treated(answer, program, partition="rf", **options)
    assert result.redundant == 0
    assert classes.found() == expected.found()
    assert classes.executions <= graphs.executions


@pytest.mark.parametrize("memory_model", MACHINES)
@FIXED
@given(program=PROGRAMS)
def test_graphs_have_the_outcomes_of_the_store_buffer_machine(program, answer, memory_model):
    agree(program, answer, memory_model)


@pytest.mark.parametrize("memory_model", MACHINES)
@seed(SEED)
@RANDOM
@given(program=PROGRAMS)
def test_graphs_have_the_outcomes_of_the_machine_on_other_programs_each_time(program, answer, memory_model):
    agree(program, answer, memory_model)


@FIXED
@given(program=PROGRAMS)
def test_classes_of_reads_from_have_the_outcomes_of_sequential_consistency(program, answer):
    note(program.source())
    classes, result = treated(answer, program, partition="rf")
    expected, _ = answer(program, "exhaustive", max_executions=MAX_INTERLEAVINGS)
    assert classes.found() == expected.found()
    assert result.redundant == 0
    assert classes.executions <= expected.executions or "s.queue" in program.source()


@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
@pytest.mark.parametrize("partition", ["coherence", "rf"])
@FEW
@given(program=PROGRAMS)
def test_accesses_that_cannot_race_change_no_count(program, answer, partition, memory_model):
    note(program.source())
    options = {"memory_model": memory_model, "partition": partition, "max_executions": MAX_INTERLEAVINGS}
    graphs, result = treated(answer, program, **options)
    everything, full = treated(answer, program, elide=False, **options)
    assert graphs == everything
    assert (result.redundant, full.redundant) == (0, 0)


@FIXED
@given(program=WAITING)
def test_waiting_for_a_predicate_is_looking_until_it_holds(program, answer):
    note(program.source())
    graphs, result = treated(answer, program)
    expected, _ = answer(program, "exhaustive", max_executions=MAX_INTERLEAVINGS)
    assert graphs.found() == expected.found()
    # A spin read is an execution of its own, in which the thread is left waiting.
    assert (graphs.executions, result.redundant) == (expected.executions, 0)
    assert graphs.blocked >= expected.blocked


@pytest.mark.parametrize("algorithm", ["graph", "concolic"])
@FIXED
@given(program=PREDICATES)
def test_a_predicate_over_several_locations_is_looked_at_at_one_moment(program, answer, algorithm):
    note(program.source())
    graphs, result = answer(program, algorithm)
    expected, _ = answer(program, "exhaustive", max_executions=MAX_INTERLEAVINGS)
    assert graphs.found() == expected.found()
    # The look is ordered with writes that decide nothing, such as of `y` where `x or y` finds `x`.
    assert graphs.executions >= expected.executions
    assert graphs.blocked >= expected.blocked
    assert result.redundant == 0


@FIXED
@given(program=SIMPLE)
def test_a_weaker_memory_model_allows_at_least_as_much(program, answer):
    note(program.source())
    before: frozenset[Any] = frozenset()
    for memory_model in ("sc", "tso", "pso", "rc11"):
        graphs, result = treated(answer, program, memory_model=memory_model)
        classes, _ = treated(answer, program, memory_model=memory_model, partition="rf")
        assert result.redundant == 0
        assert before <= graphs.outcomes
        assert graphs.outcomes == classes.outcomes
        before = graphs.outcomes


@FIXED
@given(program=ITEMS)
def test_a_weaker_memory_model_allows_at_least_as_much_of_items(program, answer):
    note(program.source())
    before: frozenset[Any] = frozenset()
    for memory_model in ("sc", "pso", "rc11"):
        graphs, result = treated(answer, program, memory_model=memory_model)
        if result.assumptions:
            # A container keeps its order there.
            reject()
        assert before <= graphs.outcomes
        before = graphs.outcomes


@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
@FEW
@given(program=PROGRAMS)
def test_every_counterexample_replays_to_the_same_violation(program, tmp_path_factory, memory_model):
    note(program.source())
    folder = tmp_path_factory.mktemp("violated")
    _, result = treated(_answerer(folder), program, memory_model=memory_model)
    file = str(folder / "generated.py")
    for violation in result.violations:
        schedule = decode(violation.schedule)
        assert schedule.chosen_reads
        options = {"memory_model": memory_model}
        request = ReplayRequest(file, "program", str(folder), violation.schedule, options=options)
        replayed = run_guided(request, schedule)
        assert replayed.divergence is None
        assert replayed.violation is not None
        assert (replayed.violation.kind, replayed.violation.message) == (violation.kind, violation.message)
        assert replayed.violation.trace == violation.trace
