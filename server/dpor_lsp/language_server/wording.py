"""What the editor shows in words: diagnostics, lenses, hovers and progress."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from dpor.counterexample.operations import Operation
from dpor.counterexample.phrases import describe_operation, describe_wait, effect_text, place_of
from dpor.results import (
    Assumption,
    ModelResult,
    Progress,
    TraceStep,
    Verdict,
    Violation,
    ViolationKind,
    WaitingThread,
)
from dpor_lsp.formats import wording

SCHEDULE_LINES = 3
_LONGEST_LINE = 160


def violation_message(violation: Violation, model: str) -> str:
    """The message of a diagnostic: what broke in which model, and the essential schedule in up to three lines."""
    pattern = f" ({violation.pattern.value})" if violation.pattern is not None else ""
    first = violation.message.partition("\n")[0]
    return "\n".join([f"{model}: {first}{pattern}", *essential_schedule(violation)])


def assumption(one: Assumption) -> str:
    """What a verdict rests on, where, and how to do without it."""
    where = f" ({one.location.file}:{one.location.line})" if one.location is not None else ""
    return wording.assumption(dataclasses.replace(one, message=one.message + where))


def essential_schedule(violation: Violation) -> list[str]:
    """The steps that tell the failure, in at most three lines: who waits for whom, or who read and wrote what."""
    if violation.kind is ViolationKind.DEADLOCK:
        waiting = [wait for wait in violation.waiting if wait.operation != Operation.JOIN.value]
        lines = [describe_wait(wait) for wait in (waiting or list(violation.waiting))]
    else:
        lines = _segments([step for step in violation.trace if step.matters], violation)
    if len(lines) > SCHEDULE_LINES:
        left_out = len(lines) - SCHEDULE_LINES + 1
        lines = [f"... {wording.amount(left_out, 'line')} before ...", *lines[1 - SCHEDULE_LINES :]]
    return [_cut(line) for line in lines]


def _segments(steps: Sequence[TraceStep], violation: Violation) -> list[str]:
    """What each thread did between two switches, beside starting and ending, on the variables that matter."""
    telling = [step for step in steps if not Operation.of(step.operation).is_lifecycle]
    memory = [step for step in telling if Operation.of(step.operation).is_memory]
    contended = _contended(memory)
    chosen = [step for step in memory if step.target in contended] or memory or telling
    grouped = [(thread, list(group)) for thread, group in itertools.groupby(chosen, lambda step: step.thread)]
    # What the failing thread only looks at in the end is in the message already.
    reads = (Operation.LOAD, Operation.MISS, Operation.ATOMIC_LOAD)
    while len(grouped) > SCHEDULE_LINES and all(
        Operation.of(step.operation) in reads for step in grouped[-1][1]
    ):
        grouped.pop()
    # What happened before a second thread came in only set the stage.
    while len(grouped) > SCHEDULE_LINES and grouped[0][0] == "main":
        grouped.pop(0)
    return [_segment(thread, group) for thread, group in grouped]


def _contended(steps: Sequence[TraceStep]) -> set[str | None]:
    """The variables that more than one thread accesses."""
    threads: dict[str | None, set[str]] = {}
    for step in steps:
        threads.setdefault(step.target, set()).add(step.thread)
    return {target for target, users in threads.items() if len(users) > 1}


def _segment(thread: str, steps: Sequence[TraceStep]) -> str:
    texts = list(dict.fromkeys(describe_operation(step) for step in steps))
    lines = [str(place.line) for step in steps if (place := place_of(step)) is not None]
    where = ", ".join(dict.fromkeys(lines))
    return f"{thread} {', '.join(texts)}" + (f" (line {where})" if where else "")


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def step_message(step: TraceStep) -> str:
    """A step as related information: `4. main.0 acquires Account#1.lock`."""
    return f"{step.step}. {step.thread} {describe_operation(step)}"


def wait_message(wait: WaitingThread, model: str) -> str:
    """The message on the line where one thread of a deadlock waits."""
    return f"{model}: deadlock: {describe_wait(wait)}"


def value_text(step: TraceStep) -> str:
    """A step as a value at the end of its line: `main.0: Account#1.balance ← 130`."""
    return f"{step.thread}: {effect_text(step)}"


def headline(result: ModelResult) -> str:
    """A result in a few words: `violated: deadlock`, `verified`, `incomplete: the check reached its timeout`."""
    expected = ", as expected" if result.as_expected and result.expect is not None else ""
    if result.verdict is Verdict.VIOLATED and result.violations:
        kinds = list(dict.fromkeys(item.kind.value for item in result.violations))
        return f"violated{expected}: {', '.join(kinds)}"
    if result.verdict is Verdict.VERIFIED:
        unexpected = "" if result.as_expected else ", but a violation was expected"
        return f"verified{expected}{unexpected}"
    if result.reason is not None:
        return f"{result.verdict.value}: {result.reason.message.partition(chr(10))[0]}"
    return result.verdict.value


def counts(result: ModelResult) -> str:
    """`3 executions, 2 blocked, 4 ms`."""
    return wording.counts(result)


def progress_text(progress: Progress | None) -> str:
    """`12,000 executions, 21,000 a second, 30%, about 40 s left`."""
    if progress is None:
        return "starting"
    done = progress.executions + progress.blocked + progress.redundant
    parts = [wording.amount(done, "execution")]
    if progress.seconds > 0:
        parts.append(f"{done / progress.seconds:,.0f} a second")
    if 0 < progress.fraction < 1:
        left = progress.seconds * (1 - progress.fraction) / progress.fraction
        parts.append(f"{progress.fraction:.0%}")
        parts.append(f"about {_roughly(left)} left")
    return ", ".join(parts)


def _roughly(seconds: float) -> str:
    if seconds > 48 * 3600:
        return "days"
    if seconds > 2 * 3600:
        return f"{seconds / 3600:.0f} h"
    if seconds > 120:
        return f"{seconds / 60:.0f} min"
    return f"{max(1, round(seconds))} s"
