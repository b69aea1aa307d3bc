"""Planned models become entries: from the cache, from workers, or cut short by Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.results import ModelResult, Reason, Verdict
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.checker import Checker, RunSettings
from dpor_lsp.checking.scheduler import Event, Finished, Progressed, Started
from dpor_lsp.cli.report import exit_code
from dpor_lsp.cli.targets import Problem

Act = Callable[[str], list[str]]
MakeTarget = Callable[..., CheckTarget]

# It goes on for longer than it takes until the first report of progress.
MANY_EXECUTIONS = """
import dpor
from step import STEP

@dpor.model
def model():
    cells = [0] * 3
    def write(value):
        for index in range(3):
            cells[index] = value
    threads = [dpor.spawn(write, value) for value in range(4)]
    for thread in threads:
        thread.join()
    assert STEP == 2
"""


def ignore(code: Code, message: str) -> None:
    pytest.fail(f"unexpected warning: {message}")


def named(target: CheckTarget, name: str) -> CheckTarget:
    return replace(target, info=replace(target.info, name=name), request=replace(target.request, model=name))


def test_entries_come_in_the_order_of_the_plan(act: Act, make_target: MakeTarget) -> None:
    command = act("time.sleep(0.2 if request['model'] == 'a' else 0); answer()")
    checker = Checker(RunSettings(jobs=2), ignore, command)
    targets = [named(make_target(), name) for name in "abc"]
    problem = Problem(
        ModelResult("x", "x", 1, {}, Verdict.ERROR, Reason(Code.NOT_FOUND, "")), targets[0].root
    )
    entries = list(checker.check([*targets, problem]))
    assert [entry.result.id for entry in entries] == ["m.py::a", "m.py::b", "m.py::c", "x"]


def test_one_broken_model_leaves_the_others_alone(act: Act, make_target: MakeTarget) -> None:
    command = act("os._exit(9) if request['model'] == 'b' else answer()")
    checker = Checker(RunSettings(jobs=2), ignore, command)
    entries = list(checker.check([named(make_target(), name) for name in "abc"]))
    assert [entry.result.verdict.value for entry in entries] == ["verified", "error", "verified"]


def test_the_second_run_needs_no_worker(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    (first,) = Checker(RunSettings(), ignore, act("answer(executions=5)")).check([target])
    (second,) = Checker(RunSettings(), ignore, ["/does/not/exist"]).check([target])
    assert (first.result.cached, second.result.cached) == (False, True)
    assert second.result.executions == 5


def test_without_the_cache_nothing_is_kept(act: Act, make_target: MakeTarget) -> None:
    target = make_target()
    settings = RunSettings(cache=False)
    list(Checker(settings, ignore, act("answer()")).check([target]))
    assert sorted(item.name for item in target.root.iterdir()) == ["m.py", "pyproject.toml"]


def test_a_worker_that_cannot_be_started_is_the_models_error(make_target: MakeTarget) -> None:
    (entry,) = Checker(RunSettings(), ignore, ["/does/not/exist"]).check([make_target()])
    assert entry.result.reason is not None
    assert entry.result.reason.code is Code.WORKER_DIED


def test_no_more_models_run_at_once_than_jobs_allow(act: Act, make_target: MakeTarget) -> None:
    running: list[int] = []
    now = 0

    def observe(event: Event) -> None:
        nonlocal now
        now += isinstance(event, Started) - isinstance(event, Finished)
        running.append(now)

    checker = Checker(RunSettings(jobs=2), ignore, act("answer()"))
    list(checker.check([named(make_target(), name) for name in "abcdef"], observe))
    assert max(running) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_keeps_what_is_done_and_cancels_the_rest(act: Act, make_target: MakeTarget) -> None:
    command = act("answer() if request['model'] == 'a' else time.sleep(60)")
    checker = Checker(RunSettings(jobs=1), ignore, command)

    def observe(event: Event) -> None:
        if isinstance(event, Started) and event.job.target.info.name == "b":
            os.kill(os.getpid(), signal.SIGINT)

    entries = list(checker.check([named(make_target(), name) for name in "abc"], observe))
    assert [entry.result.verdict for entry in entries] == [
        Verdict.VERIFIED,
        Verdict.INCOMPLETE,
        Verdict.INCOMPLETE,
    ]
    assert {entry.result.reason.code for entry in entries if entry.result.reason} == {Code.CANCELLED}
    assert checker.interrupted
    assert exit_code(entry.result for entry in entries) == 3


def renamed(file: Path, text: str) -> None:
    """As `mv` does with a file of another day."""
    moved = file.with_suffix(".moved")
    moved.write_text(text)
    os.utime(moved, (1, 1))
    moved.replace(file)


def written_in_place(file: Path, text: str) -> None:
    """As `cp -p` and `rsync --inplace` do."""
    status = file.stat()
    file.write_text(text)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def linked_anew(file: Path, text: str) -> None:
    """As a deployment does that switches a link to its newest folder."""
    target = file.with_suffix(".other")
    target.write_text(text)
    os.utime(target, (1, 1))
    link = file.with_suffix(".link")
    link.symlink_to(target)
    link.replace(file)


@pytest.mark.parametrize(
    "change",
    [
        renamed,
        written_in_place,
        pytest.param(
            linked_anew,
            marks=pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there"),
        ),
    ],
)
def test_a_dependency_that_is_replaced_during_a_check_leaves_no_verdict_of_the_old_one(
    make_target: MakeTarget, project: Path, change: Callable[[Path, str], None]
) -> None:
    step = project / "step.py"
    step.write_text("STEP = 2\n")
    os.utime(step, (2, 2))
    target = make_target(MANY_EXECUTIONS)
    checker = Checker(RunSettings(), ignore)
    changed: list[Event] = []

    def observe(event: Event) -> None:
        if isinstance(event, Progressed) and not changed:
            changed.append(event)
            change(step, "STEP = 1\n")

    (during,) = checker.check([target], observe)
    (after,) = checker.check([target])
    assert changed
    assert (during.result.verdict, during.result.cached) == (Verdict.VERIFIED, False)
    assert (after.result.verdict, after.result.cached) == (Verdict.VIOLATED, False)
