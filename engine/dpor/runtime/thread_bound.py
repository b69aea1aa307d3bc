"""Objects that threads use one at a time: those of asyncio, and text files that are read.

The code of asyncio runs unseen: the tasks of a thread take turns, so that nothing comes between. So does the code in
Python that decodes what is read of a text file. What another thread does to such an object meanwhile is not seen,
which the report says.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from dpor.results import AssumptionKind
from dpor.runtime import current
from dpor.runtime.identifiers import MAIN
from dpor.runtime.turn_events import leave_turns, note_access

if TYPE_CHECKING:
    from dpor.runtime.execution import Execution

# What never changes, though its name says that it is nobody else's.
_CONSTANT = ("_loop",)


class Users:
    """Who has used an object in an execution."""

    __slots__ = ("execution", "locks", "settled")

    def __init__(self, execution: Execution | None) -> None:
        self.execution = execution
        # The locks that each thread, by number, has held in every use of it.
        self.locks: dict[int, frozenset[int]] = {}
        # The thread that used it last, if it held none: its further uses tell nothing new.
        self.settled: int | None = None


def is_settled(owner: Any) -> bool:
    """Whether a use of the object by the running thread would tell nothing new; quick, as it is asked at each use."""
    host = current.active_host()
    if host is None:
        return True
    thread = host.current_thread()
    users: Users | None = getattr(owner, "dpor_users", None)
    return (
        users is not None and users.settled == thread.dpor_index and users.execution is thread.dpor_execution
    )


def note_use(owner: Any) -> None:
    """A thread uses an object: the verdict rests on an assumption if another one has used it and may still run, unless
    both held the same lock.
    """
    host = current.active_host()
    if host is None or getattr(owner, "dpor_inner", False):
        return
    running = host.current_thread()
    if running is None:
        # What an execution has made is let go.
        return
    execution: Execution | None = running.dpor_execution
    thread = host.current_index()
    users: Users | None = getattr(owner, "dpor_users", None)
    if users is None or users.execution is not execution:
        users = owner.dpor_users = Users(execution)
    before = users.locks.get(thread)
    locks = frozenset(host.held_locks()) if before is None or before else before
    if before is not None:
        locks &= before
    users.settled = None if locks else thread
    if locks == before:
        return
    users.locks[thread] = locks
    if any(
        other != thread and not (locks & theirs) and (other == MAIN or not host.is_finished(other))
        for other, theirs in users.locks.items()
    ):
        host.assume(AssumptionKind.THREAD_UNSAFE.value, _standard_name(owner))


def _standard_name(owner: object) -> str:
    for base in type(owner).__mro__:
        package = base.__module__.partition(".")[0].lstrip("_")
        if package in ("asyncio", "io"):
            return f"{package}.{base.__name__}"
    raise TypeError(owner)


def note_look(owner: Any, name: str | None) -> None:
    """A thread looks into an object past its methods, at an attribute or at all of it."""
    if name in _CONSTANT or _only_encodes(owner):
        return
    note_use(owner)
    if getattr(owner, "dpor_keeps_unseen", False) or (
        getattr(owner, "dpor_thread_bound", False) and _gives_parts(owner, name)
    ):
        leave_turns()
    else:
        note_access(owner)


def note_native_use(owner: Any) -> None:
    """Code in C uses an object; its methods tell what they do if it calls them."""
    if _only_encodes(owner):
        return
    note_use(owner)
    if getattr(owner, "dpor_keeps_unseen", False):
        leave_turns()
    else:
        note_access(owner)


def _gives_parts(owner: Any, name: str | None) -> bool:
    """Whether who looks at an attribute of one of asyncio's objects, or changes it, has a part in what its code changes
    unseen: a list, say.
    """
    if name is None:
        return True
    if not name.startswith("_"):
        return False
    attributes: dict[str, object] = owner.__dict__
    value = attributes.get(name, ...)
    # Not by the class of futures: a model that has nothing to do with asyncio does not load it.
    is_future = getattr(type(value), "_asyncio_future_blocking", None) is not None
    return not (value is None or is_future or isinstance(value, bool | int | float | str | bytes))


def _only_encodes(owner: Any) -> bool:
    if not isinstance(owner, io.TextIOWrapper):
        return False
    try:
        # What is written is encoded in C.
        return not owner.readable()
    except ValueError:
        # It is closed, detached or not yet made.
        return False
