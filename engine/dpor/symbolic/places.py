"""Where in the model's code the interpreter is: for the places of refusals, and to tell messages from decisions.

A text that only words a message cannot change what the model does, so it may show a symbolic value without deciding
it. Such texts stand in the message of an `assert`, in a call of `print`, `warnings.warn` or a logger, or in what is
raised.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import FrameType

from dpor.results import SourceSpan

_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log", "warn"})
_WORDING = frozenset({"__repr__", "__str__", "__format__"})

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
            name = frame.f_code.co_filename
            if name not in self._messages:
                self._messages[name] = list(_message_spans(self._source(name)))
            return any(_contains(span, found) for span in self._messages[name])
        return False

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


def _message_spans(source: str | None) -> Iterator[Span]:
    if source is None:
        return
    for node in ast.walk(ast.parse(source)):
        message: ast.expr | None = None
        if isinstance(node, ast.Assert):
            message = node.msg
        elif isinstance(node, ast.Raise):
            message = node.exc
        elif isinstance(node, ast.Call) and _only_tells(node.func):
            message = node
        if message is not None:
            yield (
                message.lineno,
                message.col_offset,
                message.end_lineno or message.lineno,
                message.end_col_offset or message.col_offset,
            )


def _only_tells(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "print"
    if not isinstance(function, ast.Attribute) or function.attr not in _LOGGING:
        return False
    owner = function.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return name.lstrip("_").lower() in {"logging", "log", "logger", "warnings"}
