"""Where checked programs leave their outcomes; it is no part of the program, and so not instrumented."""

from __future__ import annotations

import re
import tempfile

_OBJECT = re.compile(r"<(?:[^<>]|<\w+>)* at 0x[0-9a-f]+((?:[^<>]|<\w+>)*)>"), r"<object\1>"
_UNFORESEEN = (
    # Twice, for objects that show another one.
    _OBJECT,
    _OBJECT,
    (re.compile(r"<_io.TextIOWrapper name='<std(out|err)>' [^<>]*>"), "<object>"),
    (re.compile(r"(<module '\w+') from '[^']*'>"), r"\1>"),
    (re.compile(re.escape(tempfile.gettempdir()) + r"[/\\]\w+"), "<temporary>"),
    (re.compile(r"\bThread-\d+"), "Thread"),
    (re.compile(r"\b(checked_program|program_under_test)\b"), "program"),
    (re.compile(r"<temporary>[/\\](program\.py)"), r"\1"),
)
_outcomes: list[str] = []


def foreseeable(outcome: str) -> str:
    """The outcome without what no program can foresee: where objects and modules lie, what stands in for a lock
    or an output, the numbers of threads, the names of temporary files, and that of its own module.
    """
    for pattern, put in _UNFORESEEN:
        outcome = pattern.sub(put, outcome)
    return outcome


def record(outcome: str) -> None:
    """Keep the outcome of an execution."""
    _outcomes.append(foreseeable(outcome))


def take(last: int | None = None) -> frozenset[str]:
    """Return the outcomes kept since the last call, or only the last ones of them, and forget them all."""
    taken = frozenset(_outcomes if last is None else _outcomes[max(0, len(_outcomes) - last) :])
    _outcomes.clear()
    return taken
