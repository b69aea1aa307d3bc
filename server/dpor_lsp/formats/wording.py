"""Sentences that several formats use."""

from __future__ import annotations

from dpor.codes import Code
from dpor.results import Assumption, ModelResult, SourceSpan, Verdict

_SHORTEST_TIME = 0.0005


def counts(result: ModelResult) -> str:
    """Return `3 executions, 2 blocked, 0.004 s`, with what is nought and says nothing left out."""
    parts = [amount(result.executions, "execution")]
    if result.blocked:
        parts.append(f"{result.blocked} blocked")
    if result.redundant:
        parts.append(f"{result.redundant} redundant")
    if result.classes is not None:
        parts.append(f"{result.classes:,} class{'' if result.classes == 1 else 'es'} of values")
    parts.append("cached" if result.cached else duration(result.seconds))
    return ", ".join(parts)


def amount(number: int, noun: str) -> str:
    """Return `1 model`, `2 models`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time as people read it: `4 ms`, `1.24 s`, `3 min 20 s`."""
    if seconds < 1:
        return f"{max(seconds, _SHORTEST_TIME) * 1000:.0f} ms" if seconds >= _SHORTEST_TIME else "0 ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def parameters(result: ModelResult) -> str:
    """Return `clerks=1, rounds=2`, or an empty string."""
    return ", ".join(f"{name}={value!r}" for name, value in result.parameters.items())


def place(location: SourceSpan | None) -> str:
    """Return `bank.py:13:9`, or an empty string."""
    return f"{location.file}:{location.line}:{location.column}" if location else ""


def assumption(item: Assumption) -> str:
    """Return what a verdict rests on, and how to do without it."""
    return f"{item.message}; {item.fix}" if item.fix else item.message


def assumptions_to_tell(result: ModelResult) -> tuple[Assumption, ...]:
    """Return the assumptions that no reason of the result has listed already."""
    listed = result.reason is not None and result.reason.code is Code.ASSUMED
    return () if listed else result.assumptions


def unexpected(result: ModelResult) -> str | None:
    """Return a sentence if a conclusive verdict without a violation is not the expected one, and no reason says so."""
    if result.reason is not None:
        return None
    if result.verdict is Verdict.VERIFIED and result.expect not in (None, Verdict.VERIFIED):
        return f"the model expects to be {result.expect.value}, but every schedule was checked and none fails"
    return None
