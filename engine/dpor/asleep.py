"""What the checker does in the middle of an execution and is no part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpor._kernel import Host


class Asleep:
    """A context in which hooks go straight through.

    It is no generator: `contextlib` may be instrumented itself, and would tell of entering and leaving.
    """

    __slots__ = ("_before", "_host")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._before = False

    def __enter__(self) -> None:
        self._before = self._host.sleep(True)

    def __exit__(self, *exception: object) -> None:
        self._host.sleep(self._before)
