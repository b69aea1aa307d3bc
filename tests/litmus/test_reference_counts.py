"""Every reference program of at most 5,000 executions has exactly the expected number of classes."""

from __future__ import annotations

import expectations
import pytest

LIMIT = 5000
ALL_ROWS = expectations.load()
ROWS = [row for row in ALL_ROWS if row.classes <= LIMIT]
# One long execution of thousands of events is a measure of speed, not of counts.
LONGEST = {"length_param": 1024}


def _counts(result):
    assert result.reason is None, f"{result.reason}"
    return result.executions, result.blocked


def _rows_as_tests():
    return [
        pytest.param(row, id=row.name)
        for row in ROWS
        if row.parameters.get("n", 0) <= LONGEST.get(row.program, row.parameters.get("n", 0))
    ]


@pytest.mark.parametrize("row", _rows_as_tests())
def test_optimal_explores_each_class_once(row, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm="optimal")
    assert (*_counts(result), result.redundant) == (row.executions, row.blocked, 0)
    assert not result.violations


@pytest.mark.parametrize("row", _rows_as_tests())
def test_source_finds_the_same_classes(row, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm="source")
    assert _counts(result) == (row.executions, row.blocked)
    assert not result.violations


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.name) for row in ROWS if row.classes <= 24 and row.parameters.get("n", 0) <= 3],
)
def test_exhaustive_search_agrees_on_small_sizes(row, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm="exhaustive", max_executions=20_000)
    if result.verdict.value == "incomplete":
        pytest.skip("too many interleavings for the exhaustive search")
    assert _counts(result) == (row.executions, row.blocked)


def test_every_program_is_expected_somewhere():
    unexpected = set(expectations.program_files()) - {row.program for row in ALL_ROWS}
    speed = {name for name in unexpected if expectations.program_files()[name].stem == "speed"}
    assert unexpected == speed


def test_every_expectation_has_a_program():
    assert {row.program for row in ALL_ROWS} <= set(expectations.program_files())


def test_a_missing_expectation_is_an_error():
    with pytest.raises(LookupError, match="readers"):
        expectations.expected("readers", {"n": 1})
