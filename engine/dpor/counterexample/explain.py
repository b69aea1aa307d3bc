"""Puts a recorded failing execution together into the violation that a report shows."""

from __future__ import annotations

from pathlib import Path

from dpor.codes import Code
from dpor.counterexample.operations import Operation
from dpor.counterexample.patterns import find_pattern, waiting_cycle
from dpor.counterexample.records import Execution, Failure, Site, Wait
from dpor.counterexample.relevance import relevant_steps
from dpor.counterexample.syntax import Sources
from dpor.results import CallSite, SourceSpan, TraceStep, Violation, ViolationKind, WaitingThread

CODES = {
    ViolationKind.ASSERTION: Code.ASSERTION,
    ViolationKind.EXCEPTION: Code.EXCEPTION,
    ViolationKind.DEADLOCK: Code.DEADLOCK,
    ViolationKind.LIVELOCK: Code.LIVELOCK,
    ViolationKind.MISUSE: Code.MISUSE,
    ViolationKind.DATA_RACE: Code.DATA_RACE,
}


def explain(execution: Execution, schedule: str, root: Path | None = None) -> Violation:
    """The violation that a failing execution is: what mattered, who waits for whom, the pattern.

    `schedule` is the schedule's text; `root` the folder that the recorder made spans relative to. Raises
    ValueError if the execution has no failure.
    """
    failure = execution.failure
    if failure is None:
        raise ValueError("an execution without a failure needs no explanation")
    relevant = relevant_steps(execution)
    waiting = tuple(_waiting(wait) for wait in execution.waits)
    first = _most_telling(execution, waiting)
    return Violation(
        kind=failure.kind,
        code=CODES[failure.kind],
        message=failure.message or describe_failure(failure, root),
        location=_location(failure, first),
        schedule=schedule,
        trace=steps_of(execution, relevant),
        thread=failure.thread or (first.thread if first is not None else None),
        pattern=find_pattern(execution, relevant, root),
        waiting=waiting,
        traceback=failure.traceback,
        calls=tuple(CallSite(site.span, site.function, site.first_party) for site in _raised(failure)),
    )


def _raised(failure: Failure) -> tuple[Site, ...]:
    return failure.sites if failure.traceback is not None else ()


def steps_of(execution: Execution, relevant: frozenset[int] | None = None) -> tuple[TraceStep, ...]:
    """The steps of an execution as reports show them; those of `relevant` matter (None: find out which)."""
    chosen = relevant_steps(execution) if relevant is None else relevant
    return tuple(record.step(record.index in chosen) for record in execution.records)


def describe_failure(failure: Failure, root: Path | None = None) -> str:
    """A message for a failure that brings none: for an `assert`, the condition that did not hold."""
    location = failure.location
    if failure.kind is ViolationKind.ASSERTION and location is not None:
        return f"assertion failed: {Sources(root).assertion(location)}"
    return failure.exception or CODES[failure.kind].meaning


def _location(failure: Failure, first: WaitingThread | None) -> SourceSpan | None:
    """Where a failure shows: a deadlock where one of its threads waits, not where another one waits for that."""
    waits = first.location if first is not None else None
    if failure.kind is ViolationKind.DEADLOCK:
        return waits or failure.location
    return failure.location or waits


def _most_telling(execution: Execution, waiting: tuple[WaitingThread, ...]) -> WaitingThread | None:
    """The waiting thread at whose place a standstill is reported: one in a loop, else one of a cycle, else one that
    does not just join.
    """
    spinning = [wait for wait in waiting if wait.operation == Operation.SPIN.value]
    if spinning:
        return spinning[0]
    cycle = waiting_cycle(execution.waits)
    by_thread = {wait.thread: wait for wait in waiting}
    if cycle:
        return by_thread[cycle[0].thread]
    others = [wait for wait in waiting if wait.operation != Operation.JOIN.value]
    return next(iter(others or waiting), None)


def _waiting(wait: Wait) -> WaitingThread:
    location = next((site.span for site in wait.sites if site.first_party), None)
    return WaitingThread(
        thread=wait.thread,
        operation=wait.operation.value,
        target=wait.target,
        location=location or (wait.sites[0].span if wait.sites else None),
        held=wait.held,
        waits_for=wait.owner,
        task=wait.task,
    )
