"""When the live display of running checks comes up: on a terminal, and only once something takes its time."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpor_lsp.checking.scheduler import Event, Job
    from dpor_lsp.cli.progress import ProgressDisplay

PATIENCE = 0.5
"""Seconds that a check may take before it is worth a display, which costs more to load than a small check."""


class LateDisplay(AbstractContextManager["LateDisplay"]):
    """Passes the scheduler's events to a live display that it loads when it is needed, if standard error has one."""

    def __init__(self) -> None:
        self._wanted = sys.stderr.isatty()
        self._display: ProgressDisplay | None = None
        self._running: dict[Job, Event] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.stop()

    def observe(self, event: Event) -> None:
        """Take in a scheduler event."""
        if not self._wanted:
            return
        if self._display is not None:
            self._display.observe(event)
            return
        from dpor_lsp.checking.scheduler import Finished, Progressed, Started

        if isinstance(event, Started):
            self._running[event.job] = event
        elif isinstance(event, Finished):
            self._running.pop(event.job, None)
        elif isinstance(event, Progressed) and event.progress.seconds >= PATIENCE:
            from dpor_lsp.cli.progress import ProgressDisplay

            self._display = ProgressDisplay()
            for started in self._running.values():
                self._display.observe(started)
            self._display.observe(event)

    def pause(self) -> None:
        """Clear the display, so that something can be printed."""
        if self._display is not None:
            self._display.pause()
