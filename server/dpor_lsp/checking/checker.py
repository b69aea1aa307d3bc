"""Checks planned models: from the cache where that holds, else in worker processes, several at a time."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpor.codes import Code
from dpor.results import ModelResult, Reason, Verdict
from dpor_lsp.checking.cache import Cache
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.cli.report import Entry
from dpor_lsp.cli.targets import Problem
from dpor_lsp.options import DEFAULT_HANG_TIMEOUT, DEFAULT_MEMORY_LIMIT, Seconds

if TYPE_CHECKING:
    from dpor.checkpoints import Checkpoint
    from dpor_lsp.checking.scheduler import Event, Job


@dataclass(frozen=True)
class RunSettings:
    """How checks are run: workers at once, use of the cache, and what a worker may use (seconds and bytes).

    `resume` goes on with checks that were stopped.
    """

    jobs: int | None = None
    cache: bool = True
    resume: bool = False
    hang_timeout: float = DEFAULT_HANG_TIMEOUT
    memory_limit: int = DEFAULT_MEMORY_LIMIT


class Checker:
    """Checks models and keeps their results; one object serves a whole run and is used from one thread.

    `warn` gets what is worth a warning but costs no result; `command` is the worker's command line (None: the
    product's own worker).
    """

    def __init__(
        self,
        settings: RunSettings,
        warn: Callable[[Code, str], None],
        command: Sequence[str] | None = None,
    ) -> None:
        self.settings = settings
        self.command = command
        self._warn = warn
        self._caches: dict[Path, Cache] = {}
        self.interrupted = False

    @property
    def jobs(self) -> int:
        """How many workers there are at once."""
        return self.settings.jobs or os.cpu_count() or 1

    def limits(self, target: CheckTarget) -> Limits:
        """Return what the worker of a model may use; the request's timeout wins over the decorator's."""
        timeout = target.request.options.get("timeout", target.info.options.get("timeout"))
        try:
            seconds = None if timeout is None or isinstance(timeout, str) else Seconds().value(timeout)
        except ValueError:
            # The worker says what is wrong with it.
            seconds = None
        return Limits(seconds, self.settings.hang_timeout, self.settings.memory_limit)

    def cache(self, root: Path) -> Cache | None:
        """Return the cache of a project, or None if caching is off."""
        if not self.settings.cache:
            return None
        if root not in self._caches:
            self._caches[root] = Cache(root, self._warn)
        return self._caches[root]

    def find(self, target: CheckTarget) -> ModelResult | None:
        """Return the kept result of the same check of the same code, or None."""
        cache = self.cache(target.root)
        return cache.find(target) if cache else None

    def keep(self, target: CheckTarget, result: ModelResult) -> None:
        """Keep a result."""
        cache = self.cache(target.root)
        if cache:
            cache.keep(target, result)

    def _answer(self, target: CheckTarget) -> ModelResult | None:
        """Return the result of a model that needs no check: a kept one, or that its check cannot be continued."""
        if not self.settings.resume:
            return self.find(target)
        # Imported here: a run that the cache answers needs no processes and no threads.
        from dpor_lsp.checking.outcomes import unchecked
        from dpor_lsp.checking.sharing import can_continue

        if not can_continue(target):
            reason = Reason(
                Code.BAD_OPTION,
                "--resume does not go with the algorithm of this model: what is left of its check cannot be told",
                "add --algorithm parsimonious, or leave --resume out",
            )
            return unchecked(target, Verdict.ERROR, reason)
        kept = self.find(target)
        return None if kept is not None and kept.verdict is Verdict.INCOMPLETE else kept

    def _checkpoint(self, target: CheckTarget) -> Checkpoint | None:
        """Return what is left of a check that is to go on."""
        cache = self.cache(target.root)
        return cache.find_checkpoint(target) if self.settings.resume and cache else None

    def _keep(self, job: Job, result: ModelResult, checkpoint: Checkpoint | None) -> None:
        from dpor_lsp.checking.sharing import can_continue

        # What a bound stopped in several steps is not what a check with that bound would say.
        if job.checkpoint is None or result.verdict is not Verdict.INCOMPLETE:
            self.keep(job.target, result)
        cache = self.cache(job.target.root)
        if cache and can_continue(job.target):
            cache.keep_checkpoint(job.target, checkpoint)

    def close(self) -> None:
        """Let go of the caches."""
        for cache in self._caches.values():
            cache.close()
        self._caches.clear()

    def check(
        self, planned: Sequence[CheckTarget | Problem], observe: Callable[[Event], None] | None = None
    ) -> Iterator[Entry]:
        """Yield the entries of all that is planned, in its order, each as soon as those before it are there.

        `observe` gets every scheduler event, in this thread. Ctrl-C (or SIGTERM) ends all workers; what is not done
        by then is yielded as cancelled, and `interrupted` is set.
        """
        entries: dict[int, Entry] = {}
        for index, item in enumerate(planned):
            if isinstance(item, Problem):
                entries[index] = Entry(item.result, item.root)
            elif (kept := self._answer(item)) is not None:
                entries[index] = Entry(kept, item.root)
        source = self._run(planned, entries, observe)
        try:
            for index in range(len(planned)):
                while index not in entries:
                    next(source)
                yield entries[index]
        finally:
            source.close()

    def _run(
        self,
        planned: Sequence[CheckTarget | Problem],
        entries: dict[int, Entry],
        observe: Callable[[Event], None] | None,
    ) -> Generator[None, None, None]:
        """Check what has no entry yet; yields whenever an entry was added."""
        # Imported here: a run that the cache answers needs no processes and no threads.
        from dpor_lsp.checking.scheduler import Finished, Interrupted, Job, Scheduler
        from dpor_lsp.cli.interrupts import interrupts_as_events

        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        scheduler = Scheduler(self.jobs, events.put, self.command)
        open_jobs: dict[Job, int] = {}
        try:
            with interrupts_as_events(lambda: events.put(Interrupted())):
                for index, item in enumerate(planned):
                    if isinstance(item, CheckTarget) and index not in entries:
                        job = Job(item, self.limits(item), checkpoint=self._checkpoint(item))
                        open_jobs[job] = index
                        scheduler.submit(job)
                while open_jobs:
                    # On some systems a wait without end cannot be interrupted.
                    try:
                        event = events.get(timeout=0.2)
                    except queue.Empty:
                        continue
                    if observe is not None:
                        observe(event)
                    if isinstance(event, Interrupted):
                        self.interrupted = True
                        scheduler.cancel()
                    elif isinstance(event, Finished):
                        index = open_jobs.pop(event.job)
                        entries[index] = Entry(event.result, event.job.target.root)
                        self._keep(event.job, event.result, event.checkpoint)
                        yield
        finally:
            scheduler.close()
