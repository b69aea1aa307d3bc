"""QPOR's programs with k-partial alternatives: every class, and less that is redundant the larger k is."""

from __future__ import annotations

import itertools

import expectations
import pytest
import quasi_optimal

# Each has redundant explorations with alternatives to one disabled event only.
PROGRAMS = [
    ("dispatcher", {"n": 5, "m": 2}),
    ("dispatcher", {"n": 3, "m": 3}),
    ("mpc", {"n": 2, "m": 5}),
    ("poke", {"n": 5, "m": 3}),
    ("ssb3", {"n": 9, "m": 4}),
]


@pytest.mark.parametrize(("program", "parameters"), PROGRAMS)
def test_redundant_explorations_become_fewer_with_each_k(program, parameters, check):
    row = expectations.expected(program, parameters)
    redundant: list[int] = []
    for k in (1, 2, 3, None):
        result = check(row.file, program, parameters, algorithm="unfolding", k=k)
        assert (k, result.executions, result.blocked) == (k, row.executions, row.blocked)
        redundant.append(result.redundant)
    assert redundant[0] > 0
    assert redundant[-1] == 0
    assert all(more >= fewer for more, fewer in itertools.pairwise(redundant))


def test_each_row_of_the_paper_has_its_number_of_classes():
    rows = quasi_optimal.load()
    assert {row.expected.program for row in rows} == {"dispatcher", "mpat", "mpc", "pi", "poke"}
    assert len({row.expected.name for row in rows}) == len(rows)
