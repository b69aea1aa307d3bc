"""Pure functions on recorded traces that say how hard a trace is to read, and what to say of it in three
lines.

The search for the simplest counterexample runs executions and is the kernel's; `cost` is what it minimises.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from dpor.counterexample.operations import Operation, effect
from dpor.counterexample.phrases import describe_step, describe_wait
from dpor.results import TraceStep, Violation, ViolationKind

_MOST_LINES = 3


def context_switches(trace: Iterable[TraceStep]) -> int:
    """How often the running thread changes from one step to the next."""
    threads = [step.thread for step in trace]
    return sum(before != after for before, after in itertools.pairwise(threads))


def cost(trace: Sequence[TraceStep]) -> tuple[int, int]:
    """What makes a counterexample hard to read, to be minimised: context switches first, then steps."""
    return context_switches(trace), len(trace)


def summary(violation: Violation) -> list[str]:
    """At most three lines that carry the essence of a counterexample, in the order of the execution.

    For a deadlock one line a waiting thread; else the steps around the last context switches that matter,
    such as `main.0 reads Account#1.balance = 100 (line 12)`.
    """
    if violation.kind is ViolationKind.DEADLOCK:
        # Threads that only wait for the end of others say the least.
        waiting = sorted(violation.waiting, key=lambda wait: wait.operation == Operation.JOIN.value)
        lines = [describe_wait(wait) for wait in waiting]
        return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], _more(lines, "threads")]
    return [describe_step(step) for step in essential_steps(violation)]


def essential_steps(violation: Violation) -> list[TraceStep]:
    """The at most three steps that show the interleaving best, in the order of the execution.

    These are a read that another thread made stale, that other thread's write, and what was done on the stale
    value, as far as the trace has them; else the last steps that matter.
    """
    steps = [step for step in violation.trace if step.matters and _is_access(step)]
    for last in reversed(range(len(steps))):
        act = steps[last]
        if not effect(Operation.of(act.operation), None, act.value)[1]:
            continue
        for middle in reversed(range(last)):
            theirs = steps[middle]
            if theirs.thread == act.thread or theirs.target != act.target or not _writes(theirs):
                continue
            stale = next(
                (
                    step
                    for step in reversed(steps[:middle])
                    if step.thread == act.thread and step.target == act.target and not _writes(step)
                ),
                None,
            )
            if stale is not None:
                return [stale, theirs, act]
    return steps[-_MOST_LINES:]


def _is_access(step: TraceStep) -> bool:
    operation = Operation.of(step.operation)
    return operation.is_memory or operation.is_synchronisation


def _writes(step: TraceStep) -> bool:
    operation = Operation.of(step.operation)
    return operation is Operation.CALL or effect(operation, None, step.value)[1]


def _more(lines: Sequence[str], what: str) -> str:
    return f"… and {len(lines) - _MOST_LINES + 1} more {what} wait"
