"""Loops that look at a clock until a moment has come."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, ReplayRequest, Verdict

ALGORITHMS = (
    "optimal",
    "parsimonious",
    "source",
    "exhaustive",
    "graph",
    "concolic",
    "unfolding",
    "value-centric",
    "random",
    "pct",
)
HEADER = """
import asyncio, datetime, threading, time
import dpor

@dpor.model
def model():
"""
POLLING = """
    done = []
    setter = dpor.spawn(done.append, 1)
    deadline = time.monotonic() + 5
    while not done and time.monotonic() < deadline:
        pass
    {after}
    setter.join()
"""
COUNTING = """
    turns = 0
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        turns += 1
"""


def check(tmp_path: Path, body: str, **options: object) -> ModelResult:
    (tmp_path / "model.py").write_text(HEADER + textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))
    return check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))


def kinds(result: ModelResult) -> set[AssumptionKind]:
    return {one.kind for one in result.assumptions}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("after", ["assert done", "assert not done"])
def test_a_loop_ends_at_its_deadline_or_before(tmp_path: Path, algorithm: str, after: str) -> None:
    result = check(tmp_path, POLLING.format(after=after), algorithm=algorithm)
    assert result.verdict is Verdict.VIOLATED
    assert AssumptionKind.POLLED_CLOCK in kinds(result)


def test_a_check_of_a_polling_loop_ends(tmp_path: Path) -> None:
    result = check(tmp_path, POLLING.format(after="pass"))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions <= 10


def test_a_counterexample_with_a_deadline_replays(tmp_path: Path) -> None:
    schedule = check(tmp_path, POLLING.format(after="assert done")).violations[0].schedule
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), schedule))
    assert replayed.violation is not None
    assert "done" in replayed.violation.message


@pytest.mark.parametrize(
    "body",
    [
        "end = time.time() + 1\nwhile time.time() < end: pass",
        "end = time.monotonic_ns() + 10**9\nwhile time.monotonic_ns() < end: pass",
        "start = time.perf_counter()\nwhile (now := time.perf_counter()) == start: pass",
        "end = datetime.datetime.now() + datetime.timedelta(hours=1)\nwhile datetime.datetime.now() < end: pass",
        "end = time.monotonic() + 1\nwhile True:\n    now = time.monotonic()\n    if now >= end: break",
        "end = time.monotonic() + 1\nwhile True:\n    for _ in range(3):\n        now = time.monotonic()\n"
        "    if now >= end: break",
        "end = time.monotonic() + 1\nwhile time.monotonic() < end:\n    inner = time.monotonic() + 1\n"
        "    while time.monotonic() < inner: pass",
        "lock = threading.Lock()\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n    with lock: pass",
        COUNTING,
        COUNTING + "    assert turns > 1000",
    ],
)
def test_a_loop_alone_ends(tmp_path: Path, body: str) -> None:
    result = check(tmp_path, body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)
    assert AssumptionKind.POLLED_CLOCK in kinds(result)


@pytest.mark.parametrize("clock", ["time.monotonic", "asyncio.get_running_loop().time", "time.time"])
def test_a_loop_that_lets_other_tasks_run_ends(tmp_path: Path, clock: str) -> None:
    body = f"""
    async def main():
        end = {clock}() + 1
        while {clock}() < end:
            await asyncio.sleep(0)
    asyncio.run(main())
    """
    result = check(tmp_path, body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


def test_an_iterator_that_waits_for_a_moment_ends(tmp_path: Path) -> None:
    body = """
    def until(end):
        while time.monotonic() < end:
            yield time.monotonic()
    times = list(until(time.monotonic() + 1))
    assert times == sorted(times)
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_the_assumption_names_the_function_and_the_line(tmp_path: Path) -> None:
    result = check(tmp_path, POLLING.format(after="pass"))
    found = next(one for one in result.assumptions if one.kind is AssumptionKind.POLLED_CLOCK)
    assert found.subject == "model"
    assert found.location is not None
    assert found.location.line == HEADER.count("\n") + 4


