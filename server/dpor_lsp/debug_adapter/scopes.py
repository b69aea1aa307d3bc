"""What the editor shows beside the code: local variables, shared state, locks and the schedule, at a position.

A reference to a group of variables says by itself what it stands for, so that requests in any order, or for a position
that has been left, can do no harm: `kind + 8 * (depth + 16 * lane)`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from dpor.counterexample.trace_document import Holding, RecordedStep, Variable
from dpor_lsp.debug_adapter.timeline import Timeline

_KINDS = 8
_DEPTHS = 16


class Group(enum.IntEnum):
    """A group of variables; the values are part of references."""

    LOCALS = 1
    SHARED = 2
    UNSHARED = 3
    LOCKS = 4
    SCHEDULE = 5
    STEPS = 6


_NAMES = {
    Group.LOCALS: "Locals",
    Group.SHARED: "Shared state",
    Group.LOCKS: "Locks",
    Group.SCHEDULE: "Schedule",
}


def frame_id(lane: int, depth: int) -> int:
    """The number of a frame: `lane` counts from 1, `depth` from 0."""
    return min(depth, _DEPTHS - 1) + _DEPTHS * lane


def frame_of(number: int) -> tuple[int, int]:
    """The lane and the depth of a frame's number."""
    lane, depth = divmod(number, _DEPTHS)
    return lane, depth


def scopes(frame: int) -> list[dict[str, Any]]:
    """The protocol's scopes of a frame."""
    found: list[dict[str, Any]] = []
    for group, name in _NAMES.items():
        scope = {"name": name, "variablesReference": group + _KINDS * frame, "expensive": False}
        if group is Group.LOCALS:
            scope["presentationHint"] = "locals"
        found.append(scope)
    return found


def group_of(reference: int) -> tuple[Group, int]:
    """The group and the frame that a reference stands for. Raises ValueError if it stands for none."""
    frame, kind = divmod(reference, _KINDS)
    return Group(kind), frame


def variables(timeline: Timeline, reference: int, position: int) -> list[dict[str, Any]]:
    """The variables of a group. Raises ValueError for a reference that stands for none."""
    group, frame = group_of(reference)
    if group is Group.LOCALS:
        return [_plain(name, value, name) for name, value in locals_of(timeline, frame, position).items()]
    if group is Group.SHARED:
        state = list(_state(timeline, position, shared=True))
        others = sum(1 for _ in _state(timeline, position, shared=False))
        if others:
            count = f"{others} variable{'s' if others > 1 else ''}"
            state.append(
                {
                    "name": "(used by one thread only)",
                    "value": count,
                    "variablesReference": Group.UNSHARED + _KINDS * frame,
                }
            )
        return state
    if group is Group.UNSHARED:
        return list(_state(timeline, position, shared=False))
    if group is Group.LOCKS:
        return [_plain(item.resource, describe_holding(item)) for item in timeline.step(position).holdings]
    if group is Group.SCHEDULE:
        return list(_schedule(timeline, position, frame))
    return [_plain(str(step.index), _summary(step)) for step in timeline.steps]


def locals_of(timeline: Timeline, frame: int, position: int) -> dict[str, str]:
    """The local variables of a frame at a position; none if there is no such frame."""
    lane, depth = frame_of(frame)
    if not 1 <= lane <= len(timeline.lanes):
        return {}
    frames = timeline.frames(timeline.lanes[lane - 1].id, position)
    return {item.name: item.value for item in frames[depth].locals} if depth < len(frames) else {}


def describe_holding(item: Holding) -> str:
    """Who holds a thing and who waits for it, in words."""
    joined = item.owners == (item.resource,)
    owned = "still runs" if joined else f"held by {', '.join(item.owners)}" if item.owners else ""
    waits = "waits" if len(item.waiting) == 1 else "wait"
    waiting = f"{', '.join(item.waiting)} {waits} for it" if item.waiting else ""
    return "; ".join(filter(None, (owned, waiting)))


def _state(timeline: Timeline, position: int, *, shared: bool) -> Iterator[dict[str, Any]]:
    for variable in timeline.document.variables:
        if variable.shared is shared:
            yield from _variable(timeline, variable, position)


def _variable(timeline: Timeline, variable: Variable, position: int) -> Iterator[dict[str, Any]]:
    value = timeline.value(variable.name, position)
    change = timeline.change(variable.name, position)
    if change is not None:
        before = "not there" if change.before is None else change.before
        yield _plain(variable.name, f"{'gone' if value is None else value}  (was {before})", variable.name)
    elif value is not None:
        yield _plain(variable.name, value, variable.name)


def _schedule(timeline: Timeline, position: int, frame: int) -> Iterator[dict[str, Any]]:
    step = timeline.step(position)
    yield _plain("step", f"{position} of {timeline.end}")
    yield _plain("now", _summary(step))
    if position > 1:
        yield _plain("before", _summary(timeline.step(position - 1)))
    if position < timeline.end:
        yield _plain("next", _summary(timeline.step(position + 1)))
    yield _plain("matters", "yes" if step.matters else "no: the failure does not depend on it")
    failure = timeline.document.failure
    if failure is not None:
        yield _plain("failure", f"step {failure.step}: {failure.message}")
    yield {
        "name": "all steps",
        "value": f"{timeline.end} steps",
        "variablesReference": Group.STEPS + _KINDS * frame,
        "indexedVariables": timeline.end,
    }


def _summary(step: RecordedStep) -> str:
    return f"{step.thread} {step.phrase}" if step.phrase else step.thread


def _plain(name: str, value: str, expression: str | None = None) -> dict[str, Any]:
    variable: dict[str, Any] = {"name": name, "value": value, "variablesReference": 0}
    if expression is not None:
        variable["evaluateName"] = expression
    return variable
