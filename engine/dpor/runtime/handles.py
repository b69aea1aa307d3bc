"""The handles of callbacks that an event loop of a model gives out: they say who uses them."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio

from dpor.runtime.makers import Maker
from dpor.runtime.thread_bound import note_use
from dpor.runtime.turn_events import note_timer, note_timer_seen


class ModelHandle(asyncio.Handle):
    """A callback that a loop will call."""

    dpor_thread_bound = True
    dpor_keeps_unseen = True

    def cancel(self) -> None:
        """Have it not called."""
        note_use(self)
        self._loop.note_control()
        super().cancel()

    def cancelled(self) -> bool:
        """Whether it will not be called."""
        note_use(self)
        self._loop.note_control()
        return super().cancelled()


class ModelTimerHandle(asyncio.TimerHandle):
    """A callback that a loop will call at a time; `dpor_maker` makes what is made in it.

    By its number the kernel knows it; `dpor_sleeps` says whether it wakes a sleeper, once that was asked.
    """

    dpor_thread_bound = True
    dpor_keeps_unseen = True

    dpor_maker: Maker
    dpor_number: int | None = None
    dpor_sleeps: bool | None = None

    def cancel(self) -> None:
        """Have it not called."""
        note_use(self)
        note_timer(self.dpor_number)
        super().cancel()

    def cancelled(self) -> bool:
        """Whether it will not be called."""
        note_use(self)
        note_timer_seen(self.dpor_number)
        return super().cancelled()


for _shown, _real in ((ModelHandle, asyncio.Handle), (ModelTimerHandle, asyncio.TimerHandle)):
    _shown.__name__ = _shown.__qualname__ = _real.__name__
    _shown.__module__ = _real.__module__
