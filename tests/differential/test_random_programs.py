"""Random programs: every algorithm gives the verdict, the outcomes and the class counts of the exhaustive
search.

Half of the programs are always the same ones, the other half come from a seed that the header of the run
names. `DPOR_PROGRAMS=5000 pytest tests/differential` (or `--programs 5000`) runs more of them.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import brute_force
import differential_sink
import generator
import pytest
from amount import PROGRAMS, SEED
from checked_programs import named
from hypothesis import HealthCheck, Phase, given, note, reject, seed, settings
from program import Program

from dpor.checking import check as checking
from dpor.checking.guided_replay import run_guided
from dpor.codes import Code
from dpor.counterexample.schedule import decode
from dpor.errors import DporError
from dpor.results import CheckRequest, ReplayRequest, Verdict

# Enough for most programs of this weight; what needs more is left out and another program drawn.
MAX_INTERLEAVINGS = 3_000
MAX_PREFIXES = 20_000

COMMON = {
    "database": None,
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.generate, Phase.shrink),
}
FIXED = settings(max_examples=PROGRAMS, derandomize=True, **COMMON)
RANDOM = settings(max_examples=PROGRAMS, **COMMON)
FEW = settings(max_examples=max(1, PROGRAMS // 10), derandomize=True, **COMMON)

RICH = generator.programs(rich=True, weight=8)
LOOPS = generator.programs(rich=True, weight=8, families=("loop",))
WAITS = generator.programs(rich=True, weight=8, families=("condition", "timed condition", "event", "queue"))
PREDICATES = generator.programs(rich=True, weight=9, families=("predicate over several locations",))
LOOKS = generator.programs(
    rich=True, weight=8, families=("predicate over one location", "predicate over several locations")
)
WHOLE = generator.programs(rich=True, weight=7, families=("whole",))
SIMPLE = generator.programs(rich=False, weight=10)
SMALL = generator.programs(rich=False, weight=7)


@dataclass(frozen=True)
class Answer:
    """What two algorithms have to agree on; `broken` says what kind of violation there is where."""

    verdict: str
    executions: int
    blocked: int
    outcomes: frozenset[Any]
    broken: frozenset[str]

    def found(self) -> tuple[Any, ...]:
        """What must be the same whatever the classes are."""
        return self.verdict, self.broken, self.outcomes


@dataclass(frozen=True)
class Text:
    """A program that was written down and changed."""

    text: str

    def source(self) -> str:
        return self.text


@pytest.fixture
def answer(tmp_path_factory, monkeypatch):
    """Return `answer(program, algorithm, **options) -> (Answer, ModelResult)`; rejects what does not end.

    Violations are named, not explained: to minimise each of them would take longer than all the rest.
    """
    monkeypatch.setattr(checking, "_EXPLAINED", sys.maxsize)
    monkeypatch.setattr(checking._Check, "_explain", lambda check, found: named(found))
    return _answerer(tmp_path_factory.mktemp("programs"))


def _answerer(folder: Path):
    def run(program: Program | Text, algorithm: str, **options: Any):
        path = folder / "generated.py"
        path.write_text(program.source(), encoding="utf-8")
        request = CheckRequest(
            file=str(path),
            model="program",
            root=str(folder),
            options={"algorithm": algorithm, **options},
            all_violations=True,
        )
        differential_sink.take()
        result = checking.check_model(request, lambda progress: None)
        outcomes = differential_sink.take()
        # A violated model has no reason even if a bound ended the search, so the bound is looked at itself.
        explored = result.executions + result.blocked + result.redundant
        if explored >= options.get("max_executions", float("inf")):
            reject()
        assert result.reason is None, result.reason
        broken = frozenset(violation.message for violation in result.violations)
        assert bool(broken) == (result.verdict is Verdict.VIOLATED)
        return Answer(result.verdict.value, result.executions, result.blocked, outcomes, broken), result

    return run


def treating(program: Program | Text) -> tuple[str, ...]:
    """The algorithms that can treat the program."""
    algorithms = ("source", "optimal", "parsimonious", "unfolding")
    return algorithms if "wait_until(" in program.source() else (*algorithms, "graph")


def comparable_without_elision(program: Program, answer: Answer) -> Answer:
    """What must not depend on elision. Without it, what is inside of something is taken as if it could be
    exchanged, so that orders count which the program cannot tell apart.
    """
    nested = "s.rows" in program.source() or "s.box" in program.source()
    return replace(answer, executions=0, blocked=0) if nested else answer


def comparable_where_whole(program: Program, algorithm: str, answer: Answer) -> Answer:
    """What must not depend on whether a queue is one location, as it is for some algorithms."""
    whole = algorithm in ("parsimonious", "graph") and "s.queue" in program.source()
    return replace(answer, executions=0, blocked=0) if whole else answer


def agree(program: Program, answer: Any) -> None:
    note(program.source())
    note(f"DPOR_PROGRAM_SEED={SEED}")
    expected, _ = answer(program, "exhaustive", max_executions=MAX_INTERLEAVINGS)
    for algorithm in treating(program):
        got, result = answer(program, algorithm)
        assert (algorithm, comparable_where_whole(program, algorithm, got)) == (
            algorithm,
            comparable_where_whole(program, algorithm, expected),
        )
        assert got.executions + got.blocked >= expected.executions + expected.blocked
        assert algorithm == "source" or result.redundant == 0
    # Events that cannot make a difference are left out as a rule; with them, nothing else may come out.
    got, result = answer(program, "optimal", elide=False)
    got, expected = comparable_without_elision(program, got), comparable_without_elision(program, expected)
    assert ("optimal without elision", got) == ("optimal without elision", expected)
    assert result.redundant == 0


def agree_by_values(program: Program, answer: Any) -> None:
    """Value-centric exploration finds the same outcomes, in no more executions; or says what it cannot treat."""
    note(program.source())
    note(f"DPOR_PROGRAM_SEED={SEED}")
    # What a thread waits for is told by the operations of queues.
    expected, _ = answer(program, "exhaustive", max_executions=MAX_INTERLEAVINGS, primitives="library")
    refused = False
    try:
        got, result = answer(program, "value-centric")
    except DporError as error:
        refused = error.code is Code.UNSUPPORTED_PAIR
        if not refused:
            raise
    if refused:
        reject()
    assert got.found() == expected.found()
    assert got.executions + got.blocked == result.classes
    # What follows a failure is not known, and may be looked for in vain.
    assert result.redundant == 0 or result.violations


def counted(program: Program, answer: Any) -> None:
    note(program.source())
    note(f"DPOR_PROGRAM_SEED={SEED}")
    expected = brute_force.count(program, MAX_PREFIXES)
    if expected is None:
        reject()
    for algorithm in treating(program):
        got, result = answer(program, algorithm)
        assert (algorithm, got.executions, got.blocked) == (algorithm, expected.executions, expected.blocked)
        assert got.outcomes == expected.outcomes
        assert algorithm == "source" or result.redundant == 0


@FIXED
@given(program=RICH)
def test_values_agree_with_exhaustive_search(program, answer):
    agree_by_values(program, answer)


@FIXED
@given(program=WAITS)
def test_values_agree_with_exhaustive_search_where_threads_wait(program, answer):
    agree_by_values(program, answer)


@FIXED
@given(program=LOOPS)
def test_values_agree_with_exhaustive_search_where_threads_only_look(program, answer):
    agree_by_values(program, answer)


@FIXED
@given(program=LOOKS)
def test_values_agree_with_exhaustive_search_where_threads_wait_for_a_predicate(program, answer):
    agree_by_values(program, answer)


@seed(SEED)
@RANDOM
@given(program=RICH)
def test_values_agree_with_exhaustive_search_on_other_programs_each_time(program, answer):
    agree_by_values(program, answer)


@FIXED
@given(program=RICH)
def test_algorithms_agree_with_exhaustive_search(program, answer):
    agree(program, answer)


@seed(SEED)
@RANDOM
@given(program=RICH)
def test_algorithms_agree_with_exhaustive_search_on_other_programs_each_time(program, answer):
    agree(program, answer)


@FIXED
@given(program=PREDICATES)
def test_algorithms_agree_on_waits_for_several_locations(program, answer):
    agree(program, answer)


@FIXED
@given(program=LOOPS)
def test_looking_again_and_again_is_like_waiting_for_what_is_looked_for(program, answer):
    note(program.source())
    looped, _ = answer(program, "optimal")
    # The oracle of loops that only look: the predicate is evaluated when it may be, and is true then.
    waiting = re.sub(r"while s\.x != 1:\n +pass", "dpor.wait_until(lambda: s.x == 1)", program.source())
    expected, _ = answer(Text(waiting), "optimal")
    assert (looped.verdict, looped.outcomes) == (expected.verdict, expected.outcomes)


@FIXED
@given(program=SIMPLE)
def test_counts_are_those_of_brute_force_without_an_engine(program, answer):
    counted(program, answer)


@seed(SEED)
@RANDOM
@given(program=SIMPLE)
def test_counts_are_those_of_brute_force_on_other_programs_each_time(program, answer):
    counted(program, answer)


@FIXED
@given(program=SMALL)
def test_exhaustive_search_counts_classes_like_brute_force(program, answer):
    note(program.source())
    expected = brute_force.count(program, MAX_PREFIXES)
    if expected is None:
        reject()
    got, _ = answer(program, "exhaustive", max_executions=MAX_INTERLEAVINGS)
    assert (got.executions, got.blocked, got.outcomes) == (
        expected.executions,
        expected.blocked,
        expected.outcomes,
    )


@FEW
@given(program=RICH)
def test_every_counterexample_replays_to_the_same_violation(program, tmp_path_factory):
    note(program.source())
    folder = tmp_path_factory.mktemp("violated")
    _, result = _answerer(folder)(program, "optimal")
    file = str(folder / "generated.py")
    for violation in result.violations:
        request = ReplayRequest(file=file, model="program", root=str(folder), schedule=violation.schedule)
        replayed = run_guided(request, decode(violation.schedule))
        assert replayed.divergence is None
        assert not replayed.changed
        assert replayed.violation is not None
        assert (replayed.violation.kind, replayed.violation.message) == (violation.kind, violation.message)
        assert replayed.violation.location == violation.location


@FIXED
@given(program=WHOLE)
def test_whole_reads_agree_with_exhaustive_search(program, answer):
    agree(program, answer)
