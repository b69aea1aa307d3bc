"""`--replay PATH::MODEL`: follow a schedule and tell what happens, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import Reason, ReplayRequest, ReplayResult, Verdict, from_json
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.checker import Checker
from dpor_lsp.checking.outcomes import failure
from dpor_lsp.checking.process import Cancellation, Ending, run_worker
from dpor_lsp.cli.report import ExitCode, raised


@dataclass(frozen=True)
class Pinned:
    """A schedule to follow, with the parameters and options that it was found under."""

    schedule: str
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]


def kept_schedule(checker: Checker, target: CheckTarget) -> Pinned | None:
    """Return the model's last counterexample as the cache has it, or None. It may be that of other code."""
    cache = checker.cache(target.root)
    kept = cache.last_counterexample(target.info.id) if cache else None
    return (
        None
        if kept is None
        else Pinned(kept.schedule, {**kept.parameters, **target.request.parameters}, kept.options)
    )


def found_schedule(checker: Checker, target: CheckTarget) -> Pinned | None:
    """Return the counterexample of a check that is made now.

    Returns None if the check finds no violation. Raises DporError if the model cannot be checked.
    """
    for entry in checker.check([target]):
        result = entry.result
        if result.violations:
            schedule = result.violations[0].schedule
            return Pinned(schedule, target.request.parameters, target.request.options)
        if result.verdict is not Verdict.VERIFIED and result.reason is not None:
            raise raised(result.reason)
    return None


def why_not(checker: Checker, target: CheckTarget, pinned: Pinned) -> str | None:
    """Why a schedule that was kept cannot be followed to its end; None if it can."""
    try:
        divergence = replay(checker, target, pinned).divergence
    except DporError as error:
        return f"{error.code.value}: {error.message}"
    return divergence


def replay(
    checker: Checker, target: CheckTarget, pinned: Pinned, *, command: Sequence[str] | None = None
) -> ReplayResult:
    """Follow a schedule on a model in a worker process.

    Raises DporError: DPOR401 and DPOR402 for a schedule that is none or another model's, and whatever keeps the
    model from being run. KeyboardInterrupt ends the worker.
    """
    request = replay_request(target, pinned)
    limits = checker.limits(target)
    end = run_worker(request, limits, cancellation=Cancellation(), command=command)
    if end.ending is not Ending.FINISHED or end.result is None:
        raise raised(failure(end, limits, target.root, Path(request.file))[1])
    if "reason" in end.result:
        raise raised(from_json(Reason, end.result["reason"]))
    try:
        return from_json(ReplayResult, end.result["replay"])
    except (KeyError, TypeError, ValueError) as error:
        raise DporError(Code.INTERNAL_ERROR, f"the worker's answer cannot be read: {error}") from error


def replay_request(target: CheckTarget, pinned: Pinned) -> ReplayRequest:
    """Return the request to follow a schedule on a model, with the texts that the model is checked with."""
    return ReplayRequest(
        file=target.request.file,
        model=target.request.model,
        root=target.request.root,
        schedule=pinned.schedule,
        parameters=pinned.parameters,
        options=pinned.options,
        source=target.request.source,
        overlays=target.request.overlays,
    )


def replay_exit_code(result: ReplayResult) -> ExitCode:
    """Return 1 if the violation showed again, 3 if the schedule could not be followed to its end, else 0."""
    if result.violation is not None:
        return ExitCode.VIOLATION
    return ExitCode.INCOMPLETE if result.divergence else ExitCode.EXPECTED
