"""Writes that are taken back to ask a predicate about a former moment go past what the classes do about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

HEAD = """
import collections
import dpor

calls = []

class Counting:
    __slots__ = ("__dict__",)

    def __setattr__(self, name, value):
        calls.append(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        calls.append(name)
        object.__delattr__(self, name)

class Slotted(Counting):
    __slots__ = ("first", "second")

def loud(base):
    class Loud(base):
        def __init__(self, *arguments):
            calls.append("__init__")
            base.__init__(self, *arguments)

        def clear(self):
            calls.append("clear")
            base.clear(self)

        def copy(self):
            calls.append("copy")
            return base.copy(self)

        def update(self, *arguments):
            calls.append("update")
            base.update(self, *arguments)

        def extend(self, items):
            calls.append("extend")
            base.extend(self, items)

        def __iter__(self):
            calls.append("__iter__")
            return base.__iter__(self)
    return Loud
"""

MODEL = """
@dpor.model(algorithm={algorithm!r}, expect="violated")
def model():
    calls.clear()
    s = {make}
    {begin}
    before = len(calls)
    def change():
        {first}
        {second}
    def look():
        dpor.wait_until(lambda: {holds})
    dpor.spawn(change)
    dpor.spawn(look)
    dpor.join_all()
    assert len(calls) - before == {expected}, calls
    assert {after}
"""

CASES = {
    "attributes": (
        "Counting()",
        "s.n = 0",
        "s.n = 1",
        "s.n = 2",
        "s.n == 1",
        2,
        "s.n == 2",
    ),
    "a new attribute": (
        "Counting()",
        "pass",
        "s.n = 1",
        "del s.n",
        "hasattr(s, 'n')",
        2,
        "not hasattr(s, 'n')",
    ),
    "slots": (
        "Slotted()",
        "s.first = 0",
        "s.first = 1",
        "s.first = 2",
        "s.first == 1",
        2,
        "s.first == 2",
    ),
    "a list": (
        "loud(list)([0])",
        "pass",
        "s.append(1)",
        "s.append(2)",
        "len(s) == 2",
        0,
        "len(s) == 3 and s[2] == 2",
    ),
    "a dict": (
        "loud(dict)({'a': 1})",
        "pass",
        "s['b'] = 1",
        "s['c'] = 1",
        "len(s) == 2",
        0,
        "list(dict.items(s)) == [('a', 1), ('b', 1), ('c', 1)]",
    ),
    "a counter": (
        "loud(collections.Counter)()",
        "s['a'] = 4",
        "s['b'] = 5",
        "s['c'] = 6",
        "len(s) == 2",
        0,
        "s['a'] == 4 and s['b'] == 5 and s['c'] == 6",
    ),
    "an ordered dict": (
        "loud(collections.OrderedDict)()",
        "s['a'] = 1; s['b'] = 2; s.move_to_end('a')",
        "s['c'] = 1",
        "s['d'] = 1",
        "len(s) == 3",
        0,
        "list(collections.OrderedDict.items(s)) == [('b', 2), ('a', 1), ('c', 1), ('d', 1)]",
    ),
    "a set": (
        "loud(set)([1])",
        "pass",
        "s.add(2)",
        "s.add(3)",
        "len(s) == 2",
        0,
        "len(s) == 3",
    ),
    "a deque": (
        "collections.deque([1], 5)",
        "pass",
        "s.append(2)",
        "s.appendleft(3)",
        "len(s) == 2",
        0,
        "s[0] == 3 and s[2] == 2",
    ),
}


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive"])
@pytest.mark.parametrize("case", CASES)
def test_taking_a_write_back_runs_no_code_of_the_model(tmp_path: Path, case: str, algorithm: str) -> None:
    make, begin, first, second, holds, expected, after = CASES[case]
    text = MODEL.format(
        algorithm=algorithm,
        make=make,
        begin=begin,
        first=first,
        second=second,
        holds=holds,
        expected=expected,
        after=after,
    )
    file = tmp_path / "model.py"
    file.write_text(HEAD + text, encoding="utf-8")
    result = check_model(CheckRequest(str(file), "model", str(tmp_path), all_violations=True))
    # The wait can come too late, which is a deadlock and nothing else.
    assert [violation.kind.value for violation in result.violations] == ["deadlock"], result.violations
    assert (result.verdict, result.blocked) == (Verdict.VIOLATED, 1)
    assert result.executions
