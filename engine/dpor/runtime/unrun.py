"""Results of calls that have run nothing yet: generators and other iterators, and what has to be awaited or entered."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Coroutine, Generator, Iterator
from typing import Any

# Each with the attribute that is None once it has come to its end.
_SUSPENDED: tuple[tuple[Any, str, str], ...] = (
    (Generator, "gi_frame", "a generator"),
    (AsyncGenerator, "ag_frame", "an async generator"),
    (Coroutine, "cr_frame", "a coroutine"),
)
PLAIN = frozenset({bool, bytes, dict, float, int, list, set, str, tuple, type(None)})
"""The commonest types of results, none of which leaves code to run."""

_AWAITABLE: Any = Awaitable
_ITERATORS: Any = (Iterator, AsyncIterator)
_CONTEXTS: Any = (contextlib.AbstractContextManager, contextlib.AbstractAsyncContextManager)


def unrun(value: Any) -> str | None:
    """What the value is, in words, if calling something gave it and left code for somebody else to run; else None.

    A generator or coroutine that has come to its end has been run, and so has a future that is done. What is written in
    C, or only acts as a generator, does not show whether it has.
    """
    if type(value) in PLAIN:
        return None
    for kind, frame, words in _SUSPENDED:
        if isinstance(value, kind):
            return None if getattr(value, frame, value) is None else words
    if isinstance(value, _AWAITABLE):
        done = getattr(value, "done", None)
        return None if callable(done) and done() else f"an awaitable ({type(value).__name__})"
    if isinstance(value, _ITERATORS):
        return f"an iterator ({type(value).__name__})"
    if isinstance(value, _CONTEXTS):
        # What `contextlib.contextmanager` makes of a generator function.
        return None if unrun(getattr(value, "gen", None)) is None else "a context manager"
    return None
