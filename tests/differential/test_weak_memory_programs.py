"""Random programs under TSO and PSO: every algorithm against every interleaving of the same machine.

What the machine itself does is compared with an independent one by the kernel's own tests, and with the axiomatic
models by the litmus tests.
"""

from __future__ import annotations

from typing import Any

import generator
import pytest
from amount import SEED
from hypothesis import given, note, seed
from program import Program
from test_random_programs import (
    FEW,
    FIXED,
    MAX_INTERLEAVINGS,
    RANDOM,
    _answerer,
    comparable_where_whole,
    comparable_without_elision,
)
from test_random_programs import answer as answer

from dpor.checking.guided_replay import run_guided
from dpor.counterexample.schedule import decode
from dpor.results import ReplayRequest

PROGRAMS = generator.programs(rich=True, weight=6)
MACHINES = ("tso", "pso")


def agree(program: Program, answer: Any, memory_model: str) -> None:
    note(program.source())
    note(f"DPOR_PROGRAM_SEED={SEED}")
    options = {"memory_model": memory_model}
    expected, _ = answer(program, "exhaustive", max_executions=MAX_INTERLEAVINGS, **options)
    for algorithm in ("source", "optimal", "parsimonious"):
        got, result = answer(program, algorithm, **options)
        assert (algorithm, comparable_where_whole(program, algorithm, got)) == (
            algorithm,
            comparable_where_whole(program, algorithm, expected),
        )
        assert got.executions + got.blocked >= expected.executions + expected.blocked
        assert algorithm == "source" or result.redundant == 0
    # Stores that nobody can see being late pass by the buffers as a rule; if none does, the same must come out.
    got, result = answer(program, "optimal", elide=False, **options)
    got, expected = comparable_without_elision(program, got), comparable_without_elision(program, expected)
    assert ("optimal without elision", got) == ("optimal without elision", expected)
    assert result.redundant == 0


@pytest.mark.parametrize("memory_model", MACHINES)
@FIXED
@given(program=PROGRAMS)
def test_algorithms_agree_with_exhaustive_search(program, answer, memory_model):
    agree(program, answer, memory_model)


@pytest.mark.parametrize("memory_model", MACHINES)
@seed(SEED)
@RANDOM
@given(program=PROGRAMS)
def test_algorithms_agree_with_exhaustive_search_on_other_programs_each_time(program, answer, memory_model):
    agree(program, answer, memory_model)


@pytest.mark.parametrize("memory_model", MACHINES)
@FEW
@given(program=PROGRAMS)
def test_every_counterexample_replays_to_the_same_violation(program, tmp_path_factory, memory_model):
    note(program.source())
    folder = tmp_path_factory.mktemp("violated")
    _, result = _answerer(folder)(program, "optimal", memory_model=memory_model)
    file = str(folder / "generated.py")
    for violation in result.violations:
        schedule = decode(violation.schedule)
        assert schedule.memory_model == memory_model
        options = {"memory_model": memory_model}
        request = ReplayRequest(file, "program", str(folder), violation.schedule, options=options)
        replayed = run_guided(request, schedule)
        assert replayed.divergence is None
        assert replayed.violation is not None
        assert replayed.violation.kind is violation.kind
        assert replayed.violation.trace == violation.trace
