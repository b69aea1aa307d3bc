"""What is known of a recorded step before it becomes a line of a report.

A `TraceStep` is for people and editors; relevance and patterns need more: which object was accessed, not
only what it is called, and the whole chain of calls that led there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from dpor.counterexample.operations import Operation
from dpor.results import SourceSpan, TraceStep, ViolationKind


@dataclass(frozen=True)
class Site:
    """One active call of a chain: which call it is (equal numbers: the same call), where it stands, in what
    function.

    `first_party` is False for code of an instrumented package.
    """

    activation: int
    span: SourceSpan
    function: str
    first_party: bool = True


@dataclass(frozen=True)
class Record:
    """A visible operation with everything that the analyses need.

    `index` counts from 0; `subject` numbers the target object (-1: none), `key` is the text of the
    attribute, item or variable (None: the object as a whole); `reads` and `writes` say what the operation
    does to data; `sites` is the chain of calls, innermost first; `held_subjects` numbers the locks held
    after the step, `held` names them. `source` says which write a step read from, if not from the latest before it.
    """

    index: int
    thread: str
    operation: Operation
    subject: int
    key: str | None
    target: str | None
    value: str | None
    reads: bool
    writes: bool
    sites: tuple[Site, ...] = ()
    held: tuple[str, ...] = ()
    held_subjects: tuple[int, ...] = ()
    event: bool = True
    source: str | None = None

    @property
    def location(self) -> SourceSpan | None:
        """Where the operation stands, be it in first-party code or in an instrumented package."""
        return self.sites[0].span if self.sites else None

    @property
    def call_site(self) -> SourceSpan | None:
        """Where first-party code called into other code; None if the location itself is first-party."""
        if not self.sites or self.sites[0].first_party:
            return None
        return next((site.span for site in self.sites if site.first_party), None)

    def overlaps(self, other: Record) -> bool:
        """True if both access the same data: the same object, and the same part of it or all of it."""
        return (
            self.subject >= 0
            and self.subject == other.subject
            and (self.key is None or other.key is None or self.key == other.key)
        )

    def conflicts(self, other: Record) -> bool:
        """True if both access the same data and at least one of them writes it."""
        return (
            self.operation.is_memory
            and other.operation.is_memory
            and (self.writes or other.writes)
            and self.overlaps(other)
        )

    def step(self, matters: bool) -> TraceStep:
        """The step as a report shows it."""
        return TraceStep(
            step=self.index + 1,
            thread=self.thread,
            operation=self.operation.value,
            target=self.target,
            value=self.value,
            location=self.location,
            matters=matters,
            held=self.held,
            function=self.sites[0].function if self.sites else None,
            call_site=self.call_site,
            source=self.source,
        )


@dataclass(frozen=True)
class Wait:
    """A thread that waits for ever at the end of an execution.

    `since` is the number of steps recorded when it began to wait; `owner` the thread that holds (or, for a
    join, is) what it waits for; `sites` the chain of calls where it waits; `task` the name of the task that waits,
    if the thread runs an event loop.
    """

    thread: str
    operation: Operation
    subject: int
    target: str | None
    since: int
    owner: str | None = None
    sites: tuple[Site, ...] = ()
    held: tuple[str, ...] = ()
    held_subjects: tuple[int, ...] = ()
    task: str | None = None


@dataclass(frozen=True)
class WaitingTask:
    """A task of an event loop that waits, with the frames of what it awaits, innermost first.

    It waits for `target`, an object, or `for_task`, another task in words; None if neither is known.
    """

    name: str
    frames: tuple[FrameType, ...]
    target: object = None
    for_task: str | None = None


@dataclass(frozen=True)
class Failure:
    """What broke, and where: the chain of calls is innermost first and empty if it is unknown.

    `exception` is the name of the exception's class, `traceback` its text.
    """

    kind: ViolationKind
    message: str
    thread: str | None = None
    sites: tuple[Site, ...] = ()
    exception: str | None = None
    traceback: str | None = None

    @property
    def location(self) -> SourceSpan | None:
        """The place to report: the innermost first-party call, or the innermost call if none is
        first-party.
        """
        for site in self.sites:
            if site.first_party:
                return site.span
        return self.sites[0].span if self.sites else None


@dataclass(frozen=True)
class Execution:
    """A recorded execution: its steps, who waits for ever, and what broke (None if nothing did)."""

    records: Sequence[Record]
    waits: Sequence[Wait] = ()
    failure: Failure | None = None
