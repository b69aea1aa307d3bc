"""Every reference program of at most 5,000 executions has exactly the expected number of classes."""

from __future__ import annotations

import expectations
import pytest

LIMIT = 5000
ALL_ROWS = expectations.load()
ROWS = [row for row in ALL_ROWS if row.classes <= LIMIT]
# One long execution of thousands of events is a measure of speed, not of counts.
LONGEST = {"length_param": 1024}
# Source sets explore most of its classes dozens of times over; the benchmark has it.
TOO_REDUNDANT = {"poke(n=8, m=3)"}
# Of the POP paper's table all but the two largest, which the benchmark has.
POP_LIMIT = 20_000
POP_ROWS = [
    row for row in ALL_ROWS if row.name in expectations.POP_TABLE and LIMIT < row.classes <= POP_LIMIT
]

# Each graph takes a search for an order of the writes that nobody reads.
RF_LIMIT = 400
RF_LONGEST = {"length_param": 64, "race_param": 2, "thread_param": 32}

# Below the sizes that are worth measuring: few enough interleavings to look at each of them.
EXHAUSTIBLE = [
    ("readers", {"n": 3}),
    ("lastwrite", {"n": 3}),
    ("floating_read", {"n": 3}),
    ("lastzero", {"n": 2}),
    ("account", {"n": 1}),
    ("account_lock", {"n": 2}),
    ("fib_bench", {"n": 1}),
    ("fib_bench_join", {"n": 2}),
    ("mpat", {"n": 1}),
    ("pi", {"n": 2}),
    ("ssbexp_at", {"n": 2}),
    ("ssbexp_at_mf", {"n": 2}),
    ("redundant_co", {"n": 1}),
    ("circular_buffer", {"n": 1}),
    ("exp_mem3", {"n": 2}),
    ("exp_mem3_flat", {"n": 2}),
    ("ainc", {"n": 3}),
    ("binc", {"n": 2}),
    ("linuxlocks", {"n": 1}),
    ("opt_lock", {"n": 2}),
    ("sigma", {"n": 2}),
    ("fkp2013", {"n": 2}),
    ("ticket", {"n": 2}),
    ("queue_ok", {"n": 1}),
    ("dispatcher", {"n": 1, "m": 1}),
    ("poke", {"n": 1, "m": 1}),
    ("mpc", {"n": 1, "m": 1}),
    ("burns", {"n": 2}),
    ("dijkstra", {"n": 1}),
    ("race_param", {"n": 1}),
]


def _name(program, parameters):
    return "-".join([program, *(f"{key}={value}" for key, value in parameters.items())])


def _counts(result):
    assert result.reason is None, f"{result.reason}"
    return result.executions, result.blocked


def _size(row):
    return row.parameters.get("n", 0)


def _as_tests(rows, longest=LONGEST):
    short = (row for row in rows if _size(row) <= longest.get(row.program, _size(row)))
    return [pytest.param(row, id=row.name) for row in short]


@pytest.mark.parametrize(
    "algorithm",
    [
        "optimal",
        *(pytest.param(name, marks=pytest.mark.share(4)) for name in ("parsimonious", "graph", "unfolding")),
    ],
)
@pytest.mark.parametrize("row", _as_tests(ROWS))
def test_each_class_is_explored_once(row, algorithm, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm=algorithm)
    assert (*_counts(result), result.redundant) == (row.executions, row.blocked, 0)
    assert not result.violations


@pytest.mark.parametrize("algorithm", ["optimal", "parsimonious"])
@pytest.mark.parametrize("row", _as_tests(POP_ROWS))
def test_programs_of_the_pop_paper_have_the_executions_of_its_table(row, algorithm, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm=algorithm)
    assert (*_counts(result), result.redundant) == (expectations.POP_TABLE[row.name], 0, 0)


def test_the_expected_counts_are_those_of_the_pop_paper():
    counts = {row.name: row.executions for row in ALL_ROWS if row.name in expectations.POP_TABLE}
    assert counts == expectations.POP_TABLE


@pytest.mark.share(3)
@pytest.mark.parametrize("row", _as_tests(row for row in ROWS if row.name not in TOO_REDUNDANT))
def test_source_finds_the_same_classes(row, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm="source")
    assert _counts(result) == (row.executions, row.blocked)
    assert not result.violations


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "row",
    _as_tests((row for row in ROWS if row.rf_executions and row.classes <= RF_LIMIT), RF_LONGEST),
)
def test_each_class_of_reads_from_is_explored_once(row, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm="graph", partition="rf")
    by_locks = row.program in expectations.ORDERED_BY_LOCKS
    expected = row.executions if by_locks else row.rf_executions
    assert (result.executions, result.redundant, result.reason) == (expected, 0, None)
    assert not result.violations


@pytest.mark.parametrize(
    ("program", "parameters"), [pytest.param(*case, id=_name(*case)) for case in EXHAUSTIBLE]
)
def test_exhaustive_search_agrees_on_the_smallest_sizes(program, parameters, check):
    file = expectations.program_files()[program]
    expected = check(file, program, parameters, algorithm="exhaustive")
    for algorithm in ("optimal", "parsimonious", "graph", "unfolding"):
        result = check(file, program, parameters, algorithm=algorithm)
        assert (algorithm, *_counts(result), result.redundant) == (algorithm, *_counts(expected), 0)


def test_every_program_is_expected_somewhere():
    unexpected = set(expectations.program_files()) - {row.program for row in ALL_ROWS}
    speed = {name for name in unexpected if expectations.program_files()[name].stem == "speed"}
    assert unexpected == speed


def test_every_expectation_has_a_program():
    assert {row.program for row in ALL_ROWS} <= set(expectations.program_files())


def test_a_missing_expectation_is_an_error():
    with pytest.raises(LookupError, match="readers"):
        expectations.expected("readers", {"n": 1})