def test_time_does_not_pass_for_the_first_turns_of_a_loop_that_does_something(tmp_path: Path) -> None:
    body = """
    made = time.monotonic()
    waiting = [0] * 500
    while waiting:
        waiting.pop()
        assert time.monotonic() == made
    """
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED
    assert kinds(result) == {AssumptionKind.FIXED_CLOCK}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_loop_that_sleeps_is_given_no_other_time(tmp_path: Path, algorithm: str) -> None:
    body = """
    end = time.monotonic() + 1
    turns = 0
    while time.monotonic() < end:
        turns += 1
        time.sleep(0.1)
    assert turns == 10
    """
    result = check(tmp_path, body, algorithm=algorithm)
    assert result.verdict in {Verdict.VERIFIED, Verdict.INCOMPLETE}
    assert kinds(result) == {AssumptionKind.FIXED_CLOCK}


SLEEPING = """
    done = []
    setter = dpor.spawn(done.append, 1)
    def poll():
        deadline = time.monotonic() + 5
        while not done and time.monotonic() < deadline:
            time.sleep(0.01)
    {start}
    poll()
    {after}
    setter.join()
"""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("after", ["assert done", "assert not done"])
def test_a_loop_that_only_sleeps_ends_at_its_deadline_or_before(
    tmp_path: Path, algorithm: str, after: str
) -> None:
    result = check(tmp_path, SLEEPING.format(start="", after=after), algorithm=algorithm)
    assert result.verdict is Verdict.VIOLATED
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), result.violations[0].schedule))
    assert replayed.violation is not None


@pytest.mark.parametrize(("start", "most"), [("", 50), ("other = dpor.spawn(poll)", 2500)])
def test_a_loop_that_only_sleeps_does_not_turn_for_each_of_its_sleeps(
    tmp_path: Path, start: str, most: int
) -> None:
    result = check(tmp_path, SLEEPING.format(start=start, after="pass"))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions <= most
    assert AssumptionKind.POLLED_CLOCK in kinds(result)


AWAITING = """
    done = []
    async def work():
        await asyncio.sleep(1)
        done.append(1)
    async def poll():
        deadline = {clock}() + 5
        while not done and {clock}() < deadline:
            {turn}
            await asyncio.sleep(0.01)
    async def main():
        task = asyncio.create_task(work())
        await poll()
        {after}
        await task
    asyncio.run(main())
"""


@pytest.mark.parametrize("clock", ["time.monotonic", "asyncio.get_running_loop().time"])
def test_a_task_that_only_sleeps_does_not_turn_for_each_of_its_sleeps(tmp_path: Path, clock: str) -> None:
    result = check(tmp_path, AWAITING.format(clock=clock, turn="pass", after="pass"))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions <= 50
    assert AssumptionKind.POLLED_CLOCK in kinds(result)


@pytest.mark.parametrize("after", ["assert done", "assert not done"])
def test_a_task_that_only_sleeps_ends_at_its_deadline_or_before(tmp_path: Path, after: str) -> None:
    result = check(tmp_path, AWAITING.format(clock="time.monotonic", turn="pass", after=after))
    assert result.verdict is Verdict.VIOLATED
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), result.violations[0].schedule))
    assert replayed.violation is not None


@pytest.mark.parametrize("turn", ["turns += 1", "turned.append(1)", "box.turns += 1"])
def test_a_task_that_does_something_turns_for_each_of_its_sleeps(tmp_path: Path, turn: str) -> None:
    body = f"""
    turned = []
    class Box:
        turns = 0
    box = Box()
    async def poll():
        turns = 0
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            {turn}
            await asyncio.sleep(0.1)
        return turns
    counts = asyncio.run(poll()), len(turned), box.turns
    assert max(counts) in (19, 20)
    """
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert kinds(result) == {AssumptionKind.FIXED_CLOCK}


def test_what_another_task_does_meanwhile_is_not_what_a_polling_task_does(tmp_path: Path) -> None:
    body = """
    turned = []
    async def count():
        for _ in range(3):
            turned.append(1)
            await asyncio.sleep(0)
    async def poll():
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            await asyncio.sleep(0.01)
    async def main():
        await asyncio.gather(count(), poll())
    asyncio.run(main())
    assert len(turned) == 3
    """
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED
    assert AssumptionKind.POLLED_CLOCK in kinds(result)


