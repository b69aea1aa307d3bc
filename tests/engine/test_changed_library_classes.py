"""A program that changes a class of the library which a stand-in takes the place of, or that runs on stand-ins.

What the stand-ins use of the class, nobody follows: the verdict rests on it, or the model is refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.errors import Code, DporError
from dpor.results import AssumptionKind, CheckRequest, Verdict

MODEL = """
import concurrent.futures, queue, threading
import dpor

class Own(queue.Queue):
    pass

class Fetching(queue.Queue):
    def _get(self):
        return super()._get()

class Worker(threading.Thread):
    pass

@dpor.model
def model():
    found = []
    made = {made}
    def change():
        {change}
    def use():
        found.append({use})
    dpor.spawn(change)
    dpor.spawn(use)
    dpor.join_all()

@dpor.model
def after():
    assert {unchanged}
"""
USED_UNSEEN = {
    "hook of a class": ("Own()", "Own._qsize = lambda self: 9", "made.qsize()", "queue"),
    "hook that a class overrides": ("Fetching()", "Fetching._get = lambda self: 9", "made.qsize()", "queue"),
    "hook of the library": ("queue.Queue()", "queue.Queue._qsize = lambda self: 9", "made.qsize()", "queue"),
    "method of threads": ("None", "threading.Thread.run = lambda self: 9", "1", "threading"),
    "method of a class of threads": ("Worker()", "Worker.run = lambda self: 9", "made.name", "threading"),
}
REFUSED = {
    "method": "threading.Event.is_set = lambda self: 9",
    "new attribute": "setattr(threading.Condition, 'mine', 1)",
    "deletion": "del threading.Semaphore.release",
}


@pytest.mark.parametrize("name", USED_UNSEEN)
def test_an_attribute_that_a_class_of_the_library_uses_is_an_assumption(tmp_path: Path, name: str) -> None:
    made, change, use, package = USED_UNSEEN[name]
    (tmp_path / "model.py").write_text(MODEL.format(made=made, change=change, use=use, unchanged="True"))
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert (AssumptionKind.UNSEEN_CODE, package) in {(one.kind, one.subject) for one in result.assumptions}


def test_an_attribute_that_no_class_of_the_library_has_is_none(tmp_path: Path) -> None:
    text = MODEL.format(made="Own()", change="Own.mine = 1", use="hasattr(made, 'mine')", unchanged="True")
    (tmp_path / "model.py").write_text(text)
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 2
    assert not result.assumptions


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("alone", [True, False])
def test_a_change_of_what_a_stand_in_takes_the_place_of_is_refused(
    tmp_path: Path, name: str, alone: bool
) -> None:
    change = "pass" if alone else REFUSED[name]
    text = MODEL.format(made="None", change=change, use="1", unchanged="True")
    if alone:
        text = text.replace("    found = []", f"    {REFUSED[name]}")
    (tmp_path / "model.py").write_text(text)
    with pytest.raises(DporError) as caught:
        check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert caught.value.code is Code.UNCONTROLLED


def test_what_was_changed_is_put_back_for_the_next_model(tmp_path: Path) -> None:
    change, unchanged = "queue.Queue._qsize = lambda self: 9", "queue.Queue._qsize.__name__ == '_qsize'"
    (tmp_path / "model.py").write_text(MODEL.format(made="None", change=change, use="1", unchanged=unchanged))
    for name in ("model", "after"):
        assert check_model(CheckRequest("model.py", name, str(tmp_path))).verdict is Verdict.VERIFIED
