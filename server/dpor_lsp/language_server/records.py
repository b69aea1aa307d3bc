"""What the session knows of files and models: one mutable record each, changed in the event loop only."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types

from dpor.codes import Code
from dpor.counterexample.phrases import place_of
from dpor.results import ModelResult, Progress, Reason, Verdict
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.scheduler import Job
from dpor_lsp.language_server import wording
from dpor_lsp.language_server.analysis import ModelOutline, Outline
from dpor_lsp.language_server.environment import Environment
from dpor_lsp.language_server.findings import Finding


class State(enum.Enum):
    """What is true of a model at this moment."""

    UNCHECKED = "unchecked"
    QUEUED = "queued"
    CHECKING = "checking"
    VERIFIED = "verified"
    VIOLATED = "violated"
    INCOMPLETE = "incomplete"
    ERROR = "error"
    STALE = "stale"
    IGNORED = "ignored"

    @property
    def is_busy(self) -> bool:
        """True while a check waits or runs."""
        return self in (State.QUEUED, State.CHECKING)


STATE_OF = {
    Verdict.VERIFIED: State.VERIFIED,
    Verdict.VIOLATED: State.VIOLATED,
    Verdict.INCOMPLETE: State.INCOMPLETE,
    Verdict.ERROR: State.ERROR,
}


@dataclass(eq=False)
class ModelRecord:
    """One model: its outline in the text that was planned last, its state, its last result and what is shown of it.

    `place` spans the name and `block` the whole model, where they are now. `stale` says that what is shown is of
    another text, `outdated` that something `result` rests on has been edited since. `target` is what `result`, or
    the running `job`, is about.
    """

    uri: str
    path: Path
    outline: ModelOutline
    place: types.Range
    block: types.Range
    state: State = State.UNCHECKED
    target: CheckTarget | None = None
    environment: Environment | None = None
    result: ModelResult | None = None
    reason: Reason | None = None
    note: str | None = None
    findings: tuple[Finding, ...] = ()
    stale: bool = False
    outdated: bool = False
    job: Job | None = None
    started: float = 0.0
    progress: Progress | None = None
    provisional: ModelResult | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self.outline.info.name

    @property
    def identity(self) -> str:
        """`file.py::name`."""
        return self.outline.info.id

    @property
    def shown(self) -> ModelResult | None:
        """The result that is shown: what a replay has just found, else the last one."""
        return self.provisional or self.result

    @property
    def expected(self) -> bool:
        """True if the result is the one that the model's author expects."""
        return self.shown is not None and self.shown.as_expected

    @property
    def found_by_reading(self) -> bool:
        """True if what is shown was found by reading the text, without a result."""
        return self.result is None and all(item.code is Code.ASSUMPTION for item in self.findings)

    def data(self) -> dict[str, str]:
        """What a diagnostic carries to find its model again."""
        return {"id": self.identity, "uri": self.uri, "name": self.name}

    def message(self) -> str:
        """The state in words."""
        result = self.shown
        if self.state is State.IGNORED:
            return f"ignored: {self.outline.ignored}"
        if self.state is State.QUEUED:
            return "queued"
        if self.state is State.CHECKING:
            found = "; a known counterexample still breaks it" if self.provisional is not None else ""
            return f"checking: {wording.progress_text(self.progress)}{found}"
        if self.state is State.STALE:
            former = f" (was {wording.headline(result)})" if result is not None else ""
            return f"stale: changed since the last check{former}"
        if self.state is State.ERROR and result is None and self.reason is not None:
            return f"error: {self.reason.message}"
        if result is not None and self.state is not State.UNCHECKED:
            return wording.headline(result)
        return f"unchecked: {self.note}" if self.note else "unchecked"

    def to_json(self) -> dict[str, Any]:
        """The model's state as `dpor/status` and `dpor/models` give it."""
        result = self.shown
        options = {**self.outline.info.options, **(self.target.request.options if self.target else {})}
        progress = self.progress if self.state is State.CHECKING else None
        counted: Any = progress or result
        done = 0 if counted is None else counted.executions + counted.blocked + counted.redundant
        seconds = 0.0 if counted is None else counted.seconds
        reason = (result.reason if result is not None else None) or self.reason
        return {
            "id": self.identity,
            "uri": self.uri,
            "name": self.name,
            "range": _range(self.place),
            "state": self.state.value,
            "expected": self.expected,
            "executions": counted.executions if counted is not None else 0,
            "blocked": counted.blocked if counted is not None else 0,
            "redundant": counted.redundant if counted is not None else 0,
            "rate": round(done / seconds) if seconds > 0 else 0,
            "seconds": seconds,
            "fraction": progress.fraction if progress is not None else None,
            "algorithm": result.algorithm if result is not None else str(options.get("algorithm", "optimal")),
            "memoryModel": (
                result.memory_model if result is not None else str(options.get("memory_model", "sc"))
            ),
            "cached": result.cached if result is not None else False,
            "message": self.message(),
            "reason": None
            if reason is None
            else {"code": reason.code.value, "message": reason.message, "fix": reason.fix},
            "violations": self._violations(),
        }

    def _violations(self) -> list[dict[str, Any]]:
        result = self.shown
        if result is None or self.state is State.IGNORED or self.stale:
            return []
        shown: list[dict[str, Any]] = []
        for index, violation in enumerate(result.violations):
            primary = next((item for item in self.findings if item.violation == index), None)
            matter = [step for step in violation.trace if step.matters and place_of(step) is not None]
            related = primary.related if primary is not None else ()
            shown.append(
                {
                    "kind": violation.kind.value,
                    "code": violation.code.value,
                    "message": primary.message if primary is not None else violation.message,
                    "uri": primary.uri if primary is not None else self.uri,
                    "range": _range(primary.range if primary is not None else self.place),
                    "schedule": violation.schedule,
                    "steps": [
                        {
                            "thread": step.thread,
                            "text": item.message,
                            "uri": item.uri,
                            "range": _range(item.range),
                        }
                        for step, item in zip(matter, related, strict=False)
                    ],
                }
            )
        return shown


