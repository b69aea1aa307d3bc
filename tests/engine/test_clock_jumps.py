"""`clock_jumps` lets time pass between two looks at a clock, as often as it says in each thread."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from test_clocks import HANDED_ON

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.phrases import effect_text
from dpor.counterexample.replay import replay_model
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, ModelResult, ReplayRequest, Verdict

ALGORITHMS = ("optimal", "parsimonious", "source", "exhaustive", "graph", "unfolding", "value-centric")
HEADER = """
import asyncio, datetime, logging, queue, threading, time
from concurrent.futures import ThreadPoolExecutor
import dpor

@dpor.model
def model():
"""
CACHE = """
    fresh_until = time.monotonic() + 60
    if time.monotonic() < fresh_until:
        assert time.monotonic() < fresh_until
"""
TWO_LOOKS = """
    time.monotonic()
    time.monotonic()
"""
TWO_THREADS = """
    threads = [dpor.spawn(time.monotonic) for _ in range(2)]
    for thread in threads:
        thread.join()
"""


def check(tmp_path: Path, body: str, jumps: int, algorithm: str = "optimal") -> ModelResult:
    (tmp_path / "model.py").write_text(HEADER + textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))
    options = {"clock_jumps": jumps, "algorithm": algorithm}
    return check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))


def test_what_ends_after_a_time_may_end_between_two_looks(tmp_path: Path) -> None:
    assert check(tmp_path, CACHE, 0).verdict is Verdict.VERIFIED
    result = check(tmp_path, CACHE, 1)
    assert result.verdict is Verdict.VIOLATED
    texts = [effect_text(step) for step in result.violations[0].trace]
    assert texts.count("looks at a clock, and a year has passed") == 1


def test_a_counterexample_with_a_jump_replays(tmp_path: Path) -> None:
    schedule = check(tmp_path, CACHE, 1).violations[0].schedule
    request = ReplayRequest("model.py", "model", str(tmp_path), schedule, options={"clock_jumps": 1})
    replayed = replay_model(request)
    assert replayed.violation is not None
    assert "assertion failed" in replayed.violation.message


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("body", "jumps", "executions"),
    [
        (TWO_LOOKS, 0, 1),
        (TWO_LOOKS, 1, 3),
        (TWO_LOOKS, 2, 4),
        (TWO_LOOKS, 3, 4),
    ],
)
def test_each_thread_finds_that_time_has_passed_so_often_at_any_look(
    tmp_path: Path, body: str, jumps: int, executions: int, algorithm: str
) -> None:
    result = check(tmp_path, body, jumps, algorithm)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, executions)


@pytest.mark.parametrize(
    "algorithm", [name for name in ALGORITHMS if name not in ("exhaustive", "value-centric")]
)
def test_jumps_of_threads_that_share_nothing_are_not_ordered(tmp_path: Path, algorithm: str) -> None:
    assert check(tmp_path, TWO_THREADS, 1, algorithm).executions == 4


@pytest.mark.parametrize("algorithm", ["optimal", "parsimonious", "graph"])
# It asserts that no time at all passes, which a jump rightly breaks.
@pytest.mark.parametrize("name", [name for name in HANDED_ON if name != "the beginning of a thread"])
def test_a_jump_is_handed_on_like_a_sleep(tmp_path: Path, name: str, algorithm: str) -> None:
    result = check(tmp_path, HANDED_ON[name], 1, algorithm)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions > check(tmp_path, HANDED_ON[name], 0, algorithm).executions


@pytest.mark.parametrize(
    "look",
    [
        "time.time()",
        "time.time_ns()",
        "time.monotonic_ns()",
        "time.perf_counter()",
        "time.localtime()",
        "time.strftime('%Y')",
        "datetime.datetime.now()",
        "datetime.date.today()",
        "asyncio.new_event_loop().time()",
    ],
)
def test_every_clock_jumps(tmp_path: Path, look: str) -> None:
    assert check(tmp_path, look, 1).executions == 2


@pytest.mark.parametrize(
    "body",
    [
        "queue.Queue().put(1, timeout=5)",
        "threading.Event().wait(0)",
        "logging.getLogger('x').warning('x')",
        "asyncio.run(asyncio.sleep(1))",
        "time.process_time()",
    ],
)
def test_what_depends_on_no_time_that_passes_has_no_jumps(tmp_path: Path, body: str) -> None:
    assert check(tmp_path, body, 1).executions == check(tmp_path, body, 0).executions


def test_what_was_not_explored_is_said(tmp_path: Path) -> None:
    found = {
        jumps: {(one.kind, one.subject) for one in check(tmp_path, TWO_LOOKS, jumps).assumptions}
        for jumps in (0, 1)
    }
    assert found == {
        0: {(AssumptionKind.FIXED_CLOCK, "time.monotonic")},
        1: {(AssumptionKind.CLOCK_JUMPS, "time.monotonic")},
    }


def test_a_predicate_does_not_look_at_a_clock_that_jumps(tmp_path: Path) -> None:
    with pytest.raises(DporError) as caught:
        check(tmp_path, "dpor.wait_until(lambda: time.monotonic() > 0)", 1)
    assert caught.value.code is Code.PREDICATE
