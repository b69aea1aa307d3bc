"""A counterexample with operations of built-in code can be replayed, also if one raises or calls back."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ReplayRequest, Verdict

MODEL = """
import collections, copy, functools, heapq, json, operator, dpor

class Key:
    def __init__(self, value): self.value = value
    def __hash__(self): return 1
    def __eq__(self, other): return self.value == other.value
    def __lt__(self, other): return self.value < other.value
    def shown(self): return "old"

def matched(key):
    match key:
        case Key(value=1):
            return True
    return False

def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__

def numbers():
    yield 1
    yield 2
    yield 3

@dpor.model
def model():
    seen = []
    count = [0]
    def counted(number):
        count[0] += 1
        return number
    def counting():
        count[0] += 1
        yield 1
        count[0] += 1
        yield 2
    {before}
    def one():
        seen.append(attempt(lambda: {one}))
    def two():
        seen.append(attempt(lambda: {two}))
    dpor.spawn(one)
    dpor.spawn(two)
    dpor.join_all()
    assert {after}, (seen, count)
"""

# What there is before, two operations, and what is not always so after them.
CASES = {
    "next beside list(zip)": (
        "g = numbers()", "next(g)", "list(zip(g))", "'ValueError' not in seen",
    ),
    "list beside list": ("g = numbers()", "list(g)", "list(g)", "'ValueError' not in seen"),
    "a map that threads share": (
        "m = map(counted, [1, 2, 3])", "next(m)", "list(m)", "seen[0] != [1, 2, 3]",
    ),
    "sort with a key": ("s = [3, 1, 2]", "s.sort(key=counted)", "len(s)", "0 not in seen"),
    "sort of items with __lt__": (
        "a = Key(1); s = [Key(2), a]", "s.sort()", "setattr(a, 'value', 3)", "s[0].value == 1 or s[0].value == 2",
    ),
    "sorted before an append": (
        "s = [Key(2), Key(1)]", "len(sorted(s))", "s.append(Key(0))", "2 not in seen",
    ),
    "extend of a generator": ("s = []", "s.extend(counting())", "(len(s), count[0])", "(1, 2) not in seen"),
    "update of a generator": (
        "d = {}", "d.update((n, n) for n in counting())", "(len(d), count[0])", "(0, 1) not in seen",
    ),
    "a factory": (
        "d = collections.defaultdict(lambda: [])", "d[0].append(1)", "d[0].append(2)", "len(d[0]) == 2",
    ),
    "keys with __eq__": ("k = Key(1); d = {Key(1): 1}", "d.get(k)", "setattr(k, 'value', 2)", "None not in seen"),
    "a heap of items with __lt__": (
        "a = Key(2); s = [a]", "heapq.heappush(s, Key(1))", "setattr(a, 'value', 0)", "s[0].value == 0",
    ),
    "reduce": (
        "", "functools.reduce(lambda a, b: counted(a) + b, [1, 2], 0)", "count.__setitem__(0, 9)", "count[0] != 10",
    ),
    "max with a key": ("", "max([1, 2], key=counted)", "count.__setitem__(0, 9)", "count[0] != 10"),
    "any of a map": ("", "any(map(counted, [0, 0]))", "count.__setitem__(0, 9)", "count[0] != 10"),
    "equality of lists": (
        "a = Key(2); s = [Key(1), a]; t = [Key(1), Key(2)]", "s == t", "setattr(a, 'value', 3)", "False not in seen",
    ),
    "an operation that raises": ("s = []", "max(s)", "s.append(1)", "seen != ['ValueError', None]"),
    "a heap that is empty": ("s = []", "heapq.heappop(s)", "s.append(1)", "seen != ['IndexError', None]"),
    "an attribute that is missing": (
        "a = Key(1)", "a.late", "setattr(a, 'late', 2)", "seen != ['AttributeError', None]",
    ),
    "an item that is deleted": ("s = []", "operator.delitem(s, 0)", "s.append(1)", "seen != ['IndexError', None]"),
    "a text joined of a list": ("s = ['a']", "','.join(s)", "s.append('b')", "'a,b' not in seen"),
    "a text with a list in it": ("s = [1]", "'%s' % (s,)", "s.append(2)", "'[1, 2]' not in seen"),
    "a format of a list": ("s = [1]", "'{}'.format(s)", "s.append(2)", "'[1, 2]' not in seen"),
    "an f-string of a tuple": ("s = [1]", "f'{(s,)}'", "s.append(2)", "'([1, 2],)' not in seen"),
    "a translation by a dict": ("d = {97: 'b'}", "'a'.translate(d)", "d.__setitem__(97, 'c')", "'c' not in seen"),
    "a deque of a list": ("s = [1]", "len(collections.deque(s))", "s.append(2)", "2 not in seen"),
    "a pattern on attributes": ("a = Key(1)", "matched(a)", "setattr(a, 'value', 2)", "False not in seen"),
    "a method that is replaced": (
        "a = Key(1)", "a.shown()", "setattr(a, 'shown', lambda: 'new')", "'new' not in seen",
    ),
    "a function given to json": (
        "s = [Key(1)]", "json.dumps(s, default=lambda key: key.value)", "s.append(Key(2))", "'[1, 2]' not in seen",
    ),
    "a deep copy": (
        "s = [Key(1), Key(2)]", "[key.value for key in copy.deepcopy(s)]", "setattr(s[1], 'value', 3)",
        "[1, 3] not in seen",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_breaks_the_model_again(tmp_path: Path, case: str) -> None:
    before, one, two, after = CASES[case]
    path = tmp_path / "model.py"
    path.write_text(MODEL.format(before=before or "pass", one=one, two=two, after=after), encoding="utf-8")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED
    found = result.violations[0]
    again = replay_model(
        ReplayRequest(file=str(path), model="model", root=str(tmp_path), schedule=found.schedule)
    )
    assert again.divergence is None
    assert again.violation is not None
    assert again.violation.message == found.message


def test_modules_that_are_loaded_afresh_run_the_same_code_of_the_library_again(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import copy, dataclasses, dpor

@dataclasses.dataclass(frozen=True)
class Point:
    x: int

@dpor.model
def model():
    assert copy.deepcopy(Point(1)) != Point(1)
""")
    found = check_model(CheckRequest(str(path), "model", str(tmp_path))).violations[0]
    again = replay_model(
        ReplayRequest(file=str(path), model="model", root=str(tmp_path), schedule=found.schedule)
    )
    assert again.divergence is None
    assert again.violation is not None
