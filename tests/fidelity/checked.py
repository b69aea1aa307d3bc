"""Test methods as models: the test's module with a model at its end, checked in this process."""

from __future__ import annotations

import contextlib
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpor._kernel import Outcome
from dpor.checking import check
from dpor.checking.failures import Found
from dpor.checkpoints import Sharing
from dpor.codes import Code
from dpor.errors import DporError
from dpor.hosted import HostedModel
from dpor.options import Algorithm
from dpor.results import Verdict, Violation
from fidelity import outcome, serving
from fidelity.modules import files_of, folder_of_tests
from fidelity.outcome import Happening

_MODEL = """

import dpor as _fidelity_dpor
import fidelity_outcome as _fidelity_outcome


@_fidelity_dpor.model
def _fidelity_model(method=""):
    module = _fidelity_outcome.loaded(__name__ if method else _fidelity_outcome.__name__)
    found = _fidelity_outcome.find(module, method or "Warming.test")
    _fidelity_outcome.record(_fidelity_outcome.run(*found))
    if not method and hasattr(_fidelity_outcome.loaded(__name__), "load_tests"):
        _fidelity_outcome.methods(_fidelity_outcome.loaded(__name__))
"""
_STEPS = 1_000_000


def serve(name: str, methods: Sequence[str], patience: float, executions: int) -> None:
    """Run these methods of the test module `name`, with so many executions each."""
    folder = folder_of_tests()
    assert folder is not None
    sys.modules["fidelity_outcome"] = outcome
    file = next(path for found, path in files_of(folder, name) if found == name)
    with tokenize.open(file) as stream:
        source = stream.read() + _MODEL
    # The first schedule of a search lets a thread run as far as it can, also where it only waits for others in a loop.
    drawn = {"algorithm": Algorithm.RANDOM.value, "seed": 1}
    options = {"max_executions": executions, "max_steps": _STEPS, "timeout": patience, **drawn}
    sys.argv[:] = ["test"]
    with _collecting():
        try:
            hosted = HostedModel(
                str(file), "_fidelity_model", str(folder), {}, options, source, _without_resources(folder)
            )
            hosted.__enter__()
        except DporError as error:
            serving.fail(f"{error.code.value}: {error.message}")
            return
        # What each check needs of the library is instrumented once for all.
        _run(hosted, "")
        serving.serve(methods, lambda method: _run(hosted, method), patience)


def _without_resources(folder: Path) -> dict[str, str]:
    """What stands in for the module `test.support`: decorators ask it for resources while a module is loaded."""
    file = folder / "support" / "__init__.py"
    text = file.read_text(encoding="utf-8")
    return {str(file): text.replace("\nuse_resources = None", "\nuse_resources = ()")}


def _run(hosted: HostedModel, method: str) -> serving.Answer:
    hosted.parameters = {"method": method}
    outcome.take()
    try:
        result = check._Check(hosted, False, None, Sharing()).run()
    except DporError as error:
        return {"executions": outcome.take()[-1:], "refused": [error.code.value, error.message]}
    explored = result.executions + result.redundant
    told = outcome.take()[-explored:] if explored else []
    answer: serving.Answer = {"executions": told}
    if result.violations:
        found = result.violations[0]
        told.append([Happening(f"violation: {found.kind.value}", message=outcome.foreseeable(found.message))])
    elif (
        result.verdict is Verdict.INCOMPLETE
        and result.reason
        and result.reason.code not in (Code.MAX_EXECUTIONS, Code.SAMPLED)
    ):
        told.append([Happening("bound", message=result.reason.code.value)])
    return answer


@contextlib.contextmanager
def _collecting() -> Iterator[None]:
    """Let violations be named and not explained, and forget what was told before an exploration began anew."""
    explain, restart = check._Check._explain, check.begins_anew
    check._Check._explain = lambda _, found: _named(found)

    def restarting(hosted: HostedModel, outcome_: Outcome) -> bool:
        again = restart(hosted, outcome_)
        if again:
            outcome.take()
        return again

    check.begins_anew = restarting
    try:
        yield
    finally:
        check._Check._explain, check.begins_anew = explain, restart


def _named(found: Found) -> Violation:
    error = found.exception
    text = ", ".join(" ".join(str(part) for part in one) for one in found.waiting)
    if error is not None:
        text = f"{type(error).__name__}: {error}"
    return Violation(found.kind, Code.ASSERTION, f"in {found.thread}: {text}", None, "")
