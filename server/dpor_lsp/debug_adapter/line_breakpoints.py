"""The line breakpoints that a client has asked for, and which lines of a trace they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpor_lsp.debug_adapter.sources import Sources
from dpor_lsp.debug_adapter.timeline import Timeline


@dataclass(frozen=True)
class Asked:
    """A breakpoint of the client: its number, the file as the client names it, the line counted from 1."""

    number: int
    source: str
    line: int


class LineBreakpoints:
    """Remembers what was asked for, so that another trace of the same files can be stopped at the same lines."""

    def __init__(self) -> None:
        self._asked: dict[str, list[Asked]] = {}

    def replace(self, source: dict[str, Any], lines: Sequence[tuple[int, int]]) -> list[Asked]:
        """Take the breakpoints (number, line) of one file in the place of those that it had."""
        key = str(source.get("path") or source.get("sourceReference"))
        self._asked[key] = [Asked(number, key, line) for number, line in lines]
        return self._asked[key]

    def __iter__(self) -> Iterator[Asked]:
        for asked in self._asked.values():
            yield from asked

    def resolve(self, sources: Sources) -> dict[str, dict[int, int]]:
        """The numbers of the breakpoints by line, by the name that spans have for the file."""
        lines: dict[str, dict[int, int]] = {}
        for asked in self:
            name = _name(asked, sources)
            if name is not None:
                lines.setdefault(name, {})[asked.line] = asked.number
        return lines


def describe(asked: Asked, line: int, timeline: Timeline | None, sources: Sources | None) -> dict[str, Any]:
    """The protocol's description of a breakpoint; `line` is its line as the client counts."""
    body: dict[str, Any] = {"id": asked.number, "line": line, "verified": False}
    if timeline is None or sources is None:
        return {**body, "message": "the trace is not loaded yet", "reason": "pending"}
    name = _name(asked, sources)
    if name is None:
        return {**body, "message": "the recording does not come to this file", "reason": "failed"}
    if not timeline.steps_on(name, asked.line):
        message = "no recorded step stands on this line: it accesses nothing shared, or was not reached"
        return {**body, "message": message, "reason": "failed"}
    return {**body, "verified": True}


def _name(asked: Asked, sources: Sources) -> str | None:
    if asked.source.isdigit():
        return sources.name({"sourceReference": int(asked.source)})
    return sources.name({"path": asked.source})
