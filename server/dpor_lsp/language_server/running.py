"""Runs checks in workers that wait ready, for whichever interpreter a model needs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from dpor.results import ReplayRequest
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.pool import WorkerPool, warm_command
from dpor_lsp.checking.process import Worker
from dpor_lsp.checking.scheduler import Event, Finished, Job, Scheduler

MOST_SPARE = 3
"""How many workers wait at most: one for a replay, one for a check, one for the next."""


def default_jobs() -> int:
    """How many models are checked at once if nothing says so: one processor is left to the editor."""
    return max(2, (os.cpu_count() or 2) - 1)


class Runner:
    """Runs jobs and tells of their events; `deliver` is called from threads."""

    def __init__(self, deliver: Callable[[Event], None], *, ready: bool = False) -> None:
        self._deliver = deliver
        self._pools: dict[str, WorkerPool] = {}
        self._lock = threading.Lock()
        self._scheduler = Scheduler(default_jobs(), self._on_event)
        if ready:
            # One, as everything else that starts now needs the processors too.
            self.pool(sys.executable).fill(1)

    def resize(self, jobs: int | None) -> None:
        """Run up to `jobs` checks at once (None: the default)."""
        self._scheduler.resize(jobs or default_jobs())

    def pool(self, interpreter: str) -> WorkerPool:
        """The pool of an interpreter's workers."""
        with self._lock:
            if interpreter not in self._pools:
                self._pools[interpreter] = WorkerPool(warm_command(interpreter), MOST_SPARE)
            return self._pools[interpreter]

    def keep_only(self, interpreters: set[str]) -> None:
        """End the waiting workers of interpreters that are no longer used."""
        with self._lock:
            unused = [self._pools.pop(name) for name in list(self._pools) if name not in interpreters]
        for pool in unused:
            threading.Thread(target=pool.close, daemon=True).start()

    def submit(
        self, target: CheckTarget, limits: Limits, interpreter: str, first: ReplayRequest | None = None
    ) -> Job:
        """Queue a check; files take turns."""
        start: Callable[[], Worker] = self.pool(interpreter).take
        job = Job(
            target,
            limits,
            start=start,
            directory=str(target.root),
            first=first,
            group=target.request.file,
        )
        self._scheduler.submit(job)
        return job

    def close(self) -> None:
        """End everything: what runs, what waits to run, and the workers that wait."""
        self._scheduler.cancel()
        with self._lock:
            pools = list(self._pools.values())
            self._pools.clear()
        for pool in pools:
            pool.close()
        self._scheduler.close()

    def _on_event(self, event: Event) -> None:
        self._deliver(event)
        if isinstance(event, Finished):
            # In the thread of the job, which has nothing else to do: the next check finds workers waiting.
            with self._lock:
                pools = list(self._pools.values())
            for pool in pools:
                pool.fill()
