"""A recorded execution as one document: what the debugger, the trace view and other tools step through.

Nothing is run again to look at it: every step has its place, the change of shared state that it made, the local
variables of its thread, and who held and who waited for what after it. Texts of values are bounded and were made
without running code of the model. `docs/replay.md` describes the JSON form.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpor.codes import Code
from dpor.results import Pattern, SourceSpan, ViolationKind

TRACE_VERSION = 1


class LaneKind(enum.Enum):
    """What runs in a lane of its own: a thread, or an asyncio task of one."""

    THREAD = "thread"
    TASK = "task"


@dataclass(frozen=True)
class Lane:
    """A thread or task of the execution.

    `id` is the spawn path of a thread (`main.0`) and, for the nth task of a thread, that path, a colon and n
    (`main:1`); `name` is what its author calls it, or the id; `parent` is the lane that started it (None for `main`).
    `since` is the step that started it (0: it was there from the beginning), `until` its last step (None if it was
    still alive at the end).
    """

    id: str
    name: str
    kind: LaneKind = LaneKind.THREAD
    parent: str | None = None
    since: int = 0
    until: int | None = None


@dataclass(frozen=True)
class NamedValue:
    """A variable and the text of its value."""

    name: str
    value: str


@dataclass(frozen=True)
class TraceFrame:
    """One active call: the function, where it stands, its local variables.

    `first_party` is False for code of an instrumented package.
    """

    function: str
    location: SourceSpan
    first_party: bool = True
    locals: tuple[NamedValue, ...] = ()


@dataclass(frozen=True)
class Change:
    """What a step did to one variable; `before` and `after` are None where the variable was not there (or not seen).

    `written` is False if the step only found the variable changed, by code that is not recorded.
    """

    variable: str
    before: str | None
    after: str | None
    written: bool = True


@dataclass(frozen=True)
class Holding:
    """A lock or another thing that threads wait for, after a step: the lanes that hold it and those that wait for it.

    For a thread that is being joined, the owner is that thread.
    """

    resource: str
    owners: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordedStep:
    """One step: what a thread did, where, and what was so after it.

    `index` counts from 1, as in the text report; `thread` is a lane's id; `operation` the recorder's word, or
    `failure`, `deadlock` or `livelock` for the last step of an execution that breaks; `phrase` says it in
    words; `target`, `key` and `value` are as in `TraceStep`; `event` is False for what is no scheduling
    point; `matters` False for what the failure does not depend on. `location` is the innermost place and
    `call_site` the first-party call that led there (None if the location itself is first-party). `frames` are
    the active calls, innermost first, with the thread's local variables; `reads` and `changes` say which
    variables it read and changed; `holdings` what is held or waited for after it.
    """

    index: int
    thread: str
    operation: str
    phrase: str
    target: str | None = None
    key: str | None = None
    value: str | None = None
    location: SourceSpan | None = None
    call_site: SourceSpan | None = None
    event: bool = True
    matters: bool = True
    reads: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    frames: tuple[TraceFrame, ...] = ()
    holdings: tuple[Holding, ...] = ()


@dataclass(frozen=True)
class Waiting:
    """A time during which a thread could not go on: from after step `since` until step `until` (None: for ever).

    `target` is what it waited for, `phrase` says so in words, `frames` are its active calls, innermost first.
    """

    thread: str
    since: int
    until: int | None
    operation: str
    target: str | None
    phrase: str
    frames: tuple[TraceFrame, ...] = ()


@dataclass(frozen=True)
class Variable:
    """A piece of state that steps access: its readable name, its value before the first step that changes it.

    `initial` is None if it was not there (or not seen) before; `threads` are the lanes that access it.
    """

    name: str
    initial: str | None
    threads: tuple[str, ...] = ()

    @property
    def shared(self) -> bool:
        """True if more than one thread or task accesses it."""
        return len(self.threads) > 1


@dataclass(frozen=True)
class TraceFailure:
    """What broke: `step` is the index of the step at which it shows; the rest is as in `Violation`."""

    kind: ViolationKind
    code: Code
    message: str
    step: int
    thread: str | None
    location: SourceSpan | None
    pattern: Pattern | None = None
    traceback: str | None = None


@dataclass(frozen=True)
class TraceDocument:
    """One recorded execution of one model.

    `model` is its id (`bank.py::transfer`), `root` the folder that file names are relative to. `sources` has the text
    of every file that the trace points into, as it was when the trace was recorded. `changed` says that the model's
    code differs from the code that the schedule was made with; `divergence` explains at which step its operations
    no longer agree with the schedule, where the trace then ends (None if all agree).
    `output` is what the model printed.
    """

    model: str
    root: str
    schedule: str
    fingerprint: str
    failure: TraceFailure | None
    threads: tuple[Lane, ...]
    steps: tuple[RecordedStep, ...]
    variables: tuple[Variable, ...]
    waits: tuple[Waiting, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    changed: bool = False
    divergence: str | None = None
    output: str = ""
    version: int = TRACE_VERSION
