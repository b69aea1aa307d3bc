"""Puts what was recorded and observed of an execution together into a `TraceDocument`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpor.counterexample.entries import spawn_order
from dpor.counterexample.locks import lock_of
from dpor.counterexample.names import is_held
from dpor.counterexample.observation import Call, Observed, Place, Stuck
from dpor.counterexample.operations import Operation
from dpor.counterexample.phrases import describe_operation, wait_text
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.records import Execution, Record
from dpor.counterexample.relevance import relevant_steps
from dpor.counterexample.trace_document import (
    Change,
    Holding,
    Lane,
    LaneKind,
    NamedValue,
    RecordedStep,
    TraceDocument,
    TraceFailure,
    TraceFrame,
    Variable,
    Waiting,
)
from dpor.counterexample.values import Sketch, class_name
from dpor.results import ReplayResult, SourceSpan, Violation, WaitingThread

FAILURE = "failure"
_PREDICATE = "a condition (wait_until)"
_SPIN = "a change of what its loop reads"
_MAIN = "main"


def build(
    execution: Execution,
    result: ReplayResult,
    recorder: Recorder,
    exception: BaseException | None,
    *,
    model: str,
    root: Path,
    schedule: str,
    fingerprint: str,
    parameters: Mapping[str, Any],
    options: Mapping[str, Any],
    read: Callable[[str], str | None],
) -> TraceDocument:
    """The document of a recorded execution.

    `read` gives the text of a source file by the name that spans have for it (None: it cannot be shown); the other
    arguments are what recorded the execution, what it gave, and fields of the document. Raises ValueError if the
    recorder had no observation.
    """
    return _Builder(execution, result, recorder, exception).document(
        model=model,
        root=str(root),
        schedule=schedule,
        fingerprint=fingerprint,
        parameters=dict(parameters),
        options=dict(options),
        read=read,
    )


@dataclass
class _Open:
    """A wait that has not ended yet."""

    stuck: Stuck
    since: int
    owner: str | None


class _Builder:
    def __init__(
        self,
        execution: Execution,
        result: ReplayResult,
        recorder: Recorder,
        exception: BaseException | None,
    ) -> None:
        self._execution = execution
        self._result = result
        self._recorder = recorder
        if recorder.observation is None:
            raise ValueError("what was not observed cannot be told in full")
        self._observation = recorder.observation
        self._exception = exception
        self._variables: dict[str, list[Place]] = {}
        self._names: dict[int, str] = {}
        self._current: dict[str, str | None] = {}

    def document(self, *, read: Callable[[str], str | None], **fields: Any) -> TraceDocument:
        self._name_places()
        matters = self._relevant()
        variables = tuple(self._variable(name, places) for name, places in self._variables.items())
        self._current = {variable.name: variable.initial for variable in variables}
        steps = list(self._steps(matters))
        failure = None
        if self._result.violation is not None:
            ending = self._ending(self._result.violation, len(steps) + 1)
            steps.append(ending)
            failure = self._failure(self._result.violation, ending)
        waits = tuple(self._waits(len(steps)))
        return TraceDocument(
            failure=failure,
            threads=tuple(self._lanes()),
            steps=tuple(steps),
            variables=variables,
            waits=waits,
            sources=_sources(steps, waits, read),
            changed=self._result.changed,
            divergence=self._result.divergence,
            **fields,
        )

    # Variables

    def _name_places(self) -> None:
        """Give every place a variable's name: places of one name share it only if one is the other's content."""
        for place in self._observation.places:
            text = (
                self._recorder.name_of(place.owner)
                if place.key is None
                else self._recorder.place_name(place.owner, place.key)
            )
            name, count = text, 1
            while any(
                other.key is not None and place.key is not None for other in self._variables.get(name, ())
            ):
                count += 1
                name = f"{text}#{count}"
            self._variables.setdefault(name, []).append(place)
            self._names[id(place)] = name

    def _variable(self, name: str, places: Sequence[Place]) -> Variable:
        initial = next((place.initial for place in places if place.initial is not None), None)
        lanes = {lane: None for place in places for lane in place.lanes}
        return Variable(
            name, self._text(initial, name), tuple(sorted(lanes, key=lambda lane: lane_order(lane)))
        )

    def _text(self, sketch: Sketch | None, holder: str | None = None) -> str | None:
        """The text of a value; `holder` is the name of what holds it, which would say nothing as its value."""
        if sketch is None:
            return None
        alone = sketch.alone
        if alone is None:
            return sketch.text(self._recorder.label_of)
        text = self._recorder.name_of(alone)
        if holder is not None and is_held(alone) and text.startswith(holder):
            return f"<{class_name(alone)}>"
        return text

    def _changes(self, observed: Observed) -> Iterator[Change]:
        latest = {self._names[id(change.place)]: change for change in observed.changes}
        for name, change in latest.items():
            after = self._text(change.after, name)
            yield Change(name, self._current[name], after, change.written)
            self._current[name] = after

    # Steps

    def _relevant(self) -> frozenset[int]:
        """The steps that matter; the tasks of an event loop count as the threads of what they do."""
        if not self._observation.tasks or self._result.violation is None:
            return frozenset(step.step - 1 for step in self._result.trace if step.matters)
        records = [
            replace(record, thread=observed.lane)
            for record, observed in zip(self._execution.records, self._observation.steps, strict=True)
        ]
        return relevant_steps(replace(self._execution, records=records))

    def _steps(self, matters: frozenset[int]) -> Iterator[RecordedStep]:
        for record, step, observed in zip(
            self._execution.records, self._result.trace, self._observation.steps, strict=True
        ):
            yield RecordedStep(
                index=step.step,
                thread=observed.lane,
                operation=step.operation,
                phrase=describe_operation(step),
                target=step.target,
                key=record.key,
                value=step.value,
                location=step.location,
                call_site=step.call_site,
                event=record.event,
                matters=record.index in matters,
                reads=tuple(dict.fromkeys(self._names[id(place)] for place in observed.reads)),
                changes=tuple(self._changes(observed)),
                frames=self._frames(observed.calls),
                holdings=tuple(self._holdings(observed.held, observed.stuck)),
            )

    def _frames(self, calls: Iterable[Call]) -> tuple[TraceFrame, ...]:
        return tuple(
            TraceFrame(
                call.site.function,
                call.site.span,
                call.site.first_party,
                tuple(NamedValue(name, self._text(sketch) or "") for name, sketch in call.variables),
            )
            for call in calls
        )

    def _ending(self, violation: Violation, index: int) -> RecordedStep:
        """The step at which the execution breaks, after the last operation."""
        thread, location = _where_it_shows(violation)
        last = next(
            (step for step in reversed(self._observation.steps) if step.lane.split(":")[0] == thread), None
        )
        stuck = self._recorder.stuck()
        calls: Sequence[Call] = ()
        if self._exception is not None:
            calls = self._recorder.calls_of(self._exception)
        else:
            waiting = next((wait for wait in stuck if wait.thread == thread), None)
            if waiting is not None:
                calls = self._observation.waiting_calls.get((thread, waiting.since), ("", ()))[1]
        if not calls and last is not None:
            calls = last.calls
        held: Mapping[str, tuple[object, ...]] = {}
        if self._observation.steps:
            held = self._observation.steps[-1].held
        return RecordedStep(
            index=index,
            thread=last.lane if last is not None else thread,
            operation=violation.kind.value if violation.kind.is_standstill else FAILURE,
            phrase=violation.message,
            location=location,
            event=False,
            frames=self._frames(calls),
            holdings=tuple(self._holdings(held, stuck)),
        )

    def _failure(self, violation: Violation, ending: RecordedStep) -> TraceFailure:
        return TraceFailure(
            kind=violation.kind,
            code=violation.code,
            message=violation.message,
            step=ending.index,
            thread=ending.thread,
            location=ending.location,
            pattern=violation.pattern,
            traceback=violation.traceback,
        )

    # Who holds and who waits

    def _holdings(self, held: Mapping[str, tuple[object, ...]], stuck: Sequence[Stuck]) -> Iterator[Holding]:
        owners: dict[tuple[int, bool], list[str]] = {}
        waiting: dict[tuple[int, bool], list[str]] = {}
        names: dict[tuple[int, bool], str] = {}
        for thread, locks in held.items():
            for lock in locks:
                resource = (id(lock_of(lock)), False)
                names.setdefault(resource, self._recorder.name_of(lock))
                owners.setdefault(resource, []).append(thread)
        for wait in stuck:
            resource = _resource(wait)
            names.setdefault(resource, self._resource_name(wait))
            waiting.setdefault(resource, []).append(wait.thread)
            if wait.operation is Operation.JOIN:
                joined = self._recorder.path_of(wait.target)
                owners[resource] = [joined] if joined is not None else []
        for resource, name in names.items():
            yield Holding(name, tuple(owners.get(resource, ())), tuple(waiting.get(resource, ())))

    def _resource_name(self, wait: Stuck) -> str:
        if wait.operation is Operation.SPIN:
            return _SPIN
        if wait.target is None:
            return _PREDICATE
        name = self._recorder.wait_target(wait.operation, wait.target) or _PREDICATE
        return f"{name} (notification)" if _is_notification(wait) else name

    def _waits(self, end: int) -> Iterator[Waiting]:
        """The times during which threads could not go on, in the order in which they began."""
        snapshots = [
            (index, step.stuck, step.held) for index, step in enumerate(self._observation.steps, start=1)
        ]
        if self._result.violation is not None:
            snapshots.append((end, self._recorder.stuck(), snapshots[-1][2] if snapshots else {}))
        found: list[Waiting] = []
        opened: dict[str, _Open] = {}
        for index, stuck, held in snapshots:
            now = {wait.thread: wait for wait in stuck}
            for thread, wait in list(opened.items()):
                if not _is_same_wait(now.get(thread), wait.stuck):
                    found.append(self._waiting(wait, index))
                    del opened[thread]
            for thread, stuck_now in now.items():
                if thread not in opened:
                    opened[thread] = _Open(stuck_now, index, self._owner(stuck_now, held))
        found.extend(self._waiting(wait, None) for wait in opened.values())
        yield from sorted(found, key=lambda wait: (wait.since, lane_order(wait.thread)))

    def _owner(self, wait: Stuck, held: Mapping[str, tuple[object, ...]]) -> str | None:
        if wait.operation is Operation.JOIN:
            return self._recorder.path_of(wait.target)
        if wait.operation in (Operation.ACQUIRE, Operation.WAKE):
            for thread, locks in held.items():
                if any(lock_of(lock) is lock_of(wait.target) for lock in locks):
                    return thread
        return None

    def _waiting(self, wait: _Open, until: int | None) -> Waiting:
        stuck = wait.stuck
        target = self._recorder.wait_target(stuck.operation, stuck.target)
        told = WaitingThread(stuck.thread, stuck.operation.value, target, None, (), wait.owner)
        lane, calls = self._observation.waiting_calls.get((stuck.thread, stuck.since), (stuck.thread, ()))
        return Waiting(
            thread=lane,
            since=wait.since,
            until=until,
            operation=stuck.operation.value,
            target=target,
            phrase=wait_text(told),
            frames=self._frames(calls),
        )

    # Lanes

    def _lanes(self) -> Iterator[Lane]:
        lanes = {_MAIN: Lane(_MAIN, _MAIN)}
        ended: dict[str, int] = {}
        for record, observed in zip(self._execution.records, self._observation.steps, strict=True):
            index = record.index + 1
            if record.operation is Operation.SPAWN:
                path = _spawned(record)
                lanes[path] = Lane(path, record.target or path, LaneKind.THREAD, observed.lane, index)
            elif record.operation is Operation.END and index < len(self._execution.records):
                # The end of the thread whose failure ends the execution is not how a person would put it.
                ended[record.thread] = index
            lanes.setdefault(record.thread, Lane(record.thread, record.thread))
        for task in self._observation.tasks:
            lanes[task.lane] = Lane(task.lane, task.name, LaneKind.TASK, task.thread, task.first + 1)
        for identity in sorted(lanes, key=lane_order):
            lane = lanes[identity]
            yield replace(lane, until=ended.get(identity))


def _where_it_shows(violation: Violation) -> tuple[str, SourceSpan | None]:
    """The thread and the place at which a violation is shown: of a standstill, one that goes
    round in a loop, or does not just join.
    """
    if violation.kind.is_standstill:
        spinning = [wait for wait in violation.waiting if wait.operation == Operation.SPIN.value]
        for wait in (*spinning, *violation.waiting):
            if wait.operation != Operation.JOIN.value:
                return wait.thread, wait.location
    return violation.thread or _MAIN, violation.location


def lane_order(identity: str) -> tuple[tuple[tuple[int, int | str], ...], int]:
    """A sort key of lanes: a thread before its tasks, these before the threads it spawned."""
    thread, _, task = identity.partition(":")
    return spawn_order(thread), int(task or 0)


def _spawned(record: Record) -> str:
    """The spawn path of the thread that a `spawn` starts: its value if the thread has a name of its own."""
    return record.value or record.target or f"{record.thread}.?"


def _is_notification(wait: Stuck) -> bool:
    return wait.operation is Operation.WAIT and class_name(wait.target) == "Condition"


def _resource(wait: Stuck) -> tuple[int, bool]:
    """What a thread waits for: a condition's lock and its notification are two things."""
    if _is_notification(wait):
        return id(wait.target), True
    return id(lock_of(wait.target)), wait.operation is Operation.SPIN


def _is_same_wait(one: Stuck | None, other: Stuck) -> bool:
    return (
        one is not None
        and one.since == other.since
        and one.operation is other.operation
        and one.target is other.target
    )


def _sources(
    steps: Iterable[RecordedStep], waits: Iterable[Waiting], read: Callable[[str], str | None]
) -> dict[str, str]:
    names: dict[str, None] = {}
    for step in steps:
        spans = (step.location, step.call_site, *(frame.location for frame in step.frames))
        names.update((span.file, None) for span in spans if span is not None)
    for wait in waits:
        names.update((frame.location.file, None) for frame in wait.frames)
    texts = ((name, read(name)) for name in names)
    return {name: text for name, text in texts if text is not None}
