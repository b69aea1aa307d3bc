"""Tracebacks as a program has them without the checker.

What stands in for a function in C is written in Python, so the tracebacks of what it raises, and of what passes through
it, have frames that a program knows nothing of. They are taken out where a program comes by an exception: at the head
of a handler, on leaving a `with`, and where an exception is kept in a future. A frame that CPython's own Python code
would have in its place is not put there: such a function shows as one in C does.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, TracebackType
from typing import Any

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST = 100
# A model has these of asyncio's as they are in Python. Programs have them in C otherwise.
_IN_C: Mapping[str, tuple[str, ...]] = {
    "asyncio.events": ("get_running_loop", "get_event_loop"),
    "asyncio.futures": ("Future.",),
    "asyncio.tasks": ("Task.",),
}
_NAMES_IN_C = tuple(itertools.chain.from_iterable(_IN_C.values()))


def _accessors(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    attribute: Any = vars(BaseException)[name]
    return attribute.__get__, attribute.__set__


# Past the classes of exceptions, which may have code for attributes.
_get_traceback, _set_traceback = _accessors("__traceback__")
_get_cause, _ = _accessors("__cause__")
_get_context, _ = _accessors("__context__")
_get_parts: Callable[..., tuple[BaseException, ...]] = vars(BaseExceptionGroup)["exceptions"].__get__


def leave_out_own_frames(error: object) -> None:
    """Take the frames of the checker out of the traceback of an exception, and of what it leads to: its causes and
    contexts, and the parts of a group, a hundred in all. What is no exception is left as it is.
    """
    found = [error] if isinstance(error, BaseException) else []
    for one in found:
        _set_traceback(one, _without_own(_get_traceback(one)))
        for more in _led_to(one):
            if len(found) < _MOST and not any(more is known for known in found):
                found.append(more)


def _led_to(error: BaseException) -> Iterator[BaseException]:
    for more in (_get_cause(error), _get_context(error)):
        if more is not None:
            yield more
    if isinstance(error, BaseExceptionGroup):
        yield from _get_parts(error)


def _without_own(first: TracebackType | None) -> TracebackType | None:
    while first is not None and _is_own(first):
        first = first.tb_next
    last = first
    while last is not None:
        following = last.tb_next
        if following is not None and _is_own(following):
            last.tb_next = following.tb_next
        else:
            last = following
    return first


def _is_own(entry: TracebackType) -> bool:
    frame = entry.tb_frame
    code: CodeType = frame.f_code
    if code.co_filename.startswith(_OWN):
        return True
    name = code.co_qualname
    # Most frames are of neither, and asking for their module takes longer.
    return name.startswith(_NAMES_IN_C) and name.startswith(
        _IN_C.get(str(frame.f_globals.get("__name__")), ())
    )
