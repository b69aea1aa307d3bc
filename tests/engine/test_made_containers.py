"""A container has one identity in all schedules, whatever has made it and whoever touches it first.

One thread stores to an item that a variable names, two others to one item each, and a fourth changes the variable:
there are four classes of schedules, and in some the first item is overwritten last. Who touches the container first
differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import re

import dpor

class Rows:
    def items(self):
        yield [0, 0]

def keywords(**given):
    return given

def shared_keywords(**given):
    def clear():
        nonlocal given
        given = {{}}
    return given

def unpacked():
    _, *rest = (1, 0, 0)
    return rest

def matched():
    match [1, 0, 0]:
        case [_, *rest]:
            return rest

def matched_mapping():
    match {{"first": 1, 0: 0, 1: 0}}:
        case {{"first": _, **rest}}:
            return rest

@dpor.model
def model():
    shared = {made}
    first, second = list(shared)[:2]
    keys = (first, second) if isinstance(shared, dict) else (0, 1)
    chosen = 0

    def choose():
        nonlocal chosen
        chosen = 1

    def clear():
        shared[keys[chosen]] = 0

    def fill(position):
        shared[keys[position]] = 1

    dpor.spawn(clear)
    dpor.spawn(choose)
    dpor.spawn(fill, 0)
    dpor.spawn(fill, 1)
    dpor.join_all()
    assert shared[keys[1]] == 1
"""
MADE = [
    "[0] * 2",
    "2 * [0]",
    "[0] + [0]",
    "([0] + [0]) + []",
    "[0, 0, 0][:2]",
    "[*range(2)][::-1]",
    "{0: 0} | {1: 0}",
    "{0: 0, 1: 0}.copy()",
    "[0, 0].copy()",
    "'0 0'.split()",
    "'0\\n0'.splitlines()",
    "re.findall('0', '00')",
    "re.match('(?P<a>0)(?P<b>0)', '00').groupdict()",
    "unpacked()",
    "matched()",
    "matched_mapping()",
    "keywords(a=0, b=0)",
    "shared_keywords(a=0, b=0)",
    "next(Rows().items())",
    "[row for row in Rows().items()][0]",
    "([[0] * 2] * 2)[1]",
    "(lambda: [0] * 2)()",
]


@pytest.mark.share(4)
@pytest.mark.parametrize("algorithm", ["optimal", "parsimonious", "graph", "unfolding", "source"])
@pytest.mark.parametrize("made", MADE)
def test_a_container_is_the_same_in_every_schedule(made: str, algorithm: str, tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text(MODEL.format(made=made))
    request = CheckRequest(
        "subject.py", "model", str(tmp_path), options={"algorithm": algorithm}, all_violations=True
    )
    result = check_model(request)
    assert (result.verdict, result.executions, result.blocked) == (Verdict.VIOLATED, 4, 0), result
    if algorithm != "source":
        assert result.redundant == 0


SHARED_GENERATOR = """
import dpor

def count():
    number = 0
    while True:
        yield number
        number += 1

class Counter:
    def numbers(self):
        yield from count()

@dpor.model
def model():
    numbers = {made}
    drawn = []

    def draw():
        drawn.append(next(numbers))

    for _ in range(2):
        dpor.spawn(draw)
    dpor.join_all()
    assert drawn == [0, 1]
"""


@pytest.mark.parametrize("made", ["count()", "Counter().numbers()", "(number for number in range(9))"])
def test_a_generator_is_the_same_in_every_schedule(made: str, tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text(SHARED_GENERATOR.format(made=made))
    result = check_model(CheckRequest("subject.py", "model", str(tmp_path), all_violations=True))
    assert (result.verdict, result.executions, result.redundant) == (Verdict.VIOLATED, 6, 0)


INTERLEAVED_GENERATOR = """
import dpor

class Counter:
    def __init__(self):
        self.number = 0

    def numbers(self):
        while True:
            yield self.number
            self.number += 1

@dpor.model
def model():
    numbers = Counter().numbers()
    drawn = []

    def draw():
        drawn.append(next(numbers))

    for _ in range(2):
        dpor.spawn(draw)
    dpor.join_all()
    assert sorted(drawn) == [0, 1]
"""


@pytest.mark.parametrize(
    "algorithm", ["optimal", "parsimonious", "graph", "unfolding", "source", "exhaustive"]
)
def test_a_generator_cannot_be_advanced_by_two_threads_at_once(algorithm: str, tmp_path: Path) -> None:
    """The four classes without interference (who draws first, who appends first), and two with."""
    (tmp_path / "subject.py").write_text(INTERLEAVED_GENERATOR)
    request = CheckRequest(
        "subject.py", "model", str(tmp_path), options={"algorithm": algorithm}, all_violations=True
    )
    result = check_model(request)
    assert (result.executions, result.blocked) == (6, 0)
    assert {one.message for one in result.violations} >= {"ValueError: generator already executing"}
    if algorithm not in ("source", "exhaustive"):
        assert result.redundant == 0


CLASSES = """
import collections, functools
import dpor

@functools.singledispatch
def kind(value):
    return "other"

kind.register(list, lambda value: "list")
kind.register(dict, lambda value: "dict")

@dpor.model
def model():
    values = [[1], {1: 2}, {1}, collections.deque([1]), bytearray(b"a"), iter([1]), {}.keys()]
    for value in values:
        assert value.__class__ is type(value)
        assert getattr(value, "__class__") is type(value)
    assert [kind(value) for value in values[:3]] == ["list", "dict", "other"]
    assert collections.defaultdict(list).default_factory is list
    copied = values[0].__class__(values[0])
    copied.append(2)
    assert (values[0], copied) == ([1], [1, 2])
"""


def test_the_class_of_a_container_is_the_class_itself(tmp_path: Path) -> None:
    (tmp_path / "subject.py").write_text(CLASSES)
    assert check_model(CheckRequest("subject.py", "model", str(tmp_path))).verdict is Verdict.VERIFIED
