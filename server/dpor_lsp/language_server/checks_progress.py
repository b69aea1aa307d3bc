"""Progress of checks that take their time, which the user can cancel."""

from __future__ import annotations

import asyncio
import itertools

from dpor.results import Progress
from dpor_lsp.checking.scheduler import Job
from dpor_lsp.language_server import wording
from dpor_lsp.language_server.client import Client

PATIENCE = 0.5
"""Seconds that a check may take before it is worth showing progress."""


class ChecksProgress:
    """Shows one progress a running check, and calls the check off if the user says so."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._numbers = itertools.count(1)
        self._jobs: dict[str, Job] = {}
        self._tokens: dict[Job, str] = {}
        self._begun: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def report(self, job: Job, progress: Progress) -> None:
        """Show how far a check is, from when it is worth it."""
        token = self._tokens.get(job)
        if token is not None:
            if token in self._begun:
                percentage = min(99, max(0, int(progress.fraction * 100)))
                self._client.report_progress(token, wording.progress_text(progress), percentage)
        elif progress.seconds >= PATIENCE and self._client.shows_progress:
            token = f"dpor-{next(self._numbers)}"
            self._tokens[job] = token
            self._jobs[token] = job
            task = asyncio.get_running_loop().create_task(self._begin(token, job, progress))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _begin(self, token: str, job: Job, progress: Progress) -> None:
        title = f"Checking {job.target.info.name}"
        shown = await self._client.begin_progress(token, title, wording.progress_text(progress))
        if not shown:
            return
        if token in self._jobs:
            self._begun.add(token)
        else:
            # The check was over before the editor had agreed to show it.
            self._client.end_progress(token, "")

    def end(self, job: Job, message: str) -> None:
        """Take away the progress of a check."""
        token = self._tokens.pop(job, None)
        if token is None:
            return
        del self._jobs[token]
        if token in self._begun:
            self._begun.discard(token)
            self._client.end_progress(token, message)

    def job(self, token: object) -> Job | None:
        """The check that a progress is about."""
        return self._jobs.get(str(token))
