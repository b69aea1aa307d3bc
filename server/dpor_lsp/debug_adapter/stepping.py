"""Requests that move through the recording."""

from __future__ import annotations

from dpor_lsp.debug_adapter.answers import (
    Answer,
    Arguments,
    RefusedError,
    number,
)
from dpor_lsp.debug_adapter.session import Session
from dpor_lsp.debug_adapter.timeline import Stop


def next_line(session: Session, given: Arguments) -> Answer:
    """Go to the next line of the schedule, or one operation on if the client steps by instructions."""
    return _line(session, given, 1)


def step_back(session: Session, given: Arguments) -> Answer:
    """Go to the line before in the schedule, or one operation back."""
    return _line(session, given, -1)


def _line(session: Session, given: Arguments, direction: int) -> Answer:
    timeline, _ = session.ready()
    lane = session.lane(given) if given.get("singleThread") else None
    move = timeline.by_operation if given.get("granularity") == "instruction" else timeline.by_line
    return session.moved(move(session.position, direction, lane), "step")


def step_in(session: Session, given: Arguments) -> Answer:
    """Take one operation."""
    timeline, _ = session.ready()
    lane = session.lane(given) if given.get("singleThread") else None
    return session.moved(timeline.by_operation(session.position, 1, lane), "step")


def step_out(session: Session, _: Arguments) -> Answer:
    """Go on to where another thread takes its turn."""
    timeline, _sources = session.ready()
    return session.moved(timeline.by_turn(session.position), "step")


def go_on(session: Session, _: Arguments) -> Answer:
    """Go on to the next breakpoint, or to the end."""
    timeline, _sources = session.ready()
    stop = timeline.run(session.position, 1, session.breakpoints)
    return {"allThreadsContinued": True}, lambda: session.stop(stop)


def reverse_continue(session: Session, _: Arguments) -> Answer:
    """Go back to the breakpoint before, or to the beginning."""
    timeline, _sources = session.ready()
    stop = timeline.run(session.position, -1, session.breakpoints)
    return None, lambda: session.stop(stop)


def pause(session: Session, _: Arguments) -> Answer:
    """Say where the session stands: a recording does not run by itself."""
    session.ready()
    position = session.position
    return None, lambda: session.stop(Stop(position, "pause"))


def goto_targets(session: Session, given: Arguments) -> Answer:
    """List the steps of a line."""
    timeline, sources = session.ready()
    name = sources.name(given.get("source"))
    line = session.from_client(number(given, "line"))
    found = timeline.steps_on(name, line) if name is not None else []
    targets = [
        {
            "id": index,
            "label": f"step {index}: {timeline.step(index).thread} {timeline.step(index).phrase}",
            "line": session.to_client(line),
        }
        for index in found
    ]
    return {"targets": targets}, None


def goto(session: Session, given: Arguments) -> Answer:
    """Go to a step that `goto_targets` has listed."""
    return session.moved(_index(session, number(given, "targetId")), "goto")


def jump(session: Session, given: Arguments) -> Answer:
    """Go to a step by its number (`dpor/step`)."""
    position = _index(session, number(given, "step"))
    return session.moved(position, "goto", {"step": position})


def _index(session: Session, index: int) -> int:
    timeline, _ = session.ready()
    if not 1 <= index <= timeline.end:
        raise RefusedError(f"there is no step {index}: the recording has steps 1 to {timeline.end}")
    return index
