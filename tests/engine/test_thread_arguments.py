"""What a thread is given is read when it calls its target, and others may have changed it until then."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import threading
import dpor

found = []

def target(*args, **kwargs):
    found.append((args, kwargs))

class Derived(threading.Thread):
    def run(self):
        found.append("old")

def run_new(thread):
    found.append("new")

@dpor.model
def model():
    found.clear()
    {make}
    thread.start()
    {change}
    thread.join()
    assert found == [{seen}]
"""
CASES = {
    "list of arguments": (
        "given = [1]; thread = threading.Thread(target=target, args=given)",
        "given[0] = 2",
        "((1,), {})",
        "((2,), {})",
    ),
    "dict of arguments": (
        "given = {}; thread = threading.Thread(target=target, kwargs=given)",
        "given['key'] = 2",
        "((), {})",
        "((), {'key': 2})",
    ),
    "arguments": (
        "thread = threading.Thread(target=target, args=(1,))",
        "thread._args = (2,)",
        "((1,), {})",
        "((2,), {})",
    ),
    "method of a class": ("thread = Derived()", "Derived.run = run_new", "'old'", "'new'"),
    "method of a thread": (
        "thread = threading.Thread(target=target)",
        "thread.run = lambda: found.append('new')",
        "((), {})",
        "'new'",
    ),
    "arguments of a timer": (
        "thread = threading.Timer(1, target, [1])",
        "thread.args[0] = 2",
        "((1,), {})",
        "((2,), {})",
    ),
}


def _model(make: str, change: str, seen: str) -> str:
    return MODEL.replace("{make}", make).replace("{change}", change).replace("{seen}", seen)


@pytest.mark.parametrize("case", CASES)
def test_a_thread_is_given_what_was_there_before_or_after_a_change(tmp_path: Path, case: str) -> None:
    make, change, before, after = CASES[case]
    for seen in (before, after):
        # The other one is a counterexample.
        (tmp_path / "model.py").write_text(_model(make, change, seen), encoding="utf-8")
        result = check_model(CheckRequest("model.py", "model", root=str(tmp_path)))
        assert result.verdict is Verdict.VIOLATED, (seen, result.reason)
