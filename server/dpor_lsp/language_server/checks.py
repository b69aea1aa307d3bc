"""The checks of models: starting them, calling them off, and what their events make of a model's record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dpor.results import ModelResult, Verdict
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.scheduler import Event, Finished, Job, Progressed, Replayed, Started
from dpor_lsp.language_server import wording
from dpor_lsp.language_server.checks_progress import ChecksProgress
from dpor_lsp.language_server.findings import Finding
from dpor_lsp.language_server.planning import PlannedModel
from dpor_lsp.language_server.records import STATE_OF, FileRecord, ModelRecord, State
from dpor_lsp.language_server.running import Runner

if TYPE_CHECKING:
    from dpor_lsp.language_server.session import Session

STATUS_INTERVAL = 0.25
"""Seconds between two reports of how far running checks are."""


class Checks:
    """What runs for the models of a session. All methods but `_deliver` run in the event loop's thread."""

    def __init__(self, session: Session, runner_of: Callable[[Callable[[Event], None]], Runner]) -> None:
        self._session = session
        self._progress = ChecksProgress(session.client)
        self._jobs: dict[Job, ModelRecord] = {}
        self._status_timer: asyncio.TimerHandle | None = None
        self._in_progress: dict[FileRecord, None] = {}
        self._runner = runner_of(self._deliver)
        self._keeping: set[asyncio.Task[None]] = set()

    def resize(self, jobs: int | None) -> None:
        """Run up to `jobs` checks at once (None: the default)."""
        self._runner.resize(jobs)

    async def kept(self, timeout: float) -> None:
        """Wait up to `timeout` seconds until every result that was shown is in the cache."""
        if self._keeping:
            await asyncio.wait(self._keeping, timeout=timeout)

    def close(self) -> None:
        """End everything that runs."""
        self._runner.close()

    # What becomes of a model

    def start(self, record: ModelRecord, planned: PlannedModel, target: CheckTarget) -> None:
        """Check a model as it was planned, instead of what runs for it."""
        assert planned.environment is not None
        self.call_off(record, State.QUEUED)
        if record.found_by_reading:
            # The check will tell what is true of these.
            self._session.publisher.show(record, ())
        self.mark_stale(record, stale=bool(record.findings))
        record.target, record.environment = target, planned.environment
        record.started = self._session.files[record.path].read
        record.outdated = False
        interpreter = planned.environment.interpreter
        self._runner.keep_only({interpreter, *self._interpreters()})
        job = self._runner.submit(target, planned.limits, interpreter, planned.first)
        record.job = job
        self._jobs[job] = record

    def _interpreters(self) -> set[str]:
        return {
            item.environment.interpreter for item in self._session.records() if item.environment is not None
        }

    def settle(self, record: ModelRecord, state: State, findings: tuple[Finding, ...] = ()) -> None:
        """Nothing runs for this model any more, and this is what is true of it."""
        self.call_off(record, state)
        record.outdated = False
        record.stale = False
        self._session.publisher.show(record, findings)

    def cancel(self, record: ModelRecord) -> None:
        """Call off the check of a model; its result says that it was cancelled."""
        if record.job is not None:
            record.job.cancellation.cancel()

    def cancel_token(self, token: object) -> None:
        """Call off the check that a progress is about."""
        job = self._progress.job(token)
        if job is not None:
            job.cancellation.cancel()

    def call_off(self, record: ModelRecord, state: State) -> None:
        """Stop what runs for a model; what it would have found no longer matters."""
        record.state = state
        record.progress = None
        record.provisional = None
        job, record.job = record.job, None
        if job is not None:
            self._jobs.pop(job, None)
            job.cancellation.cancel()
            self._progress.end(job, "superseded")

    def outdate(self, record: ModelRecord) -> None:
        """The text that the model was checked with is no longer what is there."""
        if record.state in (State.IGNORED, State.UNCHECKED):
            return
        former = record.result is not None or bool(record.findings) or record.state is State.ERROR
        self.call_off(record, State.STALE if former else State.UNCHECKED)
        self.mark_stale(record, stale=True)

    def mark_stale(self, record: ModelRecord, *, stale: bool) -> None:
        """What is shown of the model is of another text, or is of this one again."""
        if record.stale != stale:
            record.stale = stale
            self._session.publisher.touch({item.uri for item in record.findings})

    # Events of the runner

    def _deliver(self, event: Event) -> None:
        """Take an event of the runner to the event loop; called from its threads."""
        self._session.call_in_loop(self._on_event, event)

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, Started | Progressed | Replayed | Finished):
            return
        job = event.job
        record = self._jobs.get(job)
        if record is None or record.job is not job:
            return
        if isinstance(event, Started):
            record.state = State.CHECKING
            self._changed(record)
        elif isinstance(event, Progressed):
            record.progress = event.progress
            self._progress.report(job, event.progress)
            self._changed_soon(record)
        elif isinstance(event, Replayed):
            violation = event.result.violation
            if violation is not None:
                result = _provisional(record, event)
                self._session.spawn(self._show_provisional(record, job, result), str(record.path))
        else:
            self._progress.end(job, wording.headline(event.result))
            self._session.spawn(self._finish(record, job, event.result), f"finish {record.identity}")

    async def _show_provisional(self, record: ModelRecord, job: Job, result: ModelResult) -> None:
        findings = await self._findings(record, job, result)
        if record.job is job and record.state is State.CHECKING:
            record.provisional = result
            record.stale = False
            self._session.publisher.show(record, findings)
            self._changed(record)

    async def _finish(self, record: ModelRecord, job: Job, result: ModelResult) -> None:
        known = record.provisional
        if known is not None and result.verdict is Verdict.INCOMPLETE and not result.violations:
            # What a replay has shown is true, however far the rest came.
            result = replace(result, verdict=Verdict.VIOLATED, reason=None, violations=known.violations)
        findings = await self._findings(record, job, result)
        if record.job is not job:
            return
        record.job = None
        self._jobs.pop(job, None)
        record.result = result
        self.settle(record, STATE_OF[result.verdict], findings)
        self._session.recheck_if_edited(record, result)
        self._changed(record)
        if result.output:
            self._session.client.notify("dpor/output", {"model": record.identity, "text": result.output})
            self._session.client.log(f"{record.identity} printed:\n{result.output}")
        assert record.environment is not None
        keep = partial(self._session.planner.keep, job.target, record.environment, result)
        self._keeping.add(
            keeping := self._session.spawn(self._session.in_thread(keep), f"keep {record.identity}")
        )
        keeping.add_done_callback(self._keeping.discard)

    async def _findings(self, record: ModelRecord, job: Job, result: ModelResult) -> tuple[Finding, ...]:
        file = self._session.files.get(record.path)
        if file is None:
            return ()
        make = partial(
            self._session.planner.findings,
            job.target,
            result,
            record.outline,
            file.outline,
            self._session.client.encoding,
            hints=self._session.settings.hints,
        )
        return await self._session.in_thread(make)

    def _changed(self, record: ModelRecord) -> None:
        file = self._session.files.get(record.path)
        if file is not None:
            self._session.publisher.changed(file)

    def _changed_soon(self, record: ModelRecord) -> None:
        file = self._session.files.get(record.path)
        if file is not None:
            self._in_progress[file] = None
            if self._status_timer is None:
                loop = asyncio.get_running_loop()
                self._status_timer = loop.call_later(STATUS_INTERVAL, self._report_progress)

    def _report_progress(self) -> None:
        self._status_timer = None
        files, self._in_progress = self._in_progress, {}
        for file in files:
            self._session.publisher.changed(file)


def _provisional(record: ModelRecord, event: Replayed) -> ModelResult:
    assert event.result.violation is not None
    info = record.outline.info
    options = {**info.options, **event.job.target.request.options}
    return ModelResult(
        id=info.id,
        file=info.file,
        line=info.line,
        parameters=info.parameters,
        verdict=Verdict.VIOLATED,
        algorithm=str(options.get("algorithm", "optimal")),
        memory_model=str(options.get("memory_model", "sc")),
        executions=1,
        violations=(event.result.violation,),
        expect=Verdict.VIOLATED if info.options.get("expect") == "violated" else None,
    )