@dataclass(eq=False)
class FileRecord:
    """One file: its models by name, what is wrong with the file as a whole, and what is being found out about it.

    `read` is the time (as time.time gives it) of the texts that it was planned with.
    """

    uri: str
    path: Path
    outline: Outline = field(default_factory=Outline)
    text: str | None = None
    models: dict[str, ModelRecord] = field(default_factory=dict[str, ModelRecord])
    findings: tuple[Finding, ...] = ()
    generation: int = 0
    wanted: Wanted | None = None
    read: float = 0.0

    @property
    def problem(self) -> Reason | None:
        """Why the file cannot be read, if so."""
        return self.outline.problem


@dataclass
class Wanted:
    """What has been asked for and is not planned yet: whether to run checks, of which models (None: of all).

    `force` checks again what is known; `options` are overrides for single models; `called_off` are models whose check
    was cancelled before it began.
    """

    run: bool = False
    only: set[str] | None = None
    force: bool = False
    options: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    called_off: set[str] = field(default_factory=set[str])

    def asks_for(self, model: str) -> bool:
        """True if a model is to be checked."""
        return self.run and (self.only is None or model in self.only) and model not in self.called_off

    def call_off(self, model: str) -> None:
        """No longer check a model, unless it is asked for again."""
        self.called_off.add(model)

    def add(self, other: Wanted) -> None:
        """Ask for something more."""
        if other.run:
            self.called_off = set() if other.only is None else self.called_off - other.only
        if other.run and not self.run:
            self.only = other.only
        elif other.run:
            self.only = None if self.only is None or other.only is None else self.only | other.only
        self.run = self.run or other.run
        self.force = self.force or other.force
        self.options.update(other.options)


def _range(place: types.Range) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": place.start.line, "character": place.start.character},
        "end": {"line": place.end.line, "character": place.end.character},
    }


UNTRUSTED = "the workspace is not trusted, so nothing in it is run"
