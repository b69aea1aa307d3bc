"""Results of calls that have run nothing yet: generators and other iterators, and what has to be awaited or entered."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Coroutine, Generator, Iterator
from typing import Any, cast


def unrun(value: object) -> str | None:
    """What the value is, in words, if calling something gave it and left code for somebody else to run; else None.

    A generator or coroutine that has come to its end has been run, and so has a future that is done.
    """
    if value is None:
        return None
    if isinstance(value, Generator):
        return None if _has_ended(value, "gi_frame") else "a generator"
    if isinstance(value, AsyncGenerator):
        return None if _has_ended(value, "ag_frame") else "an async generator"
    if isinstance(value, Coroutine):
        return None if _has_ended(value, "cr_frame") else "a coroutine"
    if isinstance(value, Awaitable):
        done = getattr(cast("Any", value), "done", None)
        return None if callable(done) and done() else f"an awaitable ({type(value).__name__})"
    if isinstance(value, Iterator | AsyncIterator):
        return f"an iterator ({type(value).__name__})"
    if isinstance(value, contextlib.AbstractContextManager | contextlib.AbstractAsyncContextManager):
        # What `contextlib.contextmanager` makes of a generator function.
        return None if unrun(getattr(cast("Any", value), "gen", None)) is None else "a context manager"
    return None


def _has_ended(value: object, frame: str) -> bool:
    # What is written in C, or only acts as a generator, does not show whether it has been run.
    return getattr(value, frame, value) is None
