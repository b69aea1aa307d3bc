"""Runs a check of a program in this process and collects the outcomes of all its executions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from dpor.checking import check as checking
from dpor.checking.failures import Found
from dpor.codes import Code
from dpor.counterexample.replay import replay_model
from dpor.counterexample.schedule import decode
from dpor.errors import DporError
from dpor.results import (
    Assumption,
    CheckRequest,
    ModelResult,
    ReplayRequest,
    Verdict,
    Violation,
    ViolationKind,
)
from oracle import sink
from oracle.programs import Program
from oracle.scheduler import DEADLOCK

HERE = Path(__file__).resolve().parent
# The package of what a checked program leaves its outcome with.
_OWN = "oracle"
_MODEL = """

import dpor
from oracle_sink import foreseeable, record


@dpor.model
def checked():
    try:
        outcome = program()
    except Exception as e:
        outcome = f"main raised {type(e).__name__}"
    record(outcome)
"""


@dataclass(frozen=True)
class Checked:
    """What a check says. `outcomes` are those of all executions, DEADLOCK if there is one; `refused` the code with
    which the check refused the program; `bounded` the code of a bound that it reached.
    """

    verdict: str
    outcomes: frozenset[str] = frozenset()
    assumptions: tuple[Assumption, ...] = ()
    refused: str | None = None
    message: str = ""
    bounded: str | None = None
    executions: int = 0
    broken: tuple[str, ...] = ()


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Let programs import what is not theirs: the package of somebody else, and where they leave outcomes."""
    path, arguments = list(sys.path), list(sys.argv)
    sys.path.insert(0, str(HERE / "site-packages"))
    sys.argv[:] = ["program"]
    sys.modules["oracle_sink"] = sink
    try:
        yield
    finally:
        sys.path[:] = path
        sys.argv[:] = arguments
        del sys.modules["oracle_sink"]


@contextlib.contextmanager
def _collecting() -> Iterator[None]:
    """Let a check be fast: violations are named and not explained."""
    explain, explained, restart = checking._Check._explain, checking._EXPLAINED, checking.begins_anew
    checking._Check._explain = lambda check, found: _named(found)
    checking._EXPLAINED = sys.maxsize
    checking.begins_anew = lambda hosted, outcome: _forget(restart(hosted, outcome))
    try:
        yield
    finally:
        checking._Check._explain, checking._EXPLAINED, checking.begins_anew = explain, explained, restart


def _forget(restarted: bool) -> bool:
    """What was explored before an exploration began anew does not count."""
    if restarted:
        sink.take()
    return restarted


def _named(found: Found) -> Violation:
    return Violation(found.kind, Code.ASSERTION, str(found.exception), None, "")


def check(program: Program, folder: Path, algorithm: str = "optimal", executions: int = 4000) -> Checked:
    """Check the program with files in `folder`. `prepared` has to be active."""
    sink.take()
    options = {"algorithm": algorithm, "max_executions": executions, "timeout": 20.0}
    try:
        with _collecting(), _files(program, _MODEL, folder) as path:
            result = _checked(path, options, all_violations=True)
    except DporError as error:
        sink.take()
        return Checked("error", refused=error.code.value, message=error.message)
    # An exploration that began anew inside the kernel has left outcomes that do not count.
    outcomes = set(sink.take(result.executions + result.redundant))
    kinds = {violation.kind for violation in result.violations}
    if kinds & {ViolationKind.DEADLOCK, ViolationKind.LIVELOCK}:
        outcomes.add(DEADLOCK)
    explored = result.executions + result.blocked + result.redundant
    bounded = result.reason.code.value if result.verdict is Verdict.INCOMPLETE and result.reason else None
    if explored >= executions:
        bounded = bounded or Code.MAX_EXECUTIONS.value
    return Checked(
        result.verdict.value,
        frozenset(outcomes),
        tuple(one for one in result.assumptions if one.subject != _OWN),
        bounded=bounded,
        executions=explored,
        broken=tuple(
            sorted(f"{violation.kind.value}: {violation.message}" for violation in result.violations)
        ),
    )


def preemptions_needed(program: Program, outcome: str, folder: Path) -> int:
    """With how many preemptions the check reaches an outcome, at most: those of its counterexample to a model that
    says that there is no such outcome.
    """
    try:
        with _files(program, _denying(outcome), folder) as path:
            found = _counterexample(path, outcome)
    except DporError:
        return 0
    if found is None:
        return 0
    threads = [step.thread for step in decode(found.schedule).steps if step.thread != "main"]
    return sum(
        one != other and one in threads[number + 2 :] for number, (one, other) in enumerate(pairwise(threads))
    )


def replayed(program: Program, outcome: str, folder: Path) -> str:
    """What is wrong with the replay of the counterexample to a model that says that there is no such outcome;
    empty if it breaks the model in the same way.
    """
    with _files(program, _denying(outcome), folder) as path:
        found = _counterexample(path, outcome)
        if found is None:
            return ""
        again = replay_model(
            ReplayRequest(file=str(path), model="checked", root=str(folder), schedule=found.schedule)
        )
    if again.divergence is not None:
        return again.divergence
    if again.violation is None:
        return "it breaks nothing"
    return "" if again.violation.message == found.message else f"it breaks by {again.violation.message}"


def _denying(outcome: str) -> str:
    return _MODEL.replace(
        "record(outcome)", "" if outcome == DEADLOCK else f"assert foreseeable(outcome) != {outcome!r}"
    )


def _counterexample(path: Path, outcome: str) -> Violation | None:
    result = _checked(path, {"timeout": 20.0}, all_violations=True)
    kind = ViolationKind.DEADLOCK if outcome == DEADLOCK else ViolationKind.ASSERTION
    return next((violation for violation in result.violations if violation.kind is kind), None)


def _checked(path: Path, options: dict[str, Any], all_violations: bool) -> ModelResult:
    request = CheckRequest(
        file=str(path),
        model="checked",
        root=str(path.parent),
        options=options,
        all_violations=all_violations,
    )
    return checking.check_model(request, lambda progress: None)


@contextlib.contextmanager
def _files(program: Program, model: str, folder: Path) -> Iterator[Path]:
    """The program and its modules as files, for as long as the context lasts."""
    for name, source in program.modules.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    path = folder / "checked_program.py"
    path.write_text(program.text + model, encoding="utf-8")
    try:
        yield path
    finally:
        for name in program.modules:
            (folder / f"{name}.py").unlink()
            sys.modules.pop(name, None)
