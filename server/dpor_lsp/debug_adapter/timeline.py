"""Moving through a recorded trace: what is so after a step, and where a step in either direction leads.

A position is the index of a step, from 1; at a position that step has just been taken. Nothing here knows of the
protocol.
"""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from dpor.counterexample.trace_document import (
    Change,
    Lane,
    RecordedStep,
    TraceDocument,
    TraceFrame,
    Waiting,
)
from dpor.results import SourceSpan


class Access(enum.Enum):
    """What a data breakpoint waits for."""

    READ = "read"
    WRITE = "write"
    READ_WRITE = "readWrite"


@dataclass(frozen=True)
class Watch:
    """A data breakpoint: a variable, and what is done to it."""

    variable: str
    access: Access = Access.WRITE


@dataclass(frozen=True)
class Stop:
    """Where stepping ended, and why: `reason` is the protocol's word, `text` for people."""

    position: int
    reason: str
    text: str | None = None
    breakpoints: tuple[int, ...] = ()


@dataclass
class Breakpoints:
    """What stepping stops at: lines by file name, variables, each with the client's number, and kinds of steps."""

    lines: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    watches: dict[int, Watch] = field(default_factory=dict[int, Watch])
    switches: bool = False
    waits: bool = False
    matters: bool = False


def place_of(step: RecordedStep) -> SourceSpan | None:
    """Where a reader looks for a step: the first-party line if there is one."""
    return step.call_site or step.location


