"""Of two stores to one place either can be the last, whatever the place is, under every algorithm and memory model."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import collections
import types

import dpor

variable = 0

class Failure(Exception):
    number = 0

@dpor.model
def model():
    {made}

    def first():
        {first}

    def second():
        {second}

    dpor.spawn(first)
    dpor.spawn(second)
    dpor.join_all()
    assert {found} == 2
"""
PLACES = {
    "a closure variable": ("place = 0", "nonlocal place; place = {}", "place"),
    "a variable of the module": ("pass", "global variable; variable = {}", "variable"),
    "a class attribute": ("Failure.number = 0", "Failure.number = {}", "Failure.number"),
    "an attribute of a namespace": ("place = types.SimpleNamespace(x=0)", "place.x = {}", "place.x"),
    "an attribute of an exception": ("place = Failure(); place.x = 0", "place.x = {}", "place.x"),
    "an item of a list": ("place = [0] * 2", "place[1] = {}", "place[1]"),
    "an item of a dict": ("place = dict.fromkeys('ab')", "place['a'] = {}", "place['a']"),
    "a new key, if it is one": ("place = {}", "'a' in place; place['a'] = {}", "place['a']"),
    "an item of a UserDict": ("place = collections.UserDict(x=0)", "place['x'] = {}", "place['x']"),
    "an item of a ChainMap": ("place = collections.ChainMap(dict(x=0))", "place['x'] = {}", "place['x']"),
}
WAYS = [
    ("optimal", "sc"),
    ("value-centric", "sc"),
    ("optimal", "pso"),
    ("graph", "tso"),
    ("graph", "rc11"),
]


@pytest.mark.parametrize(("algorithm", "memory_model"), WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_either_store_can_be_the_last(place: str, algorithm: str, memory_model: str, tmp_path: Path) -> None:
    made, store, found = PLACES[place]
    text = MODEL.format(made=made, first=store.format(1), second=store.format(2), found=found)
    (tmp_path / "subject.py").write_text(text)
    options = {"algorithm": algorithm, "memory_model": memory_model}
    request = CheckRequest("subject.py", "model", str(tmp_path), options=options, all_violations=True)
    result = check_model(request)
    assert (result.verdict, result.redundant) == (Verdict.VIOLATED, 0)
    assert {one.message for one in result.violations} == {f"assertion failed: {found} == 2"}
