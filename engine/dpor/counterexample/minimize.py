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
_NEWLINE = "\n"


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
    if violation.kind.is_standstill:
        # Threads that only wait for the end of others say the least.
        waiting = sorted(violation.waiting, key=lambda wait: wait.operation == Operation.JOIN.value)
        lines = [describe_wait(wait) for wait in waiting]
        return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], _more(lines, "threads")]
    steps = essential_steps(violation)
    lines = [describe_step(step) for step in steps]
    if (
        violation.kind is ViolationKind.EXCEPTION
        and len(lines) < _MOST_LINES
        and violation.thread is not None
    ):
        place = f" (line {violation.location.line})" if violation.location is not None else ""
        lines.append(f"{violation.thread} raises {violation.message.partition(_NEWLINE)[0]}{place}")
    return lines


def essential_steps(violation: Violation) -> list[TraceStep]:
    """The at most three steps that show the interleaving best, in the order of the execution.

    These are a read that another thread made stale, that other thread's write, and what was done on the
    stale value (nothing if that is what failed), as far as the trace has them; else the last thing that the
    failing thread read and what others did last before it.
    """
    steps = [step for step in violation.trace if step.matters and _is_access(step)]
    acts = [index for index, step in enumerate(steps) if _effect(step)[1]]
    for last in reversed(acts):
        found = _stale(steps[:last], steps[last].thread, _subject(steps[last]))
        if found is not None:
            return [*found, steps[last]]
    if violation.kind is ViolationKind.EXCEPTION and violation.thread is not None:
        for step in reversed(steps):
            found = _stale(steps, violation.thread, _subject(step))
            if found is not None:
                return found
    own = [step for step in steps if step.thread == violation.thread][-1:]
    others = [step for step in steps if step.thread != violation.thread and not _is_release(step)]
    return sorted([*others[-_MOST_LINES + len(own) :], *own], key=lambda step: step.step)


def _stale(steps: Sequence[TraceStep], thread: str, subject: str | None) -> list[TraceStep] | None:
    """A thread's last read of some data before another thread's last write of it, and that write."""
    if subject is None:
        return None
    theirs = next(
        (
            index
            for index in reversed(range(len(steps)))
            if steps[index].thread != thread
            and _subject(steps[index]) == subject
            and _effect(steps[index])[1]
        ),
        None,
    )
    if theirs is None:
        return None
    for step in reversed(steps[:theirs]):
        if step.thread == thread and _subject(step) == subject and _effect(step) == (True, False):
            return [step, steps[theirs]]
    return None


def _is_access(step: TraceStep) -> bool:
    operation = Operation.of(step.operation)
    return operation.is_memory or operation.is_synchronisation


def _is_release(step: TraceStep) -> bool:
    return step.operation == Operation.RELEASE.value


def _subject(step: TraceStep) -> str | None:
    """The name of the data that a step accesses: that of the container for a method's call."""
    if step.operation != Operation.CALL.value or step.target is None:
        return step.target
    container, _, _ = step.target.rpartition(".")
    return container or step.target


def _effect(step: TraceStep) -> tuple[bool, bool]:
    method = (step.target or "").rpartition(".")[2].removesuffix("()")
    return effect(Operation.of(step.operation), method, step.value)


def _more(lines: Sequence[str], what: str) -> str:
    return f"… and {len(lines) - _MOST_LINES + 1} more {what} wait"
