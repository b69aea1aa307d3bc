"""Pairs of operations on objects of the library whose order makes a difference in plain Python: a check finds both.

`python tests/oracle/run.py --instances` takes all objects, and as many pairs of each as are asked for.
"""

from __future__ import annotations

import pytest

from oracle.checker import prepared
from oracle.client import Oracle
from oracle.compare import compare, describe
from oracle.programs import made
from oracle.summary import WRONG
from oracle.tables.instances import INSTANCES
from oracle.test_oracle import DOUBTED, EFFORT

# One object of so many is tried, with so many pairs.
EVERY = 6
PAIRS = 2
# No order of two operations on these makes a difference that can be told.
WITHOUT = frozenset(
    {
        "functools.partial(int, '1')",
        "decimal.Decimal('1.5')",
        "xml.sax.handler.ContentHandler()",
        "codeop.CommandCompiler()",
        "{1: 2}.keys()",
        "slice(1, 2)",
        "weakref.proxy(K)",
    }
)
TRIED = [expression for expression in INSTANCES[::EVERY] if expression not in WITHOUT]


@pytest.mark.parametrize("expression", TRIED)
def test_checks_agree_with_plain_python_on_an_object(expression, tmp_path):
    with prepared(), Oracle() as oracle:
        programs = oracle.orders(expression, PAIRS)
        assert programs
        for program in programs:
            found = compare(program, oracle, tmp_path.resolve(), effort=EFFORT, thorough=DOUBTED)
            assert found.finding not in WRONG, describe(found)


def test_pairs_whose_order_makes_a_difference_are_found():
    with Oracle() as oracle:
        programs = oracle.orders("io.StringIO('ab')", 3)
    assert len(programs) == 3
    assert all(made(program.name) == program for program in programs)


def test_pairs_whose_order_makes_none_are_not():
    with Oracle() as oracle:
        assert not oracle.orders("range(3)", 3)
