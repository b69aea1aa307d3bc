"""`cancellations` has an event loop cancel tasks that await something, as often as it says."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.phrases import effect_text
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict, ViolationKind

HEADER = """
import asyncio
import dpor

@dpor.model
async def model():
"""
LEAK = """
    free = asyncio.Semaphore(1)
    async def use():
        await free.acquire()
        await asyncio.sleep(1)
        free.release()
    await asyncio.gather(*(use() for _ in range(2)), return_exceptions=True)
    assert not free.locked()
"""
NO_LEAK = """
    free = asyncio.Semaphore(1)
    async def use():
        async with free:
            await asyncio.sleep(1)
    await asyncio.gather(*(use() for _ in range(2)), return_exceptions=True)
    assert not free.locked()
"""
# A waiter that was woken, and is cancelled before it goes on, has to wake the next one.
LOST_WAKEUP = """
    waiters = []
    async def wait():
        waiter = asyncio.get_running_loop().create_future()
        waiters.append(waiter)
        try:
            await waiter
            wake()
        finally:
            if waiter in waiters:
                waiters.remove(waiter)
    def wake():
        if waiters:
            waiters.pop(0).set_result(None)
    tasks = [asyncio.create_task(wait()) for _ in range(2)]
    await asyncio.sleep(1)
    wake()
    await asyncio.wait(tasks)
"""
HALF_DONE = """
    account = {"from": 1, "to": 0}
    async def move():
        account["from"] -= 1
        await asyncio.sleep(1)
        account["to"] += 1
    await asyncio.wait([asyncio.create_task(move())])
    assert sum(account.values()) == 1
"""


def check(tmp_path: Path, body: str, **options: object) -> ModelResult:
    (tmp_path / "model.py").write_text(HEADER + textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))
    return check_model(CheckRequest(str(tmp_path / "model.py"), "model", str(tmp_path), options=options))


@pytest.mark.parametrize(
    ("body", "order"),
    [(LEAK, "loop"), (LEAK, "any"), (LOST_WAKEUP, "loop"), (HALF_DONE, "loop"), (HALF_DONE, "any")],
)
def test_what_a_cancellation_breaks_is_found_without_one_in_the_model(
    tmp_path: Path, body: str, order: str
) -> None:
    assert check(tmp_path, body, task_order=order).verdict is Verdict.VERIFIED
    assert check(tmp_path, body, task_order=order, cancellations=1).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("order", ["loop", "any"])
@pytest.mark.parametrize("cancellations", [1, 2])
def test_what_no_cancellation_breaks_is_verified(tmp_path: Path, cancellations: int, order: str) -> None:
    result = check(tmp_path, NO_LEAK, cancellations=cancellations, task_order=order)
    assert result.verdict is Verdict.VERIFIED
    assert result.executions > check(tmp_path, NO_LEAK, task_order=order).executions


def test_no_more_tasks_are_cancelled_than_the_option_says(tmp_path: Path) -> None:
    body = """
    cancelled = []
    async def work(number):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            cancelled.append(number)
    await asyncio.gather(*(work(number) for number in range(3)))
    assert len(cancelled) < {most}
    """
    assert check(tmp_path, body.format(most=3), cancellations=2).verdict is Verdict.VERIFIED
    assert check(tmp_path, body.format(most=2), cancellations=2).verdict is Verdict.VIOLATED


def test_a_task_that_does_not_run_yet_is_not_cancelled(tmp_path: Path) -> None:
    body = """
    begun = []
    async def work():
        begun.append(1)
        await asyncio.sleep(1)
    await asyncio.wait([asyncio.create_task(work())])
    assert begun
    """
    assert check(tmp_path, body, cancellations=1).verdict is Verdict.VERIFIED


def test_a_cancellation_may_come_to_the_end_of_the_model(tmp_path: Path) -> None:
    body = "await asyncio.gather(asyncio.sleep(1), asyncio.sleep(1))"
    assert check(tmp_path, body, cancellations=1).verdict is Verdict.VERIFIED


def test_a_cancellation_of_the_models_own_does_not(tmp_path: Path) -> None:
    body = """
    task = asyncio.create_task(asyncio.sleep(1))
    await asyncio.sleep(0)
    task.cancel()
    await task
    """
    assert check(tmp_path, body).verdict is Verdict.VIOLATED


def test_a_deadlock_from_which_a_cancellation_would_lead_is_one(tmp_path: Path) -> None:
    body = """
    async def work():
        await asyncio.Event().wait()
    await asyncio.wait([asyncio.create_task(work())])
    """
    result = check(tmp_path, body, cancellations=1)
    assert [violation.kind for violation in result.violations] == [ViolationKind.DEADLOCK]


def test_a_counterexample_says_which_task_is_cancelled_and_is_replayed(tmp_path: Path) -> None:
    result = check(tmp_path, HALF_DONE, cancellations=1)
    (violation,) = result.violations
    assert violation.trace is not None
    assert "cancels Task-2" in [effect_text(step) for step in violation.trace]
    replayed = replay_model(
        ReplayRequest(
            str(tmp_path / "model.py"),
            "model",
            str(tmp_path),
            violation.schedule,
            options={"cancellations": 1},
        )
    )
    assert replayed.violation is not None
    assert replayed.violation.message == violation.message


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("await asyncio.gather(late(), late())", "lets the sleep of Task-"),
        (
            "async with asyncio.timeout(1):\n    await asyncio.sleep(1)",
            "lets the time limit of Task-1 run out",
        ),
        ("asyncio.get_running_loop().call_later(1, early)\nawait asyncio.sleep(1)", "lets the timer of"),
    ],
)
def test_a_counterexample_says_what_the_loop_decides(tmp_path: Path, body: str, text: str) -> None:
    functions = """
    done = []
    async def late():
        await asyncio.sleep(1)
        assert not done
        done.append(1)
    def early():
        assert 0
    """
    result = check(tmp_path, textwrap.dedent(functions) + body)
    (violation,) = result.violations
    assert violation.trace is not None
    assert any(step.startswith(text) for step in map(effect_text, violation.trace))
