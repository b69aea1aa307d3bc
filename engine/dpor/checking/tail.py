"""Where an execution is that does not end."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from dpor.hosted import HostedModel
from dpor.results import SourceSpan

_LAST_OPERATIONS = 256


class _Active(NamedTuple):
    """An active call, as it was at an operation. It holds the frame, so that no later call is taken for it."""

    frame: FrameType
    instruction: int
    line: int


class Tail:
    """A recorder that only remembers where the last operations took place."""

    def __init__(self, hosted: HostedModel) -> None:
        self._hosted = hosted
        # Of each operation the active calls of first-party code, outermost first.
        self._operations: deque[tuple[_Active, ...]] = deque(maxlen=_LAST_OPERATIONS)

    def step(
        self,
        thread: str,
        operation: str,
        target: object,
        key: object,
        value: object,
        event: bool,
        number: int = 0,
    ) -> None:
        """Remember the place of an operation."""
        frame = sys._getframe().f_back  # pyright: ignore[reportPrivateUsage]
        active: list[_Active] = []
        while frame is not None:
            if self._hosted.is_first_party(frame.f_code.co_filename):
                active.append(_Active(frame, frame.f_lasti, frame.f_lineno))
            frame = frame.f_back
        if active:
            self._operations.append(tuple(reversed(active)))

    def waiting(self, thread: str, operation: str, target: object) -> None:
        """Nothing to remember."""

    def blocked(self, thread: str, operation: str, target: object) -> None:
        """Nothing to remember."""

    def place(self) -> SourceSpan | None:
        """The first line of the loop that the last operation is in, as far as it performs operations: of the innermost
        call that has come to the same instruction before. Without such a call the place of the last operation.
        """
        if not self._operations:
            return None
        last = self._operations[-1]
        for depth, call in reversed(tuple(enumerate(last))):
            turn = [call.line]
            for operation in tuple(self._operations)[-2::-1]:
                before = operation[depth] if len(operation) > depth else None
                if before is None or before.frame is not call.frame:
                    continue
                if before.instruction == call.instruction and not _is_same_call(operation, last, depth + 1):
                    return self._span(call, min(turn))
                turn.append(before.line)
        return self._span(last[-1], last[-1].line)

    def _span(self, call: _Active, line: int) -> SourceSpan:
        return SourceSpan(self._hosted.relative(Path(call.frame.f_code.co_filename)), line)


def _is_same_call(one: Sequence[_Active], other: Sequence[_Active], depth: int) -> bool:
    """Whether two operations belong to one call that starts at `depth`."""
    return len(one) > depth and len(other) > depth and one[depth].frame is other[depth].frame
