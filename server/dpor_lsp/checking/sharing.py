"""One model checked by several workers at once, and checks that can be continued.

The explorations of a part of a `parsimonious` check have nothing to do with those of another. One worker begins; as
long as there are free places, the one that seems to have most left is asked for a part, which another worker takes
over, until all have run dry. The counts of the parts add up to those of one worker alone.

A worker that learns something new of the model (`dpor.checkpoints`) makes the whole check begin again, with what is
then known to all. The first violation ends all, and so does a worker that dies: what it had not explored is not known.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from dpor.assumptions import merged, refused_if_strict
from dpor.checkpoints import Checkpoint, LearnedFact
from dpor.codes import Code
from dpor.contents import incomplete_if_changed, joined
from dpor.options import Algorithm
from dpor.results import Assumption, ModelResult, Progress, Verdict, from_json
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.outcomes import check_outcome
from dpor_lsp.checking.process import Cancellation, Ending, Share, Worker, WorkerEnd, run_worker

if TYPE_CHECKING:
    from dpor_lsp.checking.scheduler import Job

ASK_AFTER = 0.3
"""Seconds for which a part is explored before a part of it is asked for."""
WORTH_PARTING = 2.0
"""Seconds of work that seem to be left in a part that is split: to start a worker takes a fraction of that."""
TICK = 0.1
"""Seconds between two looks for a free place."""
_TIMED_OUT = "the check reached its timeout"


class Places(Protocol):
    """Places for workers beside the one that a job has by itself."""

    def borrow(self) -> bool:
        """Take a place if one is free; returns whether it did."""
        ...

    def give_back(self) -> None:
        """Free a place that was taken."""
        ...


def can_continue(target: CheckTarget) -> bool:
    """Return whether what is left of a check of this model can be told, and so be explored later or elsewhere."""
    return _option(target, "algorithm") == Algorithm.PARSIMONIOUS.value


def can_be_split(target: CheckTarget) -> bool:
    """Return whether several workers may explore the model: if no bound, and no list, is about all parts together."""
    return (
        can_continue(target)
        and not target.request.all_violations
        and _option(target, "max_executions") is None
        and _option(target, "preemption_bound") is None
        and _option(target, "races") in (None, "ignore")
    )


def _option(target: CheckTarget, name: str) -> Any:
    value = {**target.info.options, **target.request.options}.get(name)
    return getattr(value, "value", value)


@dataclass(eq=False)
class _Part:
    """A part that a worker explores.

    `checkpoint` is what was last known to be left of it (None: all, from the beginning); `begun` when its worker was
    started, `started` when it last gave a part away (or began).
    """

    checkpoint: Checkpoint | None
    cancellation: Cancellation = field(default_factory=Cancellation)
    worker: Worker | None = None
    progress: Progress | None = None
    begun: float = field(default_factory=monotonic)
    started: float = field(default_factory=monotonic)
    asked: bool = False
    borrowed: bool = False

    @property
    def remaining(self) -> float:
        """The estimated share of the whole check that is left here."""
        return 1.0 - self.progress.fraction if self.progress is not None else 0.0


@dataclass(frozen=True)
class _Event:
    part: _Part
    kind: str
    value: Any = None
    other: Any = None


class SharedCheck:
    """The check of one model, from where `job.checkpoint` says, by as many workers as there are places."""

    def __init__(
        self,
        job: Job,
        places: Places | None,
        on_progress: Callable[[Progress], None] | None,
        command: Sequence[str] | None = None,
    ) -> None:
        self._job = job
        self._places = places if can_be_split(job.target) else None
        self._on_progress = on_progress
        self._command = command
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._begun = monotonic()
        self._running: dict[_Part, threading.Thread] = {}
        self._waiting: deque[Checkpoint | None] = deque()
        self._finished: list[ModelResult] = []
        self._unfinished: list[Checkpoint | None] = []
        self._parted = False
        self._restarted = False
        # Seconds that workers took whose part has ended, and the share that was done before this run.
        self._spent = 0.0
        self._done_before = 0.0 if job.checkpoint is None else job.checkpoint.fraction
        self._final: ModelResult | None = None
        self.checkpoint: Checkpoint | None = None
        """After `run`: what is left of a check that was stopped, if it can be continued."""

    def run(self) -> ModelResult:
        """Explore until nothing is left, something is found, or a bound or a cancellation ends the check.

        Raises OSError if no worker can be started.
        """
        self._waiting.append(self._job.checkpoint)
        self._job.cancellation.add(self._stop)
        try:
            while (self._waiting and not self._is_over()) or self._running:
                self._hand_out()
                with contextlib.suppress(queue.Empty):
                    self._take(self._events.get(timeout=TICK))
        finally:
            self._job.cancellation.remove(self._stop)
            self._stop()
            for thread in list(self._running.values()):
                thread.join()
            for part in self._running:
                self._release(part)
        return self._conclude()

    def _is_over(self) -> bool:
        return self._final is not None or self._job.cancellation.cancelled or bool(self._unfinished)

    def _stop(self) -> None:
        for part in list(self._running):
            part.cancellation.cancel()

    def _hand_out(self) -> None:
        """Start what waits where there is a place, and have work split where there is a place and nothing waits."""
        if self._is_over():
            return
        if self._waiting:
            if not self._running:
                self._start(_Part(self._waiting.popleft()))
            elif self._places is not None and self._places.borrow():
                self._start(_Part(self._waiting.popleft(), borrowed=True))
            return
        if self._places is None or any(part.asked for part in self._running):
            return
        now = monotonic()
        worth = [part for part in self._running if self._seconds_left(part, now) > WORTH_PARTING]
        askable = [part for part in worth if part.worker and now - part.started > ASK_AFTER]
        if askable and self._places.borrow():
            # The place is only held while it is given away again at once: whoever needs it first may have it.
            self._places.give_back()
            richest = max(askable, key=lambda part: part.remaining)
            richest.asked = True
            assert richest.worker is not None
            richest.worker.ask()

    def _seconds_left(self, part: _Part, now: float) -> float:
        """How long a part seems to take still, by what all parts together took for what they have done."""
        known = [other.progress.fraction for other in self._running if other.progress is not None]
        waiting = sum(1.0 - checkpoint.fraction for checkpoint in self._waiting if checkpoint is not None)
        done = 1.0 - sum(1.0 - fraction for fraction in known) - waiting - self._done_before
        spent = self._spent + sum(now - other.begun for other in self._running)
        return part.remaining * spent / done if done > 0.0 else float("inf")

    def _start(self, part: _Part) -> None:
        thread = threading.Thread(target=self._follow, args=(part, self._limits()), daemon=True)
        self._running[part] = thread
        thread.start()

    def _limits(self) -> Limits:
        limits = self._job.limits
        if limits.timeout is None or not (self._finished or self._parted or self._restarted):
            return limits
        return replace(limits, timeout=max(0.01, limits.timeout - (monotonic() - self._begun)))

    def _follow(self, part: _Part, limits: Limits) -> None:
        """Run one worker to its end; in a thread of its own."""
        put = self._events.put
        request = self._job.target.request
        if limits.timeout is not None and limits is not self._job.limits:
            request = replace(request, options={**request.options, "timeout": limits.timeout})
        share = Share(
            checkpoint=part.checkpoint,
            shared=self._parted,
            started=lambda worker: put(_Event(part, "worker", worker)),
            kept=lambda checkpoint: put(_Event(part, "checkpoint", checkpoint)),
            split=lambda given, checkpoint: put(_Event(part, "part", checkpoint, given)),
        )
        try:
            end: WorkerEnd | Exception = run_worker(
                request,
                limits,
                cancellation=part.cancellation,
                on_progress=lambda progress: put(_Event(part, "progress", progress)),
                command=self._command,
                start=self._job.start if not self._parted else None,
                directory=self._job.directory,
                share=share,
            )
        except Exception as error:
            end = error
        put(_Event(part, "end", end))

    def _take(self, event: _Event) -> None:
        part = event.part
        if part not in self._running:
            return
        match event.kind:
            case "worker":
                part.worker = event.value
            case "progress":
                part.progress = event.value
                self._report()
            case "checkpoint":
                part.checkpoint = event.value
            case "part":
                part.asked = False
                part.started = monotonic()
                part.checkpoint = event.value
                if event.other is not None:
                    self._parted = True
                    self._waiting.append(event.other)
            case _:
                thread = self._running.pop(part)
                thread.join()
                self._spent += monotonic() - part.begun
                self._release(part)
                self._end(part, event.value)

    def _release(self, part: _Part) -> None:
        if part.borrowed and self._places is not None:
            part.borrowed = False
            self._places.give_back()

    def _end(self, part: _Part, end: WorkerEnd | Exception) -> None:
        if isinstance(end, Exception):
            self._stop()
            raise end
        if end.ending is Ending.FINISHED and end.result is not None and "learned" in end.result:
            if not self._is_over():
                self._begin_again(tuple(from_json(LearnedFact, fact) for fact in end.result["learned"]))
            return
        result = check_outcome(self._job.target, end, self._job.limits)
        if result.verdict is Verdict.VERIFIED:
            self._finished.append(result)
        elif result.verdict is Verdict.INCOMPLETE:
            # What a bound stopped has said what is left of it; it ends the others, which were stopped by it too.
            self._unfinished.append(part.checkpoint)
            self._finished.append(result if part.checkpoint is None else _without_counts(result))
            self._stop()
        elif self._final is None:
            self._final = result
            self._stop()

    def _begin_again(self, learned: tuple[LearnedFact, ...]) -> None:
        self._stop()
        for part, thread in list(self._running.items()):
            thread.join()
            self._release(part)
        self._running.clear()
        self._finished.clear()
        self._waiting.clear()
        # One worker alone at first: what was learned late is seldom the last thing to learn.
        self._parted = False
        self._restarted = True
        self._spent = self._done_before = 0.0
        self._waiting.append(Checkpoint(learned=learned))

    def _checkpoints(self) -> list[Checkpoint | None]:
        return [*self._unfinished, *(part.checkpoint for part in self._running), *self._waiting]

    def _report(self) -> None:
        if self._on_progress is None:
            return
        reports = [part.progress for part in self._running if part.progress is not None]
        waiting = sum(1.0 - checkpoint.fraction for checkpoint in self._waiting if checkpoint is not None)
        remaining = sum(1.0 - report.fraction for report in reports) + waiting
        self._on_progress(
            Progress(
                executions=self._sum("executions") + sum(report.executions for report in reports),
                blocked=self._sum("blocked") + sum(report.blocked for report in reports),
                redundant=self._sum("redundant") + sum(report.redundant for report in reports),
                events=self._sum("events") + sum(report.events for report in reports),
                seconds=self._seconds(),
                fraction=min(1.0, max(0.0, 1.0 - remaining)),
            )
        )

    def _sum(self, count: str) -> int:
        return sum(getattr(result, count) for result in self._finished)

    def _seconds(self) -> float:
        before = 0.0 if self._job.checkpoint is None else self._job.checkpoint.seconds
        return before + monotonic() - self._begun

    def _conclude(self) -> ModelResult:
        if self._final is not None:
            return self._final if not self._parted else self._merged(self._final, [])
        checkpoints = self._checkpoints()
        last = self._finished[-1] if self._finished else None
        if last is None:
            last = check_outcome(self._job.target, WorkerEnd(Ending.CANCELLED), self._job.limits)
        known = [checkpoint for checkpoint in checkpoints if checkpoint is not None]
        if checkpoints and len(known) == len(checkpoints):
            self.checkpoint = self._joined(known)
        return self._merged(last, known)

    def _joined(self, checkpoints: Sequence[Checkpoint]) -> Checkpoint:
        """What is left in all, with the counts of what was finished."""

        def total(count: str) -> int:
            return self._sum(count) + sum(getattr(checkpoint, count) for checkpoint in checkpoints)

        return Checkpoint(
            executions=total("executions"),
            blocked=total("blocked"),
            redundant=total("redundant"),
            events=total("events"),
            seconds=self._seconds(),
            fraction=min(1.0, max(0.0, 1.0 - sum(1.0 - checkpoint.fraction for checkpoint in checkpoints))),
            frontiers=tuple(
                itertools.chain.from_iterable(checkpoint.frontiers for checkpoint in checkpoints)
            ),
            learned=max((checkpoint.learned for checkpoint in checkpoints), key=len),
            dependencies=tuple(
                sorted({name for checkpoint in checkpoints for name in checkpoint.dependencies})
            ),
            contents=joined(checkpoint.contents for checkpoint in (*self._finished, *checkpoints)),
            assumptions=self._assumptions(checkpoints),
        )

    def _assumptions(self, others: Sequence[ModelResult | Checkpoint]) -> tuple[Assumption, ...]:
        return merged(one for part in (*self._finished, *others) for one in part.assumptions)

    def _merged(self, last: ModelResult, checkpoints: Sequence[Checkpoint]) -> ModelResult:
        """`last`, with the counts of all parts; of those that did not end, what was last told of them."""
        results = [*self._finished, *([] if last in self._finished else [last])]
        reason = last.reason
        if reason is not None and reason.code is Code.TIMEOUT and reason.message.startswith(_TIMED_OUT):
            # Parts have less time than the whole.
            reason = replace(reason, message=f"{_TIMED_OUT} of {self._job.limits.timeout:g} s")

        def total(count: str) -> int:
            return sum(getattr(item, count) for item in (*results, *checkpoints))

        whole = replace(
            last,
            reason=reason,
            executions=total("executions"),
            blocked=total("blocked"),
            redundant=total("redundant"),
            events=total("events"),
            seconds=self._seconds(),
            assumptions=self._assumptions([last, *checkpoints]),
            dependencies=tuple(sorted({name for result in results for name in result.dependencies})),
            contents=joined(result.contents for result in results),
            coverage=last.coverage if len(results) == 1 and not checkpoints else None,
            output="".join(dict.fromkeys(result.output for result in results)),
        )
        return refused_if_strict(incomplete_if_changed(whole))


def _without_counts(result: ModelResult) -> ModelResult:
    """A result of which only the verdict counts: what it counted is in what is left."""
    return replace(result, executions=0, blocked=0, redundant=0, events=0)
