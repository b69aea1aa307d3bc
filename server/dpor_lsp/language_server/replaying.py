"""Walking a counterexample in any editor: one step after another, with its values at the ends of lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from dpor.counterexample.phrases import place_of
from dpor.results import TraceStep
from dpor_lsp.language_server import wording
from dpor_lsp.language_server.findings import Finding, Related
from dpor_lsp.language_server.records import ModelRecord

if TYPE_CHECKING:
    from dpor_lsp.language_server.session import Session


@dataclass
class Replay:
    """A counterexample that is being walked; `position` counts its steps from 0."""

    record: ModelRecord
    violation: int
    schedule: str
    position: int = 0


@dataclass(frozen=True)
class ShownStep:
    """A step of a counterexample at the place where it is now."""

    step: TraceStep
    place: Related


class Replays:
    """The counterexample that is being walked, if any."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._active: Replay | None = None

    def start(self, record: ModelRecord, violation: int) -> ShownStep | None:
        """Go to the first step of a counterexample; None if the model has no such counterexample any more."""
        finding = _finding(record, violation)
        if finding is None or finding.schedule is None:
            return None
        self._active = Replay(record, violation, finding.schedule)
        return self._show()

    def go(self, record: ModelRecord, steps: int) -> ShownStep | None:
        """Go so many steps forwards (backwards if negative) in the walk through a model's counterexample."""
        active = self.of(record)
        if active is None:
            return None
        last = len(self.steps(active)) - 1
        active.position = min(max(active.position + steps, 0), last)
        return self._show()

    def stop(self, uri: str | None = None) -> None:
        """End the walk (with `uri`: if it is one of that document's models)."""
        if self._active is not None and uri in (None, self._active.record.uri):
            self._active = None
            self._session.publisher.refresh()

    def of(self, record: ModelRecord) -> Replay | None:
        """The walk through a counterexample of this model; one whose counterexample is gone has ended."""
        active = self._active
        return active if active is not None and active.record is record and self.steps(active) else None

    def steps(self, replay: Replay) -> list[ShownStep]:
        """The steps that matter; empty once the counterexample has been replaced by another result."""
        finding = _finding(replay.record, replay.violation)
        result = replay.record.shown
        if finding is None or result is None or finding.schedule != replay.schedule:
            return []
        trace = result.violations[replay.violation].trace
        matter = [step for step in trace if step.matters and place_of(step) is not None]
        return [ShownStep(step, place) for step, place in zip(matter, finding.related, strict=False)]

    def values(self, uri: str, lines: types.Range) -> list[tuple[types.Range, str]]:
        """What the steps so far did, the last on each line of a document: places and texts."""
        active = self._active
        if active is None:
            return []
        steps = self.steps(active)[: active.position + 1]
        return _by_line(steps, uri, lines)

    def _show(self) -> ShownStep | None:
        active = self._active
        steps = self.steps(active) if active is not None else []
        self._session.publisher.refresh()
        return steps[active.position] if active is not None and steps else None


def _by_line(steps: Iterable[ShownStep], uri: str, lines: types.Range) -> list[tuple[types.Range, str]]:
    found: dict[int, tuple[types.Range, str]] = {}
    for item in steps:
        line = item.place.range.end.line
        if item.place.uri == uri and lines.start.line <= line <= lines.end.line:
            found[line] = (item.place.range, f"{item.step.step}. {wording.value_text(item.step)}")
    return [found[line] for line in sorted(found)]


def _finding(record: ModelRecord, violation: int) -> Finding | None:
    return next((item for item in record.findings if item.violation == violation and item.related), None)