def test_the_first_turns_of_a_loop_that_only_sleeps_last_as_long_as_they_say(tmp_path: Path) -> None:
    body = """
    start = time.monotonic()
    while time.monotonic() < start + 30:
        time.sleep(1)
    assert time.monotonic() < start + 30.1
    """
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED
    assert kinds(result) == {AssumptionKind.FIXED_CLOCK}


@pytest.mark.parametrize("timeout", [5, 60, 86_400])
def test_a_loop_that_only_sleeps_ends_little_after_its_deadline(tmp_path: Path, timeout: int) -> None:
    body = f"""
    start = time.monotonic()
    while time.monotonic() < start + {timeout}:
        time.sleep(0.01)
    assert start + {timeout} <= time.monotonic() < start + {timeout} * 1.25
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_processor_does_nothing_while_sleeps_grow(tmp_path: Path) -> None:
    body = """
    start, used = time.monotonic(), time.process_time()
    while time.monotonic() < start + 60:
        time.sleep(0.01)
    assert time.process_time() == used
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_loop_that_sleeps_for_ever_is_a_livelock(tmp_path: Path) -> None:
    result = check(tmp_path, "while True:\n    time.monotonic()\n    time.sleep(1)")
    assert result.verdict is Verdict.VIOLATED
    assert "livelock" in result.violations[0].message


def test_a_loop_that_looks_at_a_clock_and_waits_for_another_thread_is_a_spinloop(tmp_path: Path) -> None:
    body = """
    done = []
    setter = dpor.spawn(done.append, 1)
    while not done:
        time.monotonic()
    setter.join()
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_loop_that_looks_at_a_clock_and_waits_for_nothing_is_a_livelock(tmp_path: Path) -> None:
    result = check(tmp_path, "done = []\nwhile not done:\n    time.monotonic()")
    assert result.verdict is Verdict.VIOLATED
    assert "livelock" in result.violations[0].message


def test_the_same_outcomes_are_found_as_with_sleeps(tmp_path: Path) -> None:
    body = """
    flags = [False, False]
    def set_flags():
        flags[0] = True
        flags[1] = True
    setter = dpor.spawn(set_flags)
    deadline = time.monotonic() + 5
    while not flags[0] and time.monotonic() < deadline:
        {turn}
    assert (flags[0], flags[1]) != {outcome}
    setter.join()
    """
    for outcome in ((False, False), (False, True), (True, False), (True, True)):
        found = {
            check(tmp_path, body.format(turn=turn, outcome=outcome)).verdict
            for turn in ("pass", "time.sleep(0.5)")
        }
        assert found == {Verdict.VIOLATED}, outcome


@pytest.mark.parametrize("clock", ["time.process_time", "time.thread_time", "time.process_time_ns"])
def test_a_loop_that_works_for_a_time_of_the_processor_ends(tmp_path: Path, clock: str) -> None:
    result = check(tmp_path, f"end = {clock}() + 2\nwhile {clock}() < end: pass")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


def test_a_sleep_is_no_time_of_the_processor(tmp_path: Path) -> None:
    body = "before = time.process_time()\ntime.sleep(5)\nassert time.process_time() == before"
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_time_passes_slowly_in_a_loop_that_does_something(tmp_path: Path) -> None:
    body = """
    started = time.monotonic()
    done = 0
    while done < 1020:
        elapsed = time.monotonic() - started
        done += 1
    assert elapsed < 1
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("turn", ["time.sleep(0)", "threading.Event().wait(0)", "time.sleep(0.0001)"])
def test_a_loop_that_sleeps_for_next_to_nothing_ends(tmp_path: Path, turn: str) -> None:
    result = check(tmp_path, f"end = time.monotonic() + 5\nwhile time.monotonic() < end: {turn}")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


def test_loops_further_in_do_not_hide_the_one_that_waits(tmp_path: Path) -> None:
    body = """
    done = []
    setter = dpor.spawn(done.append, 1)
    time.monotonic()
    while not done:
        for row in [1] * 200:
            while row > 2:
                row -= 1
    setter.join()
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_generator_that_another_thread_has_begun_hides_no_deadline(tmp_path: Path) -> None:
    body = """
    def chunks():
        while True:
            yield 1
    source = chunks()
    next(source)
    def read():
        end = time.monotonic() + 1
        while time.monotonic() < end:
            next(source)
    dpor.spawn(read).join()
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED
