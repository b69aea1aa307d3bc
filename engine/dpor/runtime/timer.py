"""threading.Timer in a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dpor.runtime import current
from dpor.runtime.thread import Thread, note_unrun, passed, seen


class Timer(Thread):
    """threading.Timer: calls `function` after `interval` seconds, which may be over at any moment."""

    def __init__(
        self,
        interval: float,
        function: Callable[..., object],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        Thread.__init__(self)
        self.interval = interval
        self.function = function
        self.args: Iterable[Any] = args if args is not None else []
        self.kwargs: Mapping[str, Any] = kwargs if kwargs is not None else {}
        self.finished = threading.Event()

    def cancel(self) -> None:
        """Stop the timer if it has not fired yet."""
        seen(self, "finished").set()

    def run(self) -> None:
        """Wait for the interval or for `cancel`, then call the function unless cancelled."""
        finished = seen(self, "finished")
        finished.wait(seen(self, "interval"))
        if not finished.is_set():
            function = seen(self, "function")
            args, kwargs = passed(seen(self, "args"), seen(self, "kwargs"))
            note_unrun(function, current.controlled(function)(*args, **kwargs))
        finished.set()


Timer.__module__ = threading.__name__
