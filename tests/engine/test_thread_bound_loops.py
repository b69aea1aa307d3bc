"""Event loops and handles that several threads use: what they keep is not followed, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

MODEL = """
import asyncio
import threading
import dpor

async def nap():
    await asyncio.sleep(0)

def running(loop, nap=nap):
    made = nap()
    try:
        loop.run_until_complete(made)
    except RuntimeError:
        made.close()

@dpor.model
def model():
    loop = asyncio.new_event_loop()
    done = []
    threads = [dpor.spawn(lambda: FIRST), dpor.spawn(lambda: SECOND)]
    for thread in threads:
        thread.join()
    if not loop.is_closed():
        loop.close()
"""
LOOPS = {
    "whether it runs": ("running(loop)", "done.append(loop.is_running())"),
    "whether it is closed": ("loop.close()", "done.append(loop.is_closed())"),
    "two that run it": ("running(loop)", "running(loop)"),
    "who closes it while it runs": ("running(loop)", "loop.is_running() or loop.close()"),
    "its debug mode": ("loop.set_debug(True)", "done.append(loop.get_debug())"),
    "its factory of tasks": ("loop.set_task_factory(None)", "done.append(loop.get_task_factory())"),
    "what handles exceptions": (
        "loop.set_exception_handler(print)",
        "done.append(loop.get_exception_handler())",
    ),
    "its tasks": ("running(loop)", "done.append(len(asyncio.all_tasks(loop)))"),
}
HANDLES = {
    "a callback that is cancelled": (
        "running(loop)",
        "loop.call_soon_threadsafe(done.append, 1).cancel()",
        "asyncio.Handle",
    ),
    "whether a callback is cancelled": (
        "running(loop)",
        "done.append(loop.call_soon_threadsafe(int).cancelled())",
        "asyncio.Handle",
    ),
}


def check(tmp_path: Path, first: str, second: str) -> ModelResult:
    (tmp_path / "model.py").write_text(MODEL.replace("FIRST", first).replace("SECOND", second))
    return check_model(CheckRequest("model.py", "model", str(tmp_path)))


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_two_threads_use_is_an_assumption(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, *LOOPS[name])
    assert {one.kind for one in result.assumptions} == {AssumptionKind.THREAD_UNSAFE}
    assert any("EventLoop" in one.subject for one in result.assumptions)


@pytest.mark.parametrize("name", HANDLES)
def test_a_handle_that_two_threads_use_is_an_assumption(tmp_path: Path, name: str) -> None:
    first, second, subject = HANDLES[name]
    assert subject in {one.subject for one in check(tmp_path, first, second).assumptions}


def test_what_is_made_for_other_threads_assumes_nothing(tmp_path: Path) -> None:
    result = check(
        tmp_path, "asyncio.run(asyncio.to_thread(int))", "loop.call_soon_threadsafe(done.append, 1)"
    )
    assert result.verdict is Verdict.VERIFIED
    assert not result.assumptions


def test_a_loop_that_is_set_up_before_its_thread_starts_assumes_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("""
import asyncio, threading
import dpor

@dpor.model
def model():
    loop = asyncio.new_event_loop()
    loop.set_debug(False)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    future = asyncio.run_coroutine_threadsafe(asyncio.sleep(0, 7), loop)
    assert future.result() == 7
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
""")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    assert not result.assumptions
