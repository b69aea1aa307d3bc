"""Runs checks side by side, a few at a time, each in a worker process."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dpor.checkpoints import Checkpoint
from dpor.codes import Code
from dpor.results import ModelResult, Progress, Reason, ReplayRequest, ReplayResult, Verdict, from_json
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.failures import reason_of
from dpor_lsp.checking.outcomes import cancelled, check_outcome, unchecked
from dpor_lsp.checking.process import Cancellation, Ending, Worker, run_worker
from dpor_lsp.checking.sharing import Places, SharedCheck, can_continue


@dataclass(eq=False)
class Job:
    """One model to check; `cancellation` calls it off whether it runs or waits.

    `start` gives the worker (None: the scheduler's own command), `directory` is the model's working directory.
    `first` is a counterexample to replay before the check, so that a bug that is still there is known at once.
    Jobs of different `group`s take turns. `checkpoint` is what is left of an earlier check, to go on with.
    """

    target: CheckTarget
    limits: Limits
    cancellation: Cancellation = field(default_factory=Cancellation)
    start: Callable[[], Worker] | None = None
    directory: str | None = None
    first: ReplayRequest | None = None
    group: str = ""
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, eq=False)
class Finished:
    """A job is over; `checkpoint` is what is left of a check that was stopped and can be continued."""

    job: Job
    result: ModelResult
    checkpoint: Checkpoint | None = None


@dataclass(frozen=True, eq=False)
class Started:
    """A job got a worker."""

    job: Job


@dataclass(frozen=True, eq=False)
class Progressed:
    """A running job said how far it is."""

    job: Job
    progress: Progress


@dataclass(frozen=True, eq=False)
class Replayed:
    """The counterexample that a job was to replay first has been followed; the check itself goes on."""

    job: Job
    result: ReplayResult


@dataclass(frozen=True)
class Interrupted:
    """The user wants everything to end."""


Event = Started | Progressed | Replayed | Finished | Interrupted


class TurnQueue:
    """Jobs in the order in which they came within a group, the groups taking turns; used under a lock."""

    def __init__(self) -> None:
        self._groups: dict[str, deque[tuple[int, Job]]] = {}

    def put(self, number: int, job: Job) -> None:
        """Add a job at the end of its group."""
        self._groups.setdefault(job.group, deque()).append((number, job))

    def take(self) -> tuple[int, Job] | None:
        """Remove and return the job whose turn it is, or None if there is none."""
        for group, jobs in self._groups.items():
            number, job = jobs.popleft()
            # Whoever was served stands at the end of the line.
            del self._groups[group]
            if jobs:
                self._groups[group] = jobs
            return number, job
        return None


def run_job(
    job: Job,
    on_progress: Callable[[Progress], None] | None = None,
    command: Sequence[str] | None = None,
    places: Places | None = None,
) -> tuple[ModelResult, Checkpoint | None]:
    """Check one model in a worker, or in several if there are `places` for them.

    Returns its result, and what is left of it if it was stopped and can be continued. Never raises for anything that
    the model does.
    """
    try:
        if can_continue(job.target):
            shared = SharedCheck(job, places, on_progress, command)
            return shared.run(), shared.checkpoint
        end = run_worker(
            job.target.request,
            job.limits,
            cancellation=job.cancellation,
            on_progress=on_progress,
            command=command,
            start=job.start,
            directory=job.directory,
        )
    except (FileNotFoundError, PermissionError) as error:
        message = f"a worker process cannot be started: {error}"
        reason = Reason(Code.WORKER_DIED, message, "see whether the interpreter is there and may be run")
        return unchecked(job.target, Verdict.ERROR, reason), None
    except OSError as error:
        return unchecked(job.target, Verdict.ERROR, reason_of(error)), None
    return check_outcome(job.target, end, job.limits), None


def replay_first(job: Job, command: Sequence[str] | None = None) -> ReplayResult | None:
    """Follow the counterexample that a job brings in a worker; None if it brings none or it cannot be followed.

    The check that comes afterwards says whatever there is to say about a model that cannot be run.
    """
    if job.first is None:
        return None
    try:
        end = run_worker(
            job.first,
            job.limits,
            cancellation=job.cancellation,
            command=command,
            start=job.start,
            directory=job.directory,
        )
        if end.ending is not Ending.FINISHED or end.result is None or "replay" not in end.result:
            return None
        return from_json(ReplayResult, end.result["replay"])
    except (OSError, KeyError, TypeError, ValueError):
        return None


class Scheduler:
    """Takes jobs at any time and runs up to `workers` of them at once; `deliver` gets every event, from threads.

    `command` is the worker's command line (None: the product's own worker).
    """

    def __init__(
        self, workers: int, deliver: Callable[[Event], None], command: Sequence[str] | None = None
    ) -> None:
        self._workers = workers
        self._deliver = deliver
        self._command = command
        self._lock = threading.Lock()
        self._waiting = TurnQueue()
        self._numbers = itertools.count()
        self._open: dict[int, Job] = {}
        self._threads: set[threading.Thread] = set()
        self._lent = 0

    def submit(self, job: Job) -> None:
        """Run `job` when a place is free; its result is delivered in any case."""
        with self._lock:
            number = next(self._numbers)
            self._open[number] = job
            self._waiting.put(number, job)
            if len(self._threads) >= self._workers:
                return
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:
            with self._lock:
                self._threads.discard(thread)
                served = bool(self._threads)
            if not served:
                self._give_up(error)

    def _give_up(self, error: RuntimeError) -> None:
        """Deliver an error for each open job, as there is nobody to run them."""
        while True:
            with self._lock:
                taken = self._waiting.take()
                if taken is None:
                    return
                number, job = taken
                del self._open[number]
            self._deliver(Finished(job, unchecked(job.target, Verdict.ERROR, reason_of(error)), None))

    def resize(self, workers: int) -> None:
        """Run up to `workers` jobs at once from now on; those that run go on."""
        self._workers = workers

    def cancel(self) -> None:
        """Call off everything; what had not ended is delivered as cancelled."""
        with self._lock:
            jobs = list(self._open.values())
        for job in jobs:
            job.cancellation.cancel()

    def close(self) -> None:
        """Call off everything and wait until no worker is left."""
        self.cancel()
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                taken = self._waiting.take()
                if taken is None:
                    self._threads.discard(threading.current_thread())
                    return
            number, job = taken
            result, checkpoint = self._run(job)
            with self._lock:
                del self._open[number]
            self._deliver(Finished(job, result, checkpoint))

    def borrow(self) -> bool:
        """Take a place for one more worker of a job that runs, if no job needs it; returns whether it did."""
        with self._lock:
            free = len(self._open) <= len(self._threads) and len(self._threads) + self._lent < self._workers
            self._lent += free
            return free

    def give_back(self) -> None:
        """Free a place that was borrowed."""
        with self._lock:
            self._lent -= 1

    def _run(self, job: Job) -> tuple[ModelResult, Checkpoint | None]:
        if job.cancellation.cancelled:
            return cancelled(job.target), job.checkpoint
        self._deliver(Started(job))
        try:
            replayed = replay_first(job, self._command)
            if replayed is not None:
                self._deliver(Replayed(job, replayed))
            return run_job(
                job, lambda progress: self._deliver(Progressed(job, progress)), self._command, self
            )
        except Exception as error:
            # The thread has nobody to raise to, and a check without a result would be waited for in vain.
            return unchecked(job.target, Verdict.ERROR, reason_of(error)), None
