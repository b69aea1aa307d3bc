"""What plain CPython does with a program is among what a check says of it, and what a check says can happen.

The programs come from a seed. `DPOR_ORACLE_PROGRAMS=5000 pytest tests/oracle` runs more of them, `DPOR_ORACLE_SEED=N`
others; `python tests/oracle/run.py` is made for a million.
"""

from __future__ import annotations

import os

import pytest

from oracle.checker import check, prepared
from oracle.client import Oracle
from oracle.compare import Comparison, Finding, compare, describe, explorers_differ
from oracle.programs import Program, made
from oracle.schedules import Effort
from oracle.summary import WRONG
from oracle.tables.known import LEFT_OUT
from oracle.tables.registry import KINDS

PROGRAMS = int(os.environ.get("DPOR_ORACLE_PROGRAMS", "100"))
SEED = int(os.environ.get("DPOR_ORACLE_SEED", "0"))
CHUNK = 25
# Of a hundred programs one may be refused; a few more in one chunk are chance.
REFUSED = 3
EFFORT = Effort(executions=120, preemptions=2, seconds=0.5)
DOUBTED = (
    Effort(executions=600, preemptions=5, seconds=0.5, focused=True),
    Effort(executions=1000, preemptions=3, seconds=1.0),
)
EXPLORERS = ("optimal", "source", "parsimonious", "unfolding", "graph", "value-centric", "exhaustive")
COMPARED = max(1, PROGRAMS // 12)


def left_out(program: Program) -> bool:
    return any(
        (kind, text) in LEFT_OUT for kind in program.kinds for body in program.operations for text in body
    )


def chunks() -> list[range]:
    return [
        range(start, min(start + CHUNK, SEED + PROGRAMS)) for start in range(SEED, SEED + PROGRAMS, CHUNK)
    ]


@pytest.fixture
def comparisons(tmp_path):
    """Return `comparisons(seeds)`, which compares the programs of these seeds."""

    def run(seeds: range) -> list[Comparison]:
        programs = [program for program in (made(str(seed)) for seed in seeds) if not left_out(program)]
        with prepared(), Oracle() as oracle:
            return [
                compare(program, oracle, tmp_path.resolve(), effort=EFFORT, thorough=DOUBTED)
                for program in programs
            ]

    return run


@pytest.mark.parametrize("seeds", chunks(), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_checks_agree_with_plain_python(seeds, comparisons):
    found = comparisons(seeds)
    wrong = [describe(one) for one in found if one.finding in WRONG]
    assert not wrong, "\n".join(wrong)
    refused = [describe(one) for one in found if one.finding is Finding.REFUSED]
    assert len(refused) <= REFUSED, "\n".join(refused)


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS, PROGRAMS // COMPARED))
def test_explorers_agree(seed, tmp_path):
    program = made(str(seed))
    if left_out(program):
        pytest.skip("left out: see tables/known.py")
    with prepared():
        answers = {name: check(program, tmp_path.resolve(), name, executions=1000) for name in EXPLORERS}
    assert not explorers_differ(answers), f"{explorers_differ(answers)}\n{program.text}"


def test_what_is_left_out_is_in_the_tables_and_has_a_reason():
    for (kind, text), reason in LEFT_OUT.items():
        assert text in KINDS[kind].operations
        assert reason
