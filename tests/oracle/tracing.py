"""Tells of every instruction that threads execute: by `sys.monitoring`, or by `sys.settrace` where there is none.

`sys.settrace` of Python 3.12 can crash when threads share code, and `sys.monitoring` is faster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from oracle.instructions import visible


class BySettrace:
    """With `sys.settrace`. `wanted` says of which code to tell, `step` is called."""

    def __init__(
        self, invisible: frozenset[str], wanted: Callable[[CodeType], bool], step: Callable[[], None]
    ) -> None:
        self._invisible = invisible
        self._wanted = wanted
        self._step = step
        # The code is kept, so that no other one gets its identity.
        self._known: dict[int, tuple[CodeType, Callable[..., Any] | None]] = {}

    def open(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def forget(self) -> None:
        """Nothing to do."""

    def begin(self) -> None:
        sys.settrace(self._called)

    def end(self) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        known = self._known.get(id(code))
        if known is None:
            known = self._known[id(code)] = (code, self._local(code) if self._wanted(code) else None)
        if known[1] is not None:
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        return known[1]

    def _local(self, code: CodeType) -> Callable[..., Any]:
        flags = visible(code, self._invisible)
        step = self._step

        def traced(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "opcode" and flags[frame.f_lasti >> 1]:
                step()
            return traced

        return traced


class ByMonitoring:
    """With `sys.monitoring`, which tells of all threads; `step` has to know whether it is meant."""

    _TOOL = 4

    def __init__(
        self, invisible: frozenset[str], wanted: Callable[[CodeType], bool], step: Callable[[], None]
    ) -> None:
        self._invisible = invisible
        self._wanted = wanted
        self._step = step
        self._flags: dict[int, tuple[CodeType, bytes]] = {}
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined]

    def open(self) -> None:
        monitoring = self._monitoring
        if monitoring.get_tool(self._TOOL) is None:
            monitoring.use_tool_id(self._TOOL, "oracle")
        events = monitoring.events
        monitoring.register_callback(self._TOOL, events.PY_START, self._started)
        monitoring.register_callback(self._TOOL, events.INSTRUCTION, self._instruction)
        monitoring.set_events(self._TOOL, events.PY_START)

    def close(self) -> None:
        self._monitoring.set_events(self._TOOL, 0)

    def forget(self) -> None:
        """Leave all code as it was."""
        events = self._monitoring.events
        for code, _ in self._flags.values():
            self._monitoring.set_local_events(self._TOOL, code, 0)
        self._flags.clear()
        self._monitoring.restart_events()
        self._monitoring.register_callback(self._TOOL, events.PY_START, None)
        self._monitoring.register_callback(self._TOOL, events.INSTRUCTION, None)
        self._monitoring.free_tool_id(self._TOOL)

    def begin(self) -> None:
        """Nothing to do."""

    def end(self) -> None:
        """Nothing to do."""

    def _started(self, code: CodeType, offset: int) -> Any:
        if id(code) not in self._flags and self._wanted(code):
            self._flags[id(code)] = (code, visible(code, self._invisible))
            self._monitoring.set_local_events(self._TOOL, code, self._monitoring.events.INSTRUCTION)
        return self._monitoring.DISABLE

    def _instruction(self, code: CodeType, offset: int) -> Any:
        if self._flags[id(code)][1][offset >> 1]:
            self._step()
            return None
        return self._monitoring.DISABLE


def tracing(
    invisible: frozenset[str], wanted: Callable[[CodeType], bool], step: Callable[[], None]
) -> BySettrace | ByMonitoring:
    """The way of this interpreter."""
    return (ByMonitoring if hasattr(sys, "monitoring") else BySettrace)(invisible, wanted, step)