class Timeline:
    """A trace with what is looked up in it again and again; it never changes.

    `only_matters` leaves out, in single steps, what the failure does not depend on.
    """

    def __init__(self, document: TraceDocument, *, only_matters: bool = False) -> None:
        self.document = document
        self.steps = document.steps
        self.lanes = document.threads
        self._only_matters = only_matters
        self._number = {lane.id: number for number, lane in enumerate(document.threads, start=1)}
        self._of_lane: dict[str, list[int]] = {lane.id: [] for lane in document.threads}
        self._histories: dict[str, list[tuple[int, str | None]]] = {
            variable.name: [(0, variable.initial)] for variable in document.variables
        }
        for step in document.steps:
            self._of_lane[step.thread].append(step.index)
            for change in step.changes:
                self._histories.setdefault(change.variable, [(0, None)]).append((step.index, change.after))

    @property
    def end(self) -> int:
        """The last position."""
        return len(self.steps)

    def step(self, position: int) -> RecordedStep:
        """The step at a position."""
        return self.steps[position - 1]

    # What is so at a position

    def number(self, lane: str) -> int:
        """The number of a lane, from 1."""
        return self._number[lane]

    def alive(self, position: int) -> Iterator[Lane]:
        """The lanes that have been started and have not ended, at a position."""
        for lane in self.lanes:
            if lane.since <= position and (lane.until is None or position <= lane.until):
                yield lane

    def last_step(self, lane: str, position: int) -> RecordedStep | None:
        """The last step of a lane up to a position that has a place; None if it has taken none."""
        taken = self._of_lane[lane]
        for index in reversed(taken[: bisect_right(taken, position)]):
            if place_of(self.step(index)) is not None:
                return self.step(index)
        return None

    def waiting(self, lane: str, position: int) -> Waiting | None:
        """What a lane waits for at a position; None if it could go on."""
        for wait in self.document.waits:
            if (
                wait.thread == lane
                and wait.since <= position
                and (wait.until is None or position < wait.until)
            ):
                return wait
        return None

    def frames(self, lane: str, position: int) -> tuple[TraceFrame, ...]:
        """The active calls of a lane at a position, innermost first; empty if nothing is known of them."""
        step = self.step(position)
        if step.thread == lane and (step.frames or place_of(step) is not None):
            return step.frames or _frame_at(step)
        wait = self.waiting(lane, position)
        if wait is not None and wait.frames:
            return wait.frames
        last = self.last_step(lane, position)
        return () if last is None else last.frames or _frame_at(last)

    def value(self, variable: str, position: int) -> str | None:
        """The value of a variable after a position; None if it is not there. Raises KeyError if it is unknown."""
        history = self._histories[variable]
        return history[bisect_right(history, position, key=lambda entry: entry[0]) - 1][1]

    def has_variable(self, variable: str) -> bool:
        """True if steps access a variable of this name."""
        return variable in self._histories

    def change(self, variable: str, position: int) -> Change | None:
        """What the step at a position did to a variable."""
        return next((change for change in self.step(position).changes if change.variable == variable), None)

    def steps_on(self, file: str, line: int) -> list[int]:
        """The positions at which a thread comes to a line."""
        return [
            step.index
            for step in self.steps
            if self._stands_on(step, file, line) and self._begins_line(step.index)
        ]

    def lines_of(self, file: str) -> list[int]:
        """The lines of a file that steps stand on, in order."""
        places = (place for step in self.steps for place in (step.location, step.call_site))
        return sorted({place.line for place in places if place is not None and place.file == file})

    # Stepping

    def first(self, start: str) -> int:
        """Where a session begins: at the `first` step, the first that `matters`, or the `failure`."""
        if start == "failure":
            return self.document.failure.step if self.document.failure is not None else self.end
        if start == "matters":
            return next((step.index for step in self.steps if step.matters and place_of(step)), 1)
        return 1

    def by_operation(self, position: int, direction: int, lane: str | None = None) -> int:
        """The position one step on or back, of `lane` if that is given."""
        return self._seek(position, direction, lambda index: self._shows(index, lane))

    def by_line(self, position: int, direction: int, lane: str | None = None) -> int:
        """The position at which the next line is reached, or the one before was, in the order of the schedule."""
        return self._seek(
            position,
            direction,
            lambda index: (
                self._shows(index, lane)
                and (self._begins_line(index) or (self._only_matters and not self._line_mattered(index)))
            ),
        )

    def by_turn(self, position: int) -> int:
        """The position at which another thread goes on."""
        thread = self.step(position).thread
        return self._seek(
            position, 1, lambda index: self.step(index).thread != thread and self._shows(index, None)
        )

    def run(self, position: int, direction: int, breakpoints: Breakpoints) -> Stop:
        """Go on, or back, to what a breakpoint stops at, else to the end or the beginning."""
        for index in self._range(position, direction):
            stop = self._stop_at(index, breakpoints)
            if stop is not None:
                return stop
        edge = self.end if direction > 0 else 1
        return self.arrive(edge, "step", "the end of the recording" if direction > 0 else "the beginning")

    def arrive(self, position: int, reason: str, text: str | None = None) -> Stop:
        """The stop at a position; at the failure that is what is told."""
        failure = self.document.failure
        if failure is not None and failure.step == position:
            return Stop(position, "exception", failure.message)
        return Stop(position, reason, text)

    def _stop_at(self, index: int, breakpoints: Breakpoints) -> Stop | None:
        step = self.step(index)
        watched = [number for number, watch in breakpoints.watches.items() if _touches(step, watch)]
        if watched:
            text = "; ".join(_told(step, breakpoints.watches[number].variable) for number in watched)
            return Stop(index, "data breakpoint", text, tuple(watched))
        if self._begins_line(index):
            hit = [
                number
                for file, lines in breakpoints.lines.items()
                for line, number in lines.items()
                if self._stands_on(step, file, line)
            ]
            if hit:
                return Stop(index, "breakpoint", None, tuple(hit))
        failure = self.document.failure
        if failure is not None and failure.step == index:
            return self.arrive(index, "exception")
        if breakpoints.switches and self._begins_turn(index):
            return Stop(index, "step", f"{step.thread} goes on")
        if breakpoints.waits:
            waits = [wait for wait in self.document.waits if wait.since == index]
            if waits:
                return Stop(index, "step", "; ".join(f"{wait.thread} {wait.phrase}" for wait in waits))
        if breakpoints.matters and step.matters and place_of(step) is not None:
            return Stop(index, "step", "this step matters")
        return None

    def _seek(self, position: int, direction: int, wanted: Callable[[int], bool]) -> int:
        for index in self._range(position, direction):
            if wanted(index):
                return index
        return self.end if direction > 0 else 1

    def _range(self, position: int, direction: int) -> Iterable[int]:
        return range(position + 1, self.end + 1) if direction > 0 else range(position - 1, 0, -1)

    def _shows(self, index: int, lane: str | None) -> bool:
        step = self.step(index)
        if lane is not None and step.thread != lane:
            return False
        return place_of(step) is not None and (step.matters or not self._only_matters)

    def _begins_line(self, index: int) -> bool:
        """True if the step before is of another thread or stands on another line."""
        place = place_of(self.step(index))
        if place is None:
            return False
        failure = self.document.failure
        if index == 1 or (failure is not None and failure.step == index):
            return True
        former = self.step(index - 1)
        before = place_of(former)
        return (
            former.thread != self.step(index).thread
            or before is None
            or (before.file, before.line) != (place.file, place.line)
        )

    def _line_mattered(self, index: int) -> bool:
        """True if a step before, on the same line in one go, matters."""
        current = index
        while not self._begins_line(current):
            current -= 1
            if self.step(current).matters:
                return True
        return False

    def _begins_turn(self, index: int) -> bool:
        """True if this is the first step with a place since another thread was at work."""
        step = self.step(index)
        if place_of(step) is None:
            return False
        for before in range(index - 1, 0, -1):
            if self.step(before).thread != step.thread:
                return True
            if place_of(self.step(before)) is not None:
                return False
        return True

    def _stands_on(self, step: RecordedStep, file: str, line: int) -> bool:
        return any(
            place is not None and place.file == file and place.line <= line <= (place.end_line or place.line)
            for place in (step.location, step.call_site)
        )


def _frame_at(step: RecordedStep) -> tuple[TraceFrame, ...]:
    place = place_of(step)
    return () if place is None else (TraceFrame(step.phrase, place),)


def _touches(step: RecordedStep, watch: Watch) -> bool:
    written = any(change.variable == watch.variable and change.written for change in step.changes)
    if watch.access is Access.WRITE:
        return written
    read = watch.variable in step.reads
    return read or (written and watch.access is Access.READ_WRITE)


def _told(step: RecordedStep, variable: str) -> str:
    for change in step.changes:
        if change.variable == variable:
            before = "nothing" if change.before is None else change.before
            after = "nothing" if change.after is None else change.after
            return f"{step.thread} changes {variable} from {before} to {after}"
    return f"{step.thread} reads {variable}"
