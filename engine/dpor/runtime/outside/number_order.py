"""Whether a program can tell in which order threads have opened and closed files: by the numbers of descriptors.

The system gives the least number that is free. The order of opening and closing is explored where a call on a number
depends on it (see `numbers`), but not for the number itself, which any code can compare with another one.
"""

from __future__ import annotations

import sys

from dpor.results import AssumptionKind
from dpor.runtime.outside.world import World

_OWN = "dpor."
# The library's code that uses numbers, and keeps them to itself.
_KEEPING = frozenset({"io", "os", "pathlib", "shutil", "tempfile"})
# Its functions that give one to their caller.
_GIVING = frozenset({"mkstemp"})


class NumberOrder:
    """Which threads of the running execution have opened and closed files, and whether it was shown a number."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._moving: set[int] = set()
        self._shown: str | None = None

    def reset(self) -> None:
        """Begin an execution."""
        self._moving.clear()
        self._shown = None

    def moved(self) -> None:
        """The running thread has opened or closed something: which numbers are free has changed."""
        host = self._world.mode.host
        if host.active and not host.is_alone():
            self._moving.add(host.current_index())
            self._tell(self._shown)

    def shown(self, function: str) -> None:
        """A number is about to be given to the caller of `function`, the function that calls this one."""
        host = self._world.mode.host
        if not host.active or _keeps_to_itself():
            return
        if not host.is_alone():
            # What other threads do later they may do earlier.
            self._shown = self._shown or function
        self._tell(function)

    def _tell(self, function: str | None) -> None:
        if function is not None and len(self._moving) > 1:
            self._world.mode.host.assume(AssumptionKind.DRAWN_NUMBER.value, function)


def _keeps_to_itself() -> bool:
    """Whether what has called a stand-in does not let go of the number that it is given."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    # How stand-ins call one another.
    while frame.f_back is not None and _module(frame.f_globals).startswith(_OWN):
        frame = frame.f_back
    if _module(frame.f_globals) not in _KEEPING:
        return False
    while frame.f_back is not None and _module(frame.f_globals) in _KEEPING:
        if frame.f_code.co_name in _GIVING:
            return False
        frame = frame.f_back
    return True


def _module(variables: dict[str, object]) -> str:
    return str(variables.get("__name__", ""))
