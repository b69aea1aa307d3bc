"""Ctrl-C and SIGTERM as something to act on in order, instead of an exception anywhere."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_as_events(tell: Callable[[], None]) -> Generator[None, None, None]:
    """Call `tell` for the first Ctrl-C or SIGTERM inside the block; a second one acts as it would have before.

    `tell` runs in a signal handler: it may put something in a SimpleQueue and should do no more. Only the main
    thread gets signals; in any other thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # What the parent process has arranged to be ignored, as nohup does, stays ignored.
    former = {number: handler for number, handler in former.items() if handler is not signal.SIG_IGN}

    def restore() -> None:
        for number, handler in former.items():
            if handler is not None:
                signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:
        restore()
        tell()

    for number in former:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
