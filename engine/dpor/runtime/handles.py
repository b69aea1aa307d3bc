"""The handles of callbacks that an event loop of a model gives out: they say who uses them."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio

from dpor.runtime.thread_bound import note_use


class ModelHandle(asyncio.Handle):
    """A callback that a loop will call."""

    def cancel(self) -> None:
        """Have it not called."""
        note_use(self)
        super().cancel()

    def cancelled(self) -> bool:
        """Whether it will not be called."""
        note_use(self)
        return super().cancelled()


class ModelTimerHandle(asyncio.TimerHandle):
    """A callback that a loop will call at a time."""

    def cancel(self) -> None:
        """Have it not called."""
        note_use(self)
        super().cancel()

    def cancelled(self) -> bool:
        """Whether it will not be called."""
        note_use(self)
        return super().cancelled()


for _shown, _real in ((ModelHandle, asyncio.Handle), (ModelTimerHandle, asyncio.TimerHandle)):
    _shown.__name__ = _shown.__qualname__ = _real.__name__
    _shown.__module__ = _real.__module__
