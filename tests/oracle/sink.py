"""Where checked programs leave their outcomes; it is no part of the program, and so not instrumented."""

from __future__ import annotations

import re
import tempfile

_ADDRESS = re.compile(r"<(?:[^<>]|<\w+>)* at 0x[0-9a-f]+([^<>]*)>")
_TEMPORARY = re.compile(re.escape(tempfile.gettempdir()) + r"[/\\]\w+")
_THREAD = re.compile(r"\bThread-\d+")
_outcomes: list[str] = []


def foreseeable(outcome: str) -> str:
    """The outcome without what no program can foresee: where objects lie, what stands in for a lock, the numbers of
    threads, and the names of temporary files.
    """
    return _THREAD.sub("Thread", _TEMPORARY.sub("<temporary>", _ADDRESS.sub(r"<object\1>", outcome)))


def record(outcome: str) -> None:
    """Keep the outcome of an execution."""
    _outcomes.append(foreseeable(outcome))


def take(last: int | None = None) -> frozenset[str]:
    """Return the outcomes kept since the last call, or only the last ones of them, and forget them all."""
    taken = frozenset(_outcomes if last is None else _outcomes[max(0, len(_outcomes) - last) :])
    _outcomes.clear()
    return taken
