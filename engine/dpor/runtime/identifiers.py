"""The identifiers of threads."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dpor.results import AssumptionKind
from dpor.runtime import current

if TYPE_CHECKING:
    from dpor._kernel import Host
    from dpor.runtime.thread import Thread

MAIN = 0
"""The number of the thread that runs the model, whose end is no event."""
STARTING = -1
"""The `dpor_index` of a thread that is being started."""


def ident_of(thread: Thread) -> int:
    """The identifier of a started model thread, a function of its spawn path alone."""
    host = current.current_host()
    assert host is not None
    index = thread.dpor_reserved if thread.dpor_index == STARTING else thread.dpor_index
    assert index is not None
    ident = 1
    for part in host.thread_path(index).split(".")[1:]:
        ident = ident * 1024 + int(part) + 1
    return ident


def told_ident(thread: Thread) -> int:
    """The identifier of a thread, which its program is told.

    The system gives that of a thread which has ended to another one. Here all have their own, so that a verdict rests
    on it where a program is told several.
    """
    host = current.active_host()
    execution = thread.dpor_execution
    if (
        host is not None
        and execution is not None
        and not any(other is thread for other in execution.told_idents)
        and _is_told_to_model(host)
    ):
        if any(other.dpor_finished for other in execution.told_idents):
            host.assume(AssumptionKind.OBJECT_END.value, "threading.get_ident")
        execution.told_idents.append(thread)
    return ident_of(thread)


def _is_told_to_model(host: Host) -> bool:
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__", "").startswith("dpor.runtime.thread"):
        frame = frame.f_back
    return frame is not None and host.is_first_party(frame.f_globals)
