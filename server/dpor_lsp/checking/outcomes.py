"""What the end of a worker means for the model that it checked."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpor.codes import Code
from dpor.options import OPTIONS, shown_value
from dpor.results import (
    ModelInfo,
    ModelResult,
    Progress,
    Reason,
    SourceSpan,
    Verdict,
    from_json,
)
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.process import Ending, WorkerEnd
from dpor_lsp.checking.stacks import Stuck, last_seen
from dpor_lsp.checking.worker import out_of_memory

_OUT_OF_MEMORY_MARKS = ("memory allocation of", "MemoryError", "Cannot allocate memory")


def check_outcome(target: CheckTarget, end: WorkerEnd, limits: Limits) -> ModelResult:
    """Turn the end of a checking worker into the model's result, whatever that end was."""
    if end.ending is Ending.FINISHED and end.result is not None:
        try:
            result = from_json(ModelResult, end.result)
        except (KeyError, TypeError, ValueError) as error:
            reason = Reason(Code.INTERNAL_ERROR, f"the worker's answer cannot be read: {error}")
            return unchecked(target, Verdict.ERROR, reason, end)
        short = next((item for item in result.violations if item.message.startswith("MemoryError")), None)
        if short is not None:
            # The model saw the limit as an exception, which says nothing about its schedules.
            reason = replace(out_of_memory(), location=short.location)
            return unchecked(target, Verdict.ERROR, reason, end)
        return replace(
            result,
            reason=_placed(target, result.verdict, result.reason),
            id=target.info.id,
            file=target.info.file,
            line=target.info.line,
            output=result.output or end.output,
            expect=result.expect or expected_verdict(target.info),
        )
    verdict, reason = failure(end, limits, target.root, target.path)
    return unchecked(target, verdict, reason, end)


def unchecked(
    target: CheckTarget, verdict: Verdict, reason: Reason, end: WorkerEnd | None = None
) -> ModelResult:
    """Return the result of a model of which there is nothing to say but a reason."""
    options = {**target.info.options, **target.request.options}
    progress = (end and end.progress) or Progress(0, 0, 0, 0, 0.0, 0.0)
    return ModelResult(
        id=target.info.id,
        file=target.info.file,
        line=target.info.line,
        parameters={**target.info.parameters, **target.request.parameters},
        verdict=verdict,
        reason=_placed(target, verdict, reason),
        algorithm=_chosen(options, "algorithm"),
        memory_model=_chosen(options, "memory_model"),
        executions=progress.executions,
        blocked=progress.blocked,
        redundant=progress.redundant,
        events=progress.events,
        seconds=end.seconds if end else 0.0,
        expect=expected_verdict(target.info),
        output=end.output if end else "",
    )


def _chosen(options: Mapping[str, Any], name: str) -> str:
    given = options.get(name, OPTIONS[name].default.value)
    return given if isinstance(given, str) else shown_value(given)


def _placed(target: CheckTarget, verdict: Verdict, reason: Reason | None) -> Reason | None:
    """Return why a model cannot be checked, at the model if nobody knows a better place."""
    if reason is None or reason.location is not None or verdict is not Verdict.ERROR:
        return reason
    info = target.info
    return replace(reason, location=SourceSpan(info.file, info.line, info.column))


def cancelled(target: CheckTarget, end: WorkerEnd | None = None) -> ModelResult:
    """Return the result of a model whose check was called off before it said anything."""
    return unchecked(target, Verdict.INCOMPLETE, CANCELLED, end)


CANCELLED = Reason(Code.CANCELLED, "the check was cancelled", "start it again to have it checked to the end")


def expected_verdict(info: ModelInfo) -> Verdict | None:
    """Return the verdict that the model's decorator expects, if it names one that exists."""
    try:
        return Verdict(info.options["expect"])
    except (KeyError, ValueError):
        return None


def failure(end: WorkerEnd, limits: Limits, root: Path, file: Path) -> tuple[Verdict, Reason]:
    """Return verdict and reason for a worker that did not answer; `file` is the model's file."""
    if end.ending is Ending.CANCELLED:
        return Verdict.INCOMPLETE, CANCELLED
    seen = last_seen(end.evidence, root, file)
    if end.ending is Ending.HUNG:
        return Verdict.INCOMPLETE, _hung(end, limits, seen)
    location = seen.line if seen else None
    if _ran_out_of_memory(end):
        reason = replace(out_of_memory(), location=location)
        if _was_killed(end):
            message = "the process that checked the model was killed, most likely because memory ran out"
            reason = replace(reason, message=message)
        return Verdict.ERROR, reason
    lines = end.evidence.strip().splitlines()
    said = f": {lines[-1]}" if lines and not seen else ""
    return Verdict.ERROR, Reason(
        Code.WORKER_DIED,
        f"the process that checked the model {_manner(end.status)}{said}",
        "C code that the model calls ended the process: look for extensions that crash or call exit, and for calls "
        "that nest deeper than the stack has room for (sys.setrecursionlimit)",
        location,
    )


def _hung(end: WorkerEnd, limits: Limits, seen: Stuck | None) -> Reason:
    in_time = limits.timeout is not None and end.seconds >= limits.timeout
    period = f"{limits.timeout if in_time else limits.hang:g} s"
    if in_time and seen is None:
        message = f"the check did not end within {period}"
    else:
        message = f"an execution did not end or do anything visible within {period}"
    location: SourceSpan | None = None
    if seen is not None:
        location = seen.loop or seen.line
        if seen.loop is None:
            message += f"; it was last seen at line {seen.line.line}"
        elif seen.loop.line == seen.line.line:
            message += f"; it was in the loop at line {seen.loop.line}"
        else:
            message += f"; it was in the loop at line {seen.loop.line}, last seen at line {seen.line.line}"
    option = "--timeout" if in_time else "--hang-timeout"
    fix = f"let the loop end, or wait in it with dpor.wait_until; if it only needs longer, raise {option}"
    return Reason(Code.TIMEOUT, message, fix, location)


def _ran_out_of_memory(end: WorkerEnd) -> bool:
    if any(mark in text for mark in _OUT_OF_MEMORY_MARKS for text in (end.output[-2000:], end.evidence)):
        return True
    return _was_killed(end)


def _was_killed(end: WorkerEnd) -> bool:
    """Return whether somebody else killed the worker: most likely the system, to make room."""
    return end.status is not None and hasattr(signal, "SIGKILL") and end.status == -signal.SIGKILL


def _manner(status: int | None) -> str:
    if status is None:
        return "ended without a result"
    if status >= 0:
        return f"ended with exit status {status} and without a result"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was ended by {name}"
