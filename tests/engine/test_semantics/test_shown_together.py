"""Two threads that turn one object into text at once each see the whole of it.

CPython keeps what a thread is turning into text for each of its own threads; those of a model do not share it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import collections, dpor

class Value:
    def __init__(self):
        self.number = 0

    def __repr__(self):
        self.number += 1
        return "value"

class Sub(list):
    pass

@dpor.model
def model():
    value = Value()
    shared = {shared}
    seen = []
    def show():
        seen.append(repr(shared))
    dpor.spawn(show)
    dpor.spawn(show)
    dpor.join_all()
    assert not any("..." in text for text in seen), seen
    shared_twice = [shared]
    shared_twice.append(shared_twice)
    assert repr(shared_twice).endswith("[...]]")
"""


@pytest.mark.parametrize(
    "shared",
    ["[value]", "{1: value}", "{value}", "collections.deque([value])", "Sub([value])", "{1: value}.items()"],
)
def test_each_sees_the_whole(tmp_path: Path, shared: str) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL.replace("{shared}", shared), encoding="utf-8")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions > 1
