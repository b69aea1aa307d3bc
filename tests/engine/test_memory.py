"""A check leaves nothing of its model behind in the process."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.replay import replay_model
from dpor.errors import DporError
from dpor.results import CheckRequest, ReplayRequest

MODEL = """
import asyncio
import threading
import dpor

class LeftBehind:
    def __init__(self):
        self.items = []
        self.lock = threading.Lock()
        self.condition = threading.Condition()

    def add(self):
        with self.condition:
            self.items.append(self)

shared = []

@dpor.model
def verified():
    left = LeftBehind()
    shared.append(left)
    dpor.spawn(left.add)
    dpor.spawn(left.add)
    dpor.join_all()

@dpor.model
def violated():
    left = LeftBehind()
    dpor.spawn(left.add)
    with left.condition:
        left.condition.wait()

@dpor.model
def raises():
    left = LeftBehind()
    dpor.spawn(left.add)
    assert left is None

@dpor.model
async def waits_for_a_task():
    left = LeftBehind()
    task = asyncio.create_task(asyncio.to_thread(left.add))
    await task

@dpor.model
def refused():
    left = LeftBehind()
    exec("left.add()")
"""


def left_behind() -> list[object]:
    gc.collect()
    return [one for one in gc.get_objects() if getattr(type(one), "__name__", "") == "LeftBehind"]


@pytest.mark.parametrize("memory_model", ["sc", "tso"])
@pytest.mark.parametrize("model", ["verified", "violated", "raises", "waits_for_a_task"])
def test_the_objects_of_a_model_end_with_its_check(tmp_path: Path, model: str, memory_model: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL, encoding="utf-8")
    options = {"memory_model": memory_model}
    request = CheckRequest(str(file), model, str(tmp_path), options=options, all_violations=True)
    violations = check_model(request).violations
    assert not left_behind()
    for schedule in (violation.schedule for violation in violations):
        replay_model(ReplayRequest(str(file), model, str(tmp_path), schedule, options=options))
        assert not left_behind()


def test_the_objects_of_a_refused_model_end_with_its_check(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL, encoding="utf-8")
    with pytest.raises(DporError) as caught:
        check_model(CheckRequest(str(file), "refused", str(tmp_path)))
    assert caught.value.code is Code.UNCONTROLLED
    del caught
    assert not left_behind()
