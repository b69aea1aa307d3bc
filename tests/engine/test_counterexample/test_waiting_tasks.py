"""Tasks of an event loop that wait for ever: where, and for what."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Violation, ViolationKind

MODELS = """
import asyncio
import threading
import dpor

class Account:
    def __init__(self):
        self.lock = asyncio.Lock()

@dpor.model
async def locks():
    one, other = Account(), Account()

    async def take(first, second):
        async with first.lock:
            await asyncio.sleep(0)
            async with second.lock:  # locks
                pass

    await asyncio.gather(take(one, other), take(other, one))

@dpor.model
async def future():
    await asyncio.get_running_loop().create_future()  # future

@dpor.model
async def queue():
    items = asyncio.Queue()

    async def take():
        return await items.get()  # queue

    await asyncio.create_task(take(), name="consumer")

@dpor.model
def loop_in_a_thread():
    async def wait():
        event = asyncio.Event()
        await event.wait()  # loop_in_a_thread

    thread = threading.Thread(target=lambda: asyncio.run(wait()))
    thread.start()
    thread.join()

@dpor.model
async def iteration():
    items = asyncio.Queue()

    async def all_of_them():
        while True:
            yield await items.get()  # iteration

    async for item in all_of_them():
        pass

@dpor.model
def no_task():
    asyncio.new_event_loop().run_forever()  # no_task
"""
WAITS = {
    "locks": (
        "3 tasks wait",
        [
            ("main", "take", "Account#1.lock"),
            ("main", "take", "Account#2.lock"),
            ("main", "locks", "the tasks that it gathers"),
        ],
    ),
    "future": ("1 task waits", [("main", "future", None)]),
    "queue": ("2 tasks wait", [("main", "consumer", "items"), ("main", "queue", "task consumer")]),
    "loop_in_a_thread": ("1 thread and 1 task wait", [("main.0", "wait", "event")]),
    "iteration": ("1 task waits", [("main", "iteration", "items")]),
    "no_task": ("1 thread waits", [("main", None, None)]),
}


def violation_of(folder: Path, model: str) -> Violation:
    file = folder / "model.py"
    file.write_text(MODELS, encoding="utf-8")
    result = check_model(CheckRequest(str(file), model, str(folder), all_violations=True))
    return next(item for item in result.violations if item.kind is ViolationKind.DEADLOCK)


@pytest.mark.parametrize("model", WAITS)
def test_a_deadlock_of_tasks_names_them_and_what_they_wait_for(tmp_path: Path, model: str) -> None:
    violation = violation_of(tmp_path, model)
    message, waits = WAITS[model]
    found = [(wait.thread, wait.task, wait.target) for wait in violation.waiting if wait.operation == "await"]
    assert sorted(found, key=repr) == sorted(waits, key=repr)
    assert violation.message == f"deadlock: {message} for ever"


@pytest.mark.parametrize("model", WAITS)
def test_a_deadlock_of_tasks_is_reported_where_one_waits(tmp_path: Path, model: str) -> None:
    location = violation_of(tmp_path, model).location
    assert location is not None
    assert textwrap.dedent(MODELS).splitlines()[location.line - 1].endswith(f"# {model}")
