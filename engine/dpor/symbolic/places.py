"""Where in the model's code the interpreter is: for the places of refusals, and to tell messages from decisions.

A text that only words a message cannot change what the model does, so it may show a symbolic value without deciding
it. Such texts stand in the message of an `assert`, in a call of `print`, `warnings.warn` or a logger, or in what is
raised; but not where somebody may catch what is raised and look at it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TypeGuard

from dpor.results import SourceSpan

_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log", "warn"})
_WORDING = frozenset({"__repr__", "__str__", "__format__"})

# Packages whose code keeps the exceptions of what it runs.
_KEEPING = frozenset({"asyncio", "concurrent"})
# Context managers that look at no exception.
_MANAGERS = frozenset(
    {
        "BoundedSemaphore",
        "Condition",
        "Lock",
        "RLock",
        "Semaphore",
        "TaskGroup",
        "ThreadPoolExecutor",
        "closing",
        "nullcontext",
        "open",
        "suppress",
        "timeout",
    }
)

Span = tuple[int, int, int, int]


class Places:
    """The places of the running code, as far as it is `is_first_party(filename)`; `relative(path)` shortens paths."""

    def __init__(
        self,
        is_first_party: Callable[[str], bool],
        relative: Callable[[Path], str],
        source: Callable[[str], str | None],
    ) -> None:
        self._is_first_party = is_first_party
        self._relative = relative
        self._source = source
        self._messages: dict[str, list[Span]] = {}
        self._raised: dict[str, list[Span]] = {}
        self._guarded: dict[str, list[Span]] = {}

    def span(self) -> SourceSpan | None:
        """The place of the model's code that is running, or None if none is."""
        for frame in self._frames():
            found = _position(frame)
            file = self._relative(Path(frame.f_code.co_filename))
            if found is None:
                return SourceSpan(file, frame.f_lineno)
            line, column, end_line, end_column = found
            return SourceSpan(file, line, column + 1, end_line, end_column + 1)
        return None

    def is_message(self) -> bool:
        """Whether the model's code that is running only words a message."""
        for frame in self._frames():
            # The text of an object is part of whatever its caller does with it.
            if frame.f_code.co_name in _WORDING:
                continue
            found = _position(frame)
            if found is None:
                return False
            self._read(frame.f_code.co_filename)
            name = frame.f_code.co_filename
            if any(_contains(span, found) for span in self._raised[name]):
                return not self._is_caught(frame)
            return any(_contains(span, found) for span in self._messages[name])
        return False

    def _is_caught(self, raising: FrameType) -> bool:
        """Whether the model, or what runs its tasks for it, may look at an exception that is raised in the frame."""
        frame: FrameType | None = raising
        while frame is not None:
            name = frame.f_code.co_filename
            if self._is_first_party(name):
                found = _position(frame)
                self._read(name)
                if found is None or any(_contains(span, found) for span in self._guarded[name]):
                    return True
            elif frame.f_globals.get("__name__", "").partition(".")[0] in _KEEPING:
                return True
            frame = frame.f_back
        return False

    def _read(self, name: str) -> None:
        """Find the messages of a file, and what is raised and caught in it."""
        if name in self._messages:
            return
        source = self._source(name)
        nodes = [] if source is None else list(ast.walk(ast.parse(source)))
        self._messages[name] = [
            _span(node) for node in nodes if isinstance(node, ast.Call) and _only_tells(node)
        ]
        raised = [
            node.msg if isinstance(node, ast.Assert) else node.exc
            for node in nodes
            if isinstance(node, ast.Assert | ast.Raise)
        ]
        self._raised[name] = [_span(expression) for expression in raised if expression is not None]
        guarding = [node for node in nodes if _looks_at_what_is_raised(node)]
        self._guarded[name] = [_span(statement) for node in guarding for statement in node.body]

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            if self._is_first_party(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back


def _position(frame: FrameType) -> Span | None:
    if frame.f_lasti < 0:
        return None
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if positions is None:
        return None
    line, end_line, column, end_column = positions
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, column, end_line, end_column


def _contains(span: Span, other: Span) -> bool:
    return span[:2] <= other[:2] and other[2:] <= span[2:]


def _span(node: ast.expr | ast.stmt) -> Span:
    return (
        node.lineno,
        node.col_offset,
        node.end_lineno or node.lineno,
        node.end_col_offset or node.col_offset,
    )


def _looks_at_what_is_raised(node: ast.AST) -> TypeGuard[ast.Try | ast.TryStar | ast.With | ast.AsyncWith]:
    """Whether a statement may use an exception that leaves its body."""
    if isinstance(node, ast.Try | ast.TryStar):
        return any(
            handler.name or "exc" in "".join(map(ast.unparse, handler.body)) for handler in node.handlers
        )
    if isinstance(node, ast.With | ast.AsyncWith):
        called = [item.context_expr.func for item in node.items if isinstance(item.context_expr, ast.Call)]
        return any(ast.unparse(function).rpartition(".")[2] not in _MANAGERS for function in called)
    return False


def _only_tells(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "print" and all(map(_is_standard, call.keywords))
    if not isinstance(function, ast.Attribute) or function.attr not in _LOGGING:
        return False
    owner = function.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name.lstrip("_").lower() in {"logging", "log", "logger", "warnings"}


def _is_standard(keyword: ast.keyword) -> bool:
    """Whether an argument of `print` leaves the text where the model cannot read it back."""
    if keyword.arg is None:
        return False
    return keyword.arg != "file" or ast.unparse(keyword.value) in {"sys.stdout", "sys.stderr"}
