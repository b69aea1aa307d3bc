"""What a check takes and gives: plain data that crosses processes and is kept in the cache.

Every class is a frozen dataclass; `VERSION` changes whenever a field changes its meaning. `to_json` gives the
JSON shape of the report (lower-case enum values, lists for tuples), `from_json` reads it back.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dpor.codes import Code

VERSION = 3

Record = TypeVar("Record")


class Verdict(enum.Enum):
    """What a check says of a model."""

    VERIFIED = "verified"
    VIOLATED = "violated"
    INCOMPLETE = "incomplete"
    ERROR = "error"


class ViolationKind(enum.Enum):
    """What went wrong in an execution."""

    ASSERTION = "assertion"
    EXCEPTION = "exception"
    DEADLOCK = "deadlock"
    LIVELOCK = "livelock"
    MISUSE = "misuse"
    DATA_RACE = "data-race"

    @property
    def is_standstill(self) -> bool:
        """True if nothing was raised: threads wait, or go round in a loop, for ever."""
        return self in (ViolationKind.DEADLOCK, ViolationKind.LIVELOCK)


class Pattern(enum.Enum):
    """A known shape of concurrency bug."""

    LOST_UPDATE = "lost update"
    CHECK_THEN_ACT = "check-then-act"
    LOCK_ORDER_INVERSION = "lock-order inversion"
    LOST_WAKEUP = "lost wakeup"
    WRITE_SKEW = "write skew"


@dataclass(frozen=True)
class SourceSpan:
    """A piece of a source file; lines and columns are 1-based, the end column is one past the last character."""

    file: str
    line: int
    column: int = 1
    end_line: int | None = None
    end_column: int | None = None


@dataclass(frozen=True)
class TraceStep:
    """One visible operation of a recorded execution, in the order in which it happened.

    `step` counts from 1; `thread` is the spawn path; `operation` one of the recorder's words; `target` a readable
    name such as `Account#1.balance`; `value` the repr of what was read or written (None if there is none);
    `matters` is False for a step that the failure does not depend on; `held` names the locks that the thread holds
    after the step; `function` is the name of the enclosing function; `call_site` where first-party code called into
    code that is not first-party (None if the location itself is first-party). `source` says from which write a step got
    what it read, if that is not the latest one before it: memory models other than `sc` allow that.
    """

    step: int
    thread: str
    operation: str
    target: str | None
    value: str | None
    location: SourceSpan | None
    matters: bool = True
    held: tuple[str, ...] = ()
    function: str | None = None
    call_site: SourceSpan | None = None
    source: str | None = None


@dataclass(frozen=True)
class WaitingThread:
    """A thread that waits for ever: for what, where, what it holds and which thread holds what it waits for.

    `task` is the name of the task that waits, if the thread runs an event loop: each of its tasks is an item then.
    """

    thread: str
    operation: str
    target: str | None
    location: SourceSpan | None
    held: tuple[str, ...] = ()
    waits_for: str | None = None
    task: str | None = None


@dataclass(frozen=True)
class CallSite:
    """An active call: where it stands, in which function, and whether that is code of the project."""

    location: SourceSpan
    function: str
    first_party: bool = True


@dataclass(frozen=True)
class Violation:
    """A property that some schedule breaks, with the counterexample.

    `values` are numbers for the symbolic values, by name, that lead to it; `path_condition` says in Python syntax what
    of them led to it. `calls` are those that were active where an exception was raised, innermost first, as far as they
    belong to the model or to an instrumented package.
    """

    kind: ViolationKind
    code: Code
    message: str
    location: SourceSpan | None
    schedule: str
    trace: tuple[TraceStep, ...] = ()
    thread: str | None = None
    pattern: Pattern | None = None
    waiting: tuple[WaitingThread, ...] = ()
    traceback: str | None = None
    calls: tuple[CallSite, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    path_condition: tuple[str, ...] = ()


class AssumptionKind(enum.Enum):
    """What a verdict can rest on beyond what was explored; the values are those of the kernel.

    Calls of code that is not instrumented were taken as one operation each, or ran without being seen; objects end
    later than they would; containers keep their order under a memory model that does not say so; values were drawn from
    a fixed seed, or are those of this machine and moment; a thread was given a generator function, which runs nothing;
    a class, a function, an object's class or what a module of the library keeps is changed while other threads run; a
    function is registered for the end of the process, which no execution comes to; two threads use an object that is
    made for one; a thread reads what raising an exception stores in it; nobody asks for the exception of a task;
    a thread imports a module of the model while others run; a loop looks at a clock until a moment has come, which
    does so by growing steps; a clock moves by sleeps and time-outs alone, or by so many jumps; a program is shown
    a number that depends on memory, on a seed, or on which thread came first, or an order that such numbers decide.
    """

    FOREIGN_CODE = "foreign-code"
    UNSEEN_CODE = "unseen-code"
    OBJECT_END = "object-end"
    CONTAINER_ORDER = "container-order"
    DRAWN_VALUE = "drawn-value"
    FIXED_WORLD = "fixed-world"
    UNRUN_GENERATOR = "unrun-generator"
    CHANGED_DEFINITION = "changed-definition"
    UNRUN_AT_EXIT = "unrun-at-exit"
    THREAD_UNSAFE = "thread-unsafe"
    EXCEPTION_STATE = "exception-state"
    LOST_EXCEPTION = "lost-exception"
    KEPT_STATE = "kept-state"
    LATE_IMPORT = "late-import"
    POLLED_CLOCK = "polled-clock"
    FIXED_CLOCK = "fixed-clock"
    CLOCK_JUMPS = "clock-jumps"
    DRAWN_NUMBER = "drawn-number"
    HASH_ORDER = "hash-order"


@dataclass(frozen=True)
class Assumption:
    """Something that a verdict rests on: what it is about (such as a package), in words, and how to do without it.

    `location` is where in first-party code it was made first, None if that was not in first-party code.
    """

    kind: AssumptionKind
    subject: str
    message: str
    fix: str = ""
    location: SourceSpan | None = None


@dataclass(frozen=True)
class Reason:
    """Why a verdict is `incomplete` or `error`: code, message, how to fix it, and where."""

    code: Code
    message: str
    fix: str = ""
    location: SourceSpan | None = None


@dataclass(frozen=True)
class ModelInfo:
    """A model as found in its file without running it; `parameters` are the defaults that are literals."""

    file: str
    name: str
    line: int
    column: int
    end_line: int
    end_column: int
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def id(self) -> str:
        """`file.py::name`, as the command line takes it."""
        return f"{self.file}::{self.name}"


@dataclass(frozen=True)
class CheckRequest:
    """Ask for one model to be checked.

    `file` is the path of the model's file, `root` the folder that counts as first-party and that spans are made
    relative to; `parameters` override defaults; `options` override those of the decorator (algorithm, k,
    memory_model, max_steps, max_executions, preemption_bound, timeout, races, seed...); `source`, if given, is
    checked instead of the file's content, and `overlays` (absolute path to text) instead of other files' contents.
    """

    file: str
    model: str
    root: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    all_violations: bool = False
    source: str | None = None
    overlays: Mapping[str, str] = field(default_factory=dict[str, str])
    version: int = VERSION


@dataclass(frozen=True)
class ReplayRequest:
    """Ask for one schedule to be replayed on a model; `source` and `overlays` are those of CheckRequest."""

    file: str
    model: str
    root: str
    schedule: str
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: str | None = None
    overlays: Mapping[str, str] = field(default_factory=dict[str, str])
    version: int = VERSION


@dataclass(frozen=True)
class TraceRequest(ReplayRequest):
    """Ask for one schedule to be replayed on a model and recorded in full."""


@dataclass(frozen=True)
class Progress:
    """How far a check is: executions so far, seconds so far, and the estimated explored share (0 to 1)."""

    executions: int
    blocked: int
    redundant: int
    events: int
    seconds: float
    fraction: float


@dataclass(frozen=True)
class Coverage:
    """Lines of the functions in the model's file that ran at all: how many were reached in some execution, and the
    numbers of those that were not, from 1.
    """

    reached: int
    missed: tuple[int, ...] = ()


@dataclass(frozen=True)
class ModelResult:
    """The outcome of checking one model, in the shape of the JSON report.

    `classes` counts the classes of the algorithm's own equivalence, for `value-centric` alone. `warnings` are findings
    that do not count against the model (data races under `races="warn"`). `strict` says that the model's options accept
    no assumptions. `contents` are the values of what it rests on outside of the check, by key (see `dpor.contents`);
    `dependencies` name those files of it that are to be watched. `coverage` is None if it is not known, as when several
    processes shared the check.
    """

    id: str
    file: str
    line: int
    parameters: Mapping[str, Any]
    verdict: Verdict
    reason: Reason | None = None
    algorithm: str = "optimal"
    memory_model: str = "sc"
    cached: bool = False
    executions: int = 0
    blocked: int = 0
    redundant: int = 0
    classes: int | None = None
    events: int = 0
    seconds: float = 0.0
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    expect: Verdict | None = None
    assumptions: tuple[Assumption, ...] = ()
    strict: bool = False
    dependencies: tuple[str, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict[str, str])
    coverage: Coverage | None = None
    output: str = ""
    version: int = VERSION

    @property
    def as_expected(self) -> bool:
        """True if the verdict is the one that the model's `expect` names (`verified` if it names none)."""
        return self.verdict is (self.expect or Verdict.VERIFIED)


