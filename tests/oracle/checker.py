"""Runs a check of a program in this process and collects the outcomes of all its executions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dpor import checking
from dpor.codes import Code
from dpor.errors import DporError
from dpor.executions import Found
from dpor.results import CheckRequest, Verdict, Violation, ViolationKind
from oracle import sink
from oracle.programs import Program
from oracle.scheduler import DEADLOCK

HERE = Path(__file__).resolve().parent
_MODEL = """

import dpor
from oracle_sink import record


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
    assumptions: tuple[str, ...] = ()
    refused: str | None = None
    message: str = ""
    bounded: str | None = None
    executions: int = 0
    broken: tuple[str, ...] = ()


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Let checks run fast: violations are named and not explained, and modules of programs can be imported."""
    explain, explained = checking._Check._explain, checking._EXPLAINED
    restart = checking.apply_restart
    path = list(sys.path)
    checking._Check._explain = lambda check, found: _named(found)
    checking._EXPLAINED = sys.maxsize
    checking.apply_restart = lambda hosted, outcome: _forget(restart(hosted, outcome))
    sys.path.insert(0, str(HERE / "site-packages"))
    sys.modules["oracle_sink"] = sink
    try:
        yield
    finally:
        checking._Check._explain, checking._EXPLAINED = explain, explained
        checking.apply_restart = restart
        sys.path[:] = path
        del sys.modules["oracle_sink"]


def _forget(restarted: bool) -> bool:
    """What was explored before an exploration began anew does not count."""
    if restarted:
        sink.take()
    return restarted


def _named(found: Found) -> Violation:
    return Violation(found.kind, Code.ASSERTION, str(found.exception), None, "")


def check(program: Program, folder: Path, algorithm: str = "optimal", executions: int = 4000) -> Checked:
    """Check the program with files in `folder`. `prepared` has to be active."""
    for name, source in program.modules.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    path = folder / "checked_program.py"
    path.write_text(program.text + _MODEL, encoding="utf-8")
    request = CheckRequest(
        file=str(path),
        model="checked",
        root=str(folder),
        options={"algorithm": algorithm, "max_executions": executions, "timeout": 20.0},
        all_violations=True,
    )
    sink.take()
    try:
        result = checking.check_model(request, lambda progress: None)
    except DporError as error:
        sink.take()
        return Checked("error", refused=error.code.value, message=error.message)
    finally:
        for name in program.modules:
            (folder / f"{name}.py").unlink()
            sys.modules.pop(name, None)
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
        result.assumptions,
        bounded=bounded,
        executions=explored,
        broken=tuple(
            sorted(f"{violation.kind.value}: {violation.message}" for violation in result.violations)
        ),
    )
