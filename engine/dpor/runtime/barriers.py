"""`threading.Barrier` as a primitive of the kernel: to come to it is one step, and to go on from it is another.

The class stays the library's. It is closed as long as threads do nothing but `wait` without a time limit, no more of
them than it is for, and nobody looks inside. Code that aborts or resets it, that asks how many wait, a barrier with an
action or a time limit, and a class that derives from it run on the library's own code, which is learned like all that
an exploration rests on. So do barriers that modules make when they are imported.

That nothing is lost: in the library each `wait` is a section of one lock. A thread goes on when all have come, and
changes nothing that others see but the place that the next one is told, which orders the threads if a place is looked
at. Where the threads are no more than meet, one that comes again does so to the next meeting, whether or not the others
have left the last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpor.runtime import current
from dpor.runtime.shared_fields import field_of, refusing_to_replace, state_of, take_state

if TYPE_CHECKING:
    from dpor._kernel import Meeting

RealBarrier = threading.Barrier
_MOST = 2**31
# What its methods read unseen.
_PARTS = frozenset({"_action", "_cond", "_parties", "_timeout"})
_set_part = refusing_to_replace(_PARTS, "threading.Barrier")


def _open(barrier: Any) -> None:
    """The barrier is used in a way that only the library's own code knows: explore again with that."""
    meeting: Meeting | None = barrier.dpor_meeting
    if meeting is not None:
        meeting.open()


def _condition() -> Any:
    def read(self: Any) -> Any:
        _open(self)
        return self.__dict__["_cond"]

    def write(self: Any, value: Any) -> None:
        self.__dict__["_cond"] = value

    return property(read, write)


class Barrier(RealBarrier):
    """threading.Barrier, closed or on the library's own code; its state can be looked at from outside."""

    __dpor_own__ = True

    __dpor_fields__ = True

    __setstate__ = take_state
    _state = field_of("_state", _open, _open)
    _count = field_of("_count", _open, _open)
    _cond = _condition()

    dpor_meeting: Meeting | None = None

    def __init__(
        self, parties: int, action: Callable[[], None] | None = None, timeout: float | None = None
    ) -> None:
        _open(self)
        host = current.active_host()
        plain = type(self) is Barrier and type(parties) is int and action is None and timeout is None
        super().__init__(parties, None if action is None else current.controlled(action), timeout)
        if host is not None and plain and 0 < parties < _MOST:
            meeting = host.meeting(parties)
            if meeting is not None:
                self.__dict__["dpor_meeting"] = meeting

    def wait(self, timeout: float | None = None) -> int:
        """Wait until all have come. Returns this thread's place among them."""
        meeting = self.dpor_meeting
        if meeting is not None and timeout is None:
            return meeting.wait(self, True)
        _open(self)
        return super().wait(timeout)

    def dpor_meet(self, timeout: float | None = None) -> None:
        """The same where nobody looks at the place."""
        meeting = self.dpor_meeting
        if meeting is None or timeout is not None:
            self.wait(timeout)
        else:
            meeting.wait(self, False)

    # Whoever gives it wrong arguments is told of the method that he has called.
    dpor_meet.__name__ = "wait"
    dpor_meet.__qualname__ = "Barrier.wait"

    def reset(self) -> None:
        """Let those who wait go on with an error, and begin again."""
        _open(self)
        super().reset()

    def abort(self) -> None:
        """Let all who wait, and come from now on, go on with an error."""
        _open(self)
        super().abort()

    @property
    def broken(self) -> bool:
        """Whether it was aborted, which one that is closed never is."""
        return self.dpor_meeting is None and super().broken

    def __getstate__(self) -> dict[str, Any]:
        _open(self)
        return state_of(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PARTS and name in self.__dict__:
            _open(self)
        _set_part(self, name, value)


Barrier.__module__ = RealBarrier.__module__