@dataclass(frozen=True)
class ReplayResult:
    """What following a schedule gave: the violation seen (None if there was none) and the steps taken.

    `changed` says that the model's code differs from the code that the schedule was made with; `divergence`
    explains the first step at which the operations no longer agree (None if all agreed).
    """

    violation: Violation | None
    trace: tuple[TraceStep, ...]
    changed: bool = False
    divergence: str | None = None
    version: int = VERSION


def to_json(value: Any) -> Any:
    """Turn a result (or any value made of dataclasses, enums, mappings and sequences) into JSON-ready data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        mapping = typing.cast("Mapping[Any, Any]", value)
        return {str(key): to_json(item) for key, item in mapping.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in typing.cast("list[Any]", value)]
    return value


def from_json(cls: type[Record], data: Any) -> Record:
    """Read back what `to_json` made of an instance of the dataclass `cls`.

    Raises ValueError, TypeError or KeyError if the data does not have the shape of `cls`; unknown keys are ignored.
    """
    return typing.cast(Record, _read(cls, data))


def _read(annotation: Any, data: Any) -> Any:
    origin = typing.get_origin(annotation)
    if annotation is Any:
        return data
    if origin in (types.UnionType, typing.Union):
        if data is None:
            return None
        options = [option for option in typing.get_args(annotation) if option is not type(None)]
        return _read(options[0], data)
    if origin is tuple:
        return tuple(_read(typing.get_args(annotation)[0], item) for item in data)
    if origin is not None and issubclass(origin, Mapping):
        return dict(data)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation)
        present = {item.name for item in dataclasses.fields(annotation)} & set(data)
        return annotation(**{name: _read(hints[name], data[name]) for name in present})
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return annotation(data)
    if annotation is float:
        return float(data)
    plain = typing.cast(type[object], annotation)
    if not isinstance(data, plain):
        raise TypeError(f"expected {plain.__name__}, got {data!r}")
    return data
