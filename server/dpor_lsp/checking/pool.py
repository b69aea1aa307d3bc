"""Workers that have been started before there is a request for them, so that no check waits for an interpreter."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

from dpor_lsp.checking.process import Worker, worker_command


def warm_command(interpreter: str) -> list[str]:
    """Return the command line of a worker that loads all it needs and then waits for its request."""
    return [*worker_command(interpreter), "--warm"]


class WorkerPool:
    """Started workers of one command, at most `spare` at a time; may be used from any thread.

    A waiting worker sleeps in a read of its standard input: it costs no processor time, and ends when this process
    does, in whatever way.
    """

    def __init__(self, command: Sequence[str], spare: int) -> None:
        self.command = list(command)
        self._spare = spare
        self._lock = threading.Lock()
        self._waiting: list[Worker] = []
        self._closed = False

    def take(self) -> Worker:
        """Return a worker for one request: one that waits, else a new one. Raises OSError if none can be started."""
        while True:
            with self._lock:
                worker = self._waiting.pop(0) if self._waiting else None
            if worker is None:
                return Worker(self.command)
            if worker.alive:
                return worker
            worker.end()

    def fill(self, number: int | None = None) -> None:
        """Start workers until `number` of them wait (None: `spare`).

        One that cannot be started is left for `take` to complain of.
        """
        wanted = self._spare if number is None else min(number, self._spare)
        with contextlib.suppress(OSError):
            while True:
                with self._lock:
                    if self._closed or len(self._waiting) >= wanted:
                        return
                    self._waiting.append(Worker(self.command))

    def close(self) -> None:
        """End the workers that wait; none is kept waiting from now on."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
        for worker in waiting:
            worker.end()
