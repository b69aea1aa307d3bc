"""A callback of an event loop that fails fails the model and ends nothing else; no code of the model can hide it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking.check import check_model
from dpor.results import CheckRequest, ModelResult, Verdict, ViolationKind

MODEL = """
import asyncio, threading, _thread
from concurrent.futures import ThreadPoolExecutor
import dpor

class Bad(Exception):
    pass

def fail():
    raise Bad("callback")

async def failing():
    raise Bad("task")

async def main():
    {begin}
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    {end}

def work():
    {run}

@dpor.model
def model():
    {where}
"""
WHERE = {
    "main": "work()",
    "thread": "thread = threading.Thread(target=work); thread.start(); thread.join()",
    "unjoined": "threading.Thread(target=work).start()",
    "daemon": "thread = threading.Thread(target=work, daemon=True); thread.start(); thread.join()",
    "bare": "lock = _thread.allocate_lock(); lock.acquire(); "
    "_thread.start_new_thread(lambda: (work(), lock.release()), ()); lock.acquire()",
    "pool": "pool = ThreadPoolExecutor(1); pool.submit(work).result(); pool.shutdown()",
}
CALLBACK = "asyncio.get_running_loop().call_soon(fail)"
TASK = "task = asyncio.create_task(failing())"
PLAIN = "asyncio.run(main())"
OWN_LOOP = "loop = asyncio.new_event_loop(); loop.run_until_complete(main()); loop.close()"
CAUGHT = """try:
        asyncio.run(main())
        assert not CATCHES, "not there"
    except Bad:
        pass"""


def check(folder: Path, begin: str, end: str = "pass", run: str = PLAIN, where: str = "main") -> ModelResult:
    file = folder / "model.py"
    file.write_text(MODEL.format(begin=begin, end=end, run=run, where=WHERE[where]))
    return check_model(CheckRequest(str(file), "model", str(folder), all_violations=True))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("begin", [CALLBACK, TASK])
@pytest.mark.parametrize("run", [PLAIN, OWN_LOOP, CAUGHT.replace("CATCHES", "False")])
def test_it_fails_the_model_whatever_catches_it(tmp_path: Path, begin: str, run: str, where: str) -> None:
    [violation] = check(tmp_path, begin, run=run, where=where).violations
    assert "Bad" in violation.message


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("begin", [CALLBACK, TASK])
def test_what_follows_it_runs(tmp_path: Path, begin: str, where: str) -> None:
    violations = check(tmp_path, begin, end='assert False, "reached"', run=CAUGHT, where=where).violations
    assert any("reached" in violation.message for violation in violations)


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("begin", [CALLBACK, TASK])
def test_the_run_of_the_loop_does_not_raise_it(tmp_path: Path, begin: str, where: str) -> None:
    violations = check(tmp_path, begin, run=CAUGHT.replace("CATCHES", "True"), where=where).violations
    assert any("not there" in violation.message for violation in violations)


@pytest.mark.parametrize("where", WHERE)
def test_a_handler_of_the_models_own_takes_it(tmp_path: Path, where: str) -> None:
    begin = "asyncio.get_running_loop().set_exception_handler(lambda loop, context: None); " + CALLBACK
    assert check(tmp_path, begin, where=where).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("where", WHERE)
def test_a_task_whose_result_is_asked_for_fails_nothing(tmp_path: Path, where: str) -> None:
    ended = check(tmp_path, TASK, end="assert isinstance(task.exception(), Bad)", where=where)
    assert ended.verdict is Verdict.VERIFIED


def test_a_task_of_a_thread_may_be_asked_after_the_main_thread_has_ended(tmp_path: Path) -> None:
    asked = "await asyncio.to_thread(len, ()); assert isinstance(task.exception(), Bad)"
    assert check(tmp_path, TASK, end=asked, where="unjoined").verdict is Verdict.VERIFIED


@pytest.mark.parametrize("where", WHERE)
def test_who_waits_for_a_callback_that_fails_is_let_down_by_it(tmp_path: Path, where: str) -> None:
    end = "await asyncio.get_running_loop().create_future()"
    kinds = {violation.kind for violation in check(tmp_path, CALLBACK, end=end, where=where).violations}
    assert kinds == {ViolationKind.EXCEPTION}
