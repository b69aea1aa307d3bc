"""The live display of running checks, on standard error and only if that is a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dpor.results import Progress
from dpor_lsp.checking.scheduler import Event, Finished, Job, Progressed, Started
from dpor_lsp.formats.wording import duration


class ProgressDisplay:
    """One line a running model: executions so far, how many a second, and an estimate of what is left."""

    def __init__(self) -> None:
        self._running: dict[Job, Progress | None] = {}
        self._live = Live(
            console=Console(file=sys.stderr),
            transient=True,
            # Drawn when there is news, in the one thread that also prints: nothing can come between.
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def stop(self) -> None:
        """Take the display away."""
        self._live.stop()

    def observe(self, event: Event) -> None:
        """Take in a scheduler event."""
        if isinstance(event, Started):
            self._running[event.job] = None
        elif isinstance(event, Progressed) and event.job in self._running:
            self._running[event.job] = event.progress
        elif isinstance(event, Finished):
            self._running.pop(event.job, None)
        self._live.update(self._table(), refresh=True)

    def pause(self) -> None:
        """Clear the display, so that something can be printed."""
        self._live.update(Text(""), refresh=True)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for job, progress in self._running.items():
            table.add_row(Text(job.target.info.id, style="bold"), Text(describe(progress), style="dim"))
        return table


def describe(progress: Progress | None) -> str:
    """Return how far a check is: `12,000 executions, 21,000 a second, about 40 s left`."""
    if progress is None:
        return "starting"
    done = progress.executions + progress.blocked + progress.redundant
    parts = [f"{done:,} executions"]
    if progress.seconds > 0:
        parts.append(f"{done / progress.seconds:,.0f} a second")
    if 0 < progress.fraction <= 1:
        left = progress.seconds * (1 - progress.fraction) / progress.fraction
        parts.append(f"{progress.fraction:.0%}, about {_roughly(left)} left")
    return ", ".join(parts)


def _roughly(seconds: float) -> str:
    if seconds > 48 * 3600:
        return "days"
    if seconds > 2 * 3600:
        return f"{seconds / 3600:.0f} h"
    return duration(float(round(seconds))) if seconds >= 1 else "1 s"
