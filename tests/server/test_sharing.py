"""A model is explored by several workers, and a stopped check goes on, with the counts of one worker in one go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.results import ModelResult, Verdict
from dpor_lsp.checking import sharing
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.checker import Checker, RunSettings
from dpor_lsp.checking.scheduler import Event, Progressed

Act = Callable[[str], list[str]]
MakeTarget = Callable[..., CheckTarget]
Run = Callable[..., subprocess.CompletedProcess[str]]

ADDS = """
import dpor

class Shared:
    pass

def add(s, times):
    for _ in range(times):
        s.total.fetch_add(1)

@dpor.model(algorithm="parsimonious")
def model(times: int = 2, threads: int = 4):
    s = Shared()
    s.total = dpor.Atomic(0)
    for number in range(threads):
        dpor.spawn(add, s, times + (number == 0))
    dpor.join_all()
"""
CLASSES = 7560
"""9! / (3! 2! 2! 2!): the orders of the additions."""
PARSIMONIOUS = {"algorithm": "parsimonious"}


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have work split as early as possible; returns a list with an entry for each worker that was started."""
    monkeypatch.setattr(sharing, "ASK_AFTER", 0.0)
    monkeypatch.setattr(sharing, "WORTH_PARTING", 0.0)
    started: list[int] = []
    run_worker = sharing.run_worker

    def counting(*arguments: object, **options: object) -> object:
        started.append(len(started))
        return run_worker(*arguments, **options)  # pyright: ignore

    monkeypatch.setattr(sharing, "run_worker", counting)
    return started


def warn(code: Code, message: str) -> None:
    pytest.fail(f"unexpected warning: {message}")


def checked(target: CheckTarget, command: list[str] | None = None, **settings: object) -> ModelResult:
    settings = {"jobs": 2, "cache": False, **settings}
    checker = Checker(RunSettings(**settings), warn, command)  # pyright: ignore
    try:
        (entry,) = checker.check([target])
    finally:
        checker.close()
    return entry.result


def counts(result: ModelResult) -> tuple[Verdict, int, int, int]:
    return result.verdict, result.executions, result.blocked, result.redundant


def test_parts_of_a_check_count_what_the_whole_does(eager: list[int], make_target: MakeTarget) -> None:
    target = make_target(ADDS, options=PARSIMONIOUS)
    whole = checked(target, jobs=1)
    assert counts(whole) == (Verdict.VERIFIED, CLASSES, 0, 0)
    assert len(eager) == 1
    # On a busy machine the first worker can be done before another one has begun.
    for _ in range(10):
        eager.clear()
        parts = checked(target, jobs=3)
        assert counts(parts) == counts(whole)
        assert parts.events == whole.events
        if len(eager) > 1:
            break
    assert len(eager) > 1


# Acting workers. The first gives a part away when it is asked for one, and then goes on until it is ended.
GIVING = """
checkpoint = dict(frontiers=["rest"], executions=2)
if message["checkpoint"] is None:
    progress(2)
    sys.stdin.readline()
    send(kind="part", part=dict(frontiers=["given"]), checkpoint=checkpoint)
    {then}
"""


def test_a_worker_that_dies_is_an_error_whatever_the_others_have_explored(
    eager: list[int], act: Act, make_target: MakeTarget
) -> None:
    command = act(GIVING.format(then="answer(executions=5)") + "os._exit(9)")
    result = checked(make_target(options=PARSIMONIOUS), command)
    assert result.verdict is Verdict.ERROR
    assert result.reason is not None
    assert result.reason.code is Code.WORKER_DIED


def test_a_part_that_finds_a_violation_ends_the_others(
    eager: list[int], act: Act, make_target: MakeTarget
) -> None:
    command = act(GIVING.format(then="time.sleep(60)") + "answer(verdict='violated', executions=3)")
    started = time.monotonic()
    result = checked(make_target(options=PARSIMONIOUS), command)
    assert time.monotonic() - started < 30
    assert result.verdict is Verdict.VIOLATED


def test_what_a_part_learns_makes_the_whole_begin_again(
    eager: list[int], act: Act, make_target: MakeTarget
) -> None:
    learned = "send(kind='result', result={'learned': [dict(kind='visible', schedule='main')]}); os._exit(0)"
    again = "if message['checkpoint'] and message['checkpoint']['learned']: answer(executions=7)\n"
    command = act(again + GIVING.format(then="time.sleep(60)") + learned)
    result = checked(make_target(options=PARSIMONIOUS), command)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 7)


