"""Threads, pools and tasks without a name are numbered in the order in which they are made, for those who can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict

MODEL = """
import threading
from concurrent.futures import ThreadPoolExecutor
import asyncio
import dpor

async def task_name():
    return asyncio.current_task().get_name()

@dpor.model
def model():
    seen = {}
    def make(number):
        seen[number] = MADE
    threads = [threading.Thread(target=make, args=(number,), name="given") for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ENDS
"""
LOOKS = {
    "name": "threading.Thread(target=len).name",
    "text": "repr(threading.Thread(target=len))",
    "name of a spawned thread": "dpor.spawn(len, '').name",
    "name of a task": "asyncio.run(task_name())",
    "prefix of a pool": "ThreadPoolExecutor(1)._thread_name_prefix",
}


def check(tmp_path: Path, made: str, ends: str) -> ModelResult:
    (tmp_path / "model.py").write_text(MODEL.replace("MADE", made).replace("ENDS", ends))
    return check_model(CheckRequest("model.py", "model", str(tmp_path)))


@pytest.mark.parametrize("made", LOOKS.values(), ids=LOOKS.keys())
def test_who_looks_at_a_number_sees_which_was_made_first(tmp_path: Path, made: str) -> None:
    for order in ("<", ">"):
        result = check(tmp_path, made, f"assert seen[0] {order} seen[1]")
        (violation,) = result.violations
        request = ReplayRequest("model.py", "model", str(tmp_path), schedule=violation.schedule)
        replayed = replay_model(request)
        assert replayed.divergence is None
        assert replayed.violation is not None
        assert replayed.violation.message == violation.message


def test_a_look_after_all_have_ended_sees_it_too(tmp_path: Path) -> None:
    assert check(tmp_path, "threading.Thread(target=len)", "assert seen[0].name < seen[1].name").violations


def test_threads_are_made_in_no_order_if_nobody_looks(tmp_path: Path) -> None:
    result = check(tmp_path, "threading.Thread(target=len)", "pass")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


def test_tasks_of_several_threads_are_made_in_no_order_if_nobody_looks(tmp_path: Path) -> None:
    result = check(tmp_path, "asyncio.run(asyncio.sleep(0))", "pass")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)
