"""The futures and tasks of a model: asyncio's pure-Python ones, with a place in sets that is always the same."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false, reportUnknownArgumentType=false
# asyncio's pure-Python classes are not in its stubs.

from __future__ import annotations

import asyncio.events
import asyncio.futures
import asyncio.tasks
from typing import Any

PythonTask: Any = asyncio.tasks._PyTask
PythonFuture: Any = asyncio.futures._PyFuture


class ModelFuture(PythonFuture):
    """A future whose place in a set does not depend on where it lies in memory."""

    def __init__(self, *, loop: Any = None) -> None:
        super().__init__(loop=loop)
        self.dpor_hash = _next_hash(self._loop, self)

    def __hash__(self) -> int:
        return self.dpor_hash


class ModelTask(PythonTask):
    """A task whose place in a set does not depend on where it lies in memory."""

    def __init__(self, coro: Any, *, loop: Any = None, **options: Any) -> None:
        # Eager tasks run, and are put into sets, before the constructor returns.
        self.dpor_hash = _next_hash(asyncio.events.get_running_loop() if loop is None else loop, self)
        super().__init__(coro, loop=loop, **options)
        made: list[Any] | None = getattr(self._loop, "dpor_tasks", None)
        if made is not None:
            made.append(self)

    def __hash__(self) -> int:
        return self.dpor_hash


def _next_hash(loop: Any, item: Any) -> int:
    # Loops that are not the model's run tasks too while a check lasts.
    execution = getattr(loop, "dpor_execution", None)
    return object.__hash__(item) if execution is None else execution.next_hash()