def test_progress_and_counts_are_those_of_all_parts(
    eager: list[int], act: Act, make_target: MakeTarget
) -> None:
    command = act(GIVING.format(then="answer(executions=5, blocked=1)") + "answer(executions=4)")
    result = checked(make_target(options=PARSIMONIOUS), command)
    assert counts(result) == (Verdict.VERIFIED, 9, 1, 0)


@pytest.mark.parametrize(
    ("options", "split"),
    [
        ({}, True),
        ({"max_executions": 10}, False),
        ({"preemption_bound": 1}, False),
        ({"races": "warn"}, False),
        ({"algorithm": "optimal"}, False),
    ],
)
def test_only_what_has_no_bound_over_all_parts_is_parted(
    make_target: MakeTarget, options: dict[str, object], split: bool
) -> None:
    assert sharing.can_be_split(make_target(options={**PARSIMONIOUS, **options})) is split


@pytest.fixture
def adds(project: Path) -> Path:
    (project / "adds.py").write_text(ADDS)
    return project


def reported(run: Run, folder: Path, *words: str) -> tuple[int, dict[str, object]]:
    done = run(["--check", "adds.py", "--format", "json", *words], folder)
    report = json.loads(done.stdout)
    return done.returncode, report["models"][0]


def test_a_check_that_a_bound_stopped_goes_on(run_command: Run, adds: Path) -> None:
    bound = ("--max-executions", "3000")
    seen = [reported(run_command, adds, *bound)]
    seen += [reported(run_command, adds, *bound, "--resume") for _ in range(2)]
    assert [(code, model["verdict"], model["executions"]) for code, model in seen] == [
        (3, "incomplete", 3000),
        (3, "incomplete", 6000),
        (0, "verified", CLASSES),
    ]
    code, model = reported(run_command, adds, "--resume", *bound)
    assert (code, model["cached"], model["executions"]) == (0, True, CLASSES)


def test_a_check_of_code_that_has_changed_begins_anew(run_command: Run, adds: Path) -> None:
    bound = ("--max-executions", "3000")
    reported(run_command, adds, *bound)
    (adds / "adds.py").write_text(ADDS + "# changed\n")
    _, model = reported(run_command, adds, *bound, "--resume")
    assert model["executions"] == 3000


def test_a_check_that_nothing_is_left_of_begins_anew(run_command: Run, adds: Path) -> None:
    code, model = reported(run_command, adds, "--resume")
    assert (code, model["executions"]) == (0, CLASSES)


def test_other_algorithms_cannot_go_on(run_command: Run, adds: Path) -> None:
    code, model = reported(run_command, adds, "--resume", "--algorithm", "optimal")
    assert code == 2
    reason = model["reason"]
    assert isinstance(reason, dict)
    assert reason["code"] == "DPOR105"


@pytest.mark.parametrize("words", [["--no-cache"], ["--watch"]])
def test_what_cannot_go_on_is_a_usage_error(run_command: Run, adds: Path, words: list[str]) -> None:
    done = run_command(["--check", "adds.py", "--resume", *words], adds)
    assert done.returncode == 2
    assert "DPOR105" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("ctrl_c")
def test_a_check_that_ctrl_c_ended_goes_on_from_what_was_last_told(act: Act, make_target: MakeTarget) -> None:
    target = make_target(options=PARSIMONIOUS)
    given = "checkpoint=dict(frontiers=['rest'], executions=2, contents=contents)"
    told = f"send(kind='checkpoint', {given}); progress(2); time.sleep(60)"
    checker = Checker(RunSettings(jobs=1), warn, act(told))

    def interrupt(event: Event) -> None:
        if isinstance(event, Progressed):
            os.kill(os.getpid(), signal.SIGINT)

    (entry,) = checker.check([target], interrupt)
    assert entry.result.verdict is Verdict.INCOMPLETE
    assert entry.result.executions == 2
    goes_on = "answer(executions=9 if message['checkpoint']['frontiers'] == ['rest'] else 0)"
    result = checked(target, act(goes_on), jobs=1, cache=True, resume=True)
    assert counts(result) == (Verdict.VERIFIED, 9, 0, 0)
