"""Requests that say where stepping stops: at lines, at variables, at kinds of steps."""

from __future__ import annotations

from typing import Any

from dpor_lsp.debug_adapter import scopes
from dpor_lsp.debug_adapter.answers import (
    Answer,
    Arguments,
    RefusedError,
    mapping,
    mappings,
    number,
    optional_number,
)
from dpor_lsp.debug_adapter.evaluation import variable_of
from dpor_lsp.debug_adapter.session import Session
from dpor_lsp.debug_adapter.timeline import Access, Watch

_DATA = "variable:"

FILTERS = (
    {"filter": "switches", "label": "Thread switches", "description": "Stop where another thread goes on"},
    {"filter": "waits", "label": "Waiting", "description": "Stop where a thread begins to wait"},
    {"filter": "matters", "label": "Steps that matter", "description": "Stop at what the failure depends on"},
)


def set_breakpoints(session: Session, given: Arguments) -> Answer:
    """Replace the line breakpoints of one file."""
    asked = mappings(given.get("breakpoints")) or [{"line": line} for line in given.get("lines") or ()]
    lines = [(session.new_number(), session.from_client(number(item, "line"))) for item in asked]
    taken = session.lines.replace(dict(mapping(given.get("source"))), lines)
    if session.sources is not None:
        session.breakpoints.lines = session.lines.resolve(session.sources)
    return {"breakpoints": [session.describe(one) for one in taken]}, None


def breakpoint_locations(session: Session, given: Arguments) -> Answer:
    """List the lines on which a breakpoint can stop."""
    timeline, sources = session.ready()
    name = sources.name(given.get("source"))
    first = session.from_client(number(given, "line"))
    last = session.from_client(optional_number(given, "endLine", session.to_client(first)))
    lines = timeline.lines_of(name) if name is not None else []
    return {
        "breakpoints": [{"line": session.to_client(line)} for line in lines if first <= line <= last]
    }, None


def data_breakpoint_info(session: Session, given: Arguments) -> Answer:
    """Say whether a variable can be watched."""
    timeline, _ = session.ready()
    text = str(given.get("name", ""))
    reference = given.get("variablesReference")
    frame = session.frame_number(given)
    if type(reference) is int and reference > 0:
        try:
            frame = scopes.group_of(reference)[1]
        except ValueError as error:
            raise RefusedError(f"there are no variables {reference}") from error
    local = scopes.locals_of(timeline, frame, session.position)
    name = variable_of(timeline, text, session.position, local)
    if name is None:
        return {
            "dataId": None,
            "description": f"{text} is no state that steps of the recording access",
        }, None
    return {
        "dataId": _DATA + name,
        "description": name,
        "accessTypes": [access.value for access in Access],
        "canPersist": True,
    }, None


def set_data_breakpoints(session: Session, given: Arguments) -> Answer:
    """Replace the data breakpoints."""
    watches: dict[int, Watch] = {}
    told: list[dict[str, Any]] = []
    for item in mappings(given.get("breakpoints")):
        identity = session.new_number()
        name = str(item.get("dataId", "")).removeprefix(_DATA)
        try:
            watch = Watch(name, Access(item.get("accessType", Access.WRITE.value)))
        except ValueError:
            told.append({"id": identity, "verified": False, "message": "unknown kind of access"})
            continue
        known = session.timeline is None or session.timeline.has_variable(name)
        if known:
            watches[identity] = watch
        message = {} if known else {"message": f"the recording does not access {name}"}
        told.append({"id": identity, "verified": known, **message})
    session.breakpoints.watches = watches
    return {"breakpoints": told}, None


def set_exception_breakpoints(session: Session, given: Arguments) -> Answer:
    """Choose the kinds of steps to stop at."""
    names = [str(name) for name in given.get("filters") or ()]
    chosen = [*names, *(str(option.get("filterId")) for option in mappings(given.get("filterOptions")))]
    session.breakpoints.switches = "switches" in chosen
    session.breakpoints.waits = "waits" in chosen
    session.breakpoints.matters = "matters" in chosen
    return {"breakpoints": [{"verified": True} for _ in chosen]}, None
