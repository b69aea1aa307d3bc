"""Requests that look at what is so where the session stands."""

from __future__ import annotations

from typing import Any

from dpor_lsp.debug_adapter import scopes
from dpor_lsp.debug_adapter.answers import (
    Answer,
    Arguments,
    RefusedError,
    mapping,
    number,
    optional_number,
    shown,
)
from dpor_lsp.debug_adapter.evaluation import recorded_value
from dpor_lsp.debug_adapter.session import Session

_MOST_FRAMES = 16


def threads(session: Session, _: Arguments) -> Answer:
    """List the threads and tasks that are alive now, each with what it waits for."""
    timeline, _sources = session.ready()
    found: list[dict[str, Any]] = []
    for lane in timeline.alive(session.position):
        wait = timeline.waiting(lane.id, session.position)
        name = lane.id if lane.name == lane.id else f"{lane.name} ({lane.id})"
        found.append(
            {
                "id": timeline.number(lane.id),
                "name": f"{name}: {wait.phrase}" if wait is not None else name,
            }
        )
    return {"threads": found}, None


def stack_trace(session: Session, given: Arguments) -> Answer:
    """Give the active calls of a thread."""
    timeline, sources = session.ready()
    lane = session.lane(given)
    thread = timeline.number(lane)
    found: list[dict[str, Any]] = []
    for depth, frame in enumerate(timeline.frames(lane, session.position)[:_MOST_FRAMES]):
        place = frame.location
        described: dict[str, Any] = {
            "id": scopes.frame_id(thread, depth),
            "name": frame.function,
            "line": session.to_client(place.line),
            "column": session.to_client(place.column, "columnsStartAt1"),
        }
        if place.file in timeline.document.sources or sources.is_file(place.file):
            described["source"] = _describe_source(session, place.file)
        if place.end_line is not None and place.end_column is not None:
            described["endLine"] = session.to_client(place.end_line)
            described["endColumn"] = session.to_client(place.end_column, "columnsStartAt1")
        if not frame.first_party:
            described["presentationHint"] = "subtle"
        found.append(described)
    if not found:
        last = timeline.step(session.position)
        name = last.phrase if last.thread == lane else "has not done anything yet"
        found.append(
            {
                "id": scopes.frame_id(thread, 0),
                "name": name,
                "line": 0,
                "column": 0,
                "presentationHint": "label",
            }
        )
    total = len(found)
    first = max(0, optional_number(given, "startFrame", 0))
    levels = optional_number(given, "levels", 0)
    return {
        "stackFrames": found[first : first + levels if levels > 0 else None],
        "totalFrames": total,
    }, None


def _describe_source(session: Session, name: str) -> dict[str, Any]:
    timeline, sources = session.ready()
    if name in timeline.document.sources:
        return sources.describe(name)
    path = sources.path(name)
    return {"name": path.name, "path": str(path)}


def scopes_of_frame(session: Session, given: Arguments) -> Answer:
    """Give the groups of variables of a frame."""
    timeline, _ = session.ready()
    frame = number(given, "frameId")
    if not 1 <= scopes.frame_of(frame)[0] <= len(timeline.lanes):
        raise RefusedError(f"there is no frame {frame}")
    return {"scopes": scopes.scopes(frame)}, None


def variables(session: Session, given: Arguments) -> Answer:
    """Give the variables of a group."""
    timeline, _ = session.ready()
    reference = number(given, "variablesReference")
    try:
        found = scopes.variables(timeline, reference, session.position)
    except ValueError as error:
        raise RefusedError(f"there are no variables {reference}") from error
    first = max(0, optional_number(given, "start", 0))
    count = optional_number(given, "count", 0)
    return {"variables": found[first : first + count if count > 0 else None]}, None


def evaluate(session: Session, given: Arguments) -> Answer:
    """Look a name up in what was recorded; nothing is ever run."""
    timeline, _ = session.ready()
    expression = str(given.get("expression", ""))
    local = scopes.locals_of(timeline, session.frame_number(given), session.position)
    value = recorded_value(timeline, expression, session.position, local)
    if value is None:
        raise RefusedError(
            f"{shown(expression.strip())} was not recorded: names of variables can be asked for, nothing is run"
        )
    return {"result": value, "variablesReference": 0}, None


def exception_info(session: Session, given: Arguments) -> Answer:
    """Tell of the failure, in the thread where it shows."""
    timeline, _ = session.ready()
    failure = timeline.document.failure
    if failure is None or failure.step != session.position:
        raise RefusedError("nothing breaks at this step")
    pattern = f" ({failure.pattern.value})" if failure.pattern is not None else ""
    lines = [failure.message]
    if failure.kind.is_standstill:
        waits = (timeline.waiting(lane.id, session.position) for lane in timeline.lanes)
        lines += [f"{wait.thread} {wait.phrase}" for wait in waits if wait is not None]
    details: dict[str, Any] = {"message": failure.message, "typeName": failure.kind.value}
    if failure.traceback is not None:
        details["stackTrace"] = failure.traceback
    return {
        "exceptionId": f"{failure.code.value} {failure.kind.value}{pattern}",
        "description": "\n".join(lines),
        "breakMode": "unhandled",
        "details": details,
    }, None


def source(session: Session, given: Arguments) -> Answer:
    """Give the recorded text of a file."""
    _, sources = session.ready()
    reference: Any = mapping(given.get("source")).get("sourceReference", given.get("sourceReference"))
    text = sources.text(reference) if type(reference) is int else None
    if text is None:
        raise RefusedError(f"no recorded source has the reference {reference}")
    return {"content": text, "mimeType": "text/x-python"}, None


def loaded_sources(session: Session, _: Arguments) -> Answer:
    """List the files that the trace points into."""
    _timeline, sources = session.ready()
    return {"sources": sources.all()}, None
