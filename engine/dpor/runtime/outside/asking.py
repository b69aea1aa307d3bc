"""Who asks: whether a call that a stand-in gets, or an audit event, belongs to the model."""

from __future__ import annotations

import sys
from collections.abc import Collection
from types import FrameType

from dpor.instrument.standard_library import is_left, is_of_standard_library
from dpor.runtime import current

# What passes a call on to the system.
_PASSING = frozenset(
    {
        "_collections_abc",
        "codecs",
        "contextlib",
        # Enters and leaves what a `with` statement is given.
        "dpor.instrument.implicit",
        "genericpath",
        "io",
        "ntpath",
        "os",
        "pathlib",
        "posixpath",
        "tokenize",
    }
)
_STAND_INS = "dpor.runtime.outside."
_AUDITING = "dpor.runtime.uncontrolled"
_PASSING_PACKAGES = (_AUDITING, _STAND_INS, "pathlib.")
# What works on files for the checker, and for the interpreter: source files and what is installed, which it reads once
# in a process and keeps. That is no operation of the model. The rest of the checker calls what a model hands to it.
_APART = (
    "dpor.checking",
    "dpor.counterexample.",
    "dpor.hosted",
    "dpor.instrument.",
    "dpor.reading",
    "dpor.symbolic.",
    "importlib._bootstrap",
    "zipimport",
)
_LINES = "linecache"
_PASSING_LINES = _PASSING | {_LINES}


def asking_frame() -> FrameType | None:
    """The frame of the code that has called a stand-in, past the library's functions for paths, files and variables."""
    return _asking(sys._getframe(1), _PASSING)  # pyright: ignore[reportPrivateUsage]


def _asking(frame: FrameType | None, passing: Collection[str]) -> FrameType | None:
    while frame is not None:
        name: str = frame.f_globals.get("__name__", "")
        if name not in passing and not name.startswith(_PASSING_PACKAGES):
            return frame
        frame = frame.f_back
    return None


def is_apart() -> bool:
    """Whether the caller of a stand-in works for the checker or for the interpreter."""
    frame = asking_frame()
    return frame is not None and _works_apart(frame)


def _works_apart(frame: FrameType) -> bool:
    name: str = frame.f_globals.get("__name__", "")
    if name == _LINES:
        # It reads for whoever calls it: for the library's tracebacks, or for a program that wants the lines of a file.
        caller = _asking(frame, _PASSING_LINES)
        return (
            caller is None
            or not _is_instrumented(caller)
            or is_of_standard_library(caller.f_globals.get("__name__", ""))
        )
    return name.startswith(_APART)


def _is_instrumented(frame: FrameType) -> bool:
    host = current.current_host()
    return host is not None and host.is_instrumented(frame.f_globals)


def is_asked_by_model() -> bool:
    """Whether it is the model's code that calls a stand-in, and not the library for itself."""
    frame = asking_frame()
    host = current.current_host()
    return frame is not None and host is not None and host.is_first_party(frame.f_globals)


def is_asked_by_instrumented() -> bool:
    """Whether it is the model's code, or code of a library that runs as the model's does."""
    frame = asking_frame()
    return frame is not None and _is_instrumented(frame)


def is_asked_by_left() -> bool:
    """Whether it is code of the library that nobody looks into, for itself."""
    frame = asking_frame()
    return frame is not None and is_left(frame.f_globals.get("__name__", ""))


def is_called_by_stand_in() -> bool:
    """Whether what an audit event tells of was called by a stand-in itself."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__") == _AUDITING:
        frame = frame.f_back
    return frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_STAND_INS)


def is_importing() -> bool:
    """Whether a call of a stand-in belongs to the import of a module, which is done once and stays."""
    frame = asking_frame()
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def is_for_the_checker() -> bool:
    """Whether whatever runs now was called by the checker itself, rather than by the model's code."""
    frame = asking_frame()
    while frame is not None and not _is_instrumented(frame):
        if _works_apart(frame):
            return True
        frame = frame.f_back
    return False
