"""Where in the user's code a running frame or a traceback stands, to the exact expression."""

from __future__ import annotations

import ast
import itertools
import linecache
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from dpor.counterexample.records import Site
from dpor.counterexample.syntax import Sources
from dpor.results import SourceSpan

_DEEPEST = 64
_WRAPPERS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")


class Locator:
    """Turns frames into chains of call sites.

    `is_first_party` decides by a code object's filename; spans are made relative to `root` (with forward
    slashes) where the file lies below it. Frames of dpor itself and of the standard library are skipped: a
    person looks for the call that they wrote.
    """

    def __init__(self, is_first_party: Callable[[str], bool], root: Path | None = None) -> None:
        self._is_first_party = is_first_party
        self._root = root.resolve() if root is not None else None
        self._engine = f"{Path(__file__).resolve().parents[1]}/"
        paths = sysconfig.get_paths()
        self._library = tuple(f"{path}/" for path in {paths["stdlib"], paths["platstdlib"]})
        self._packages = tuple(f"{path}/" for path in {paths["purelib"], paths["platlib"]})
        self._files: dict[str, tuple[str, bool, bool]] = {}
        self._sources = Sources()
        self._spans: dict[tuple[CodeType, int], SourceSpan] = {}

    def sites(self, frame: FrameType | None) -> tuple[Site, ...]:
        """The chain of calls from `frame` outwards, innermost first, at most 64 of them."""
        return self._sites(self.visible_frames(frame))

    def sites_of(self, frames: Iterable[FrameType]) -> tuple[Site, ...]:
        """The sites of those of `frames` that belong to a model or to an instrumented package, at most 64 of them."""
        return self._sites(active for active in frames if self._file(active.f_code.co_filename)[1])

    def _sites(self, frames: Iterable[FrameType]) -> tuple[Site, ...]:
        return tuple(
            self._site(active.f_code, active.f_lasti, active.f_lineno, id(active))
            for active in itertools.islice(frames, _DEEPEST)
        )

    def visible_frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        """The frames from `frame` outwards that belong to a model or to an instrumented package."""
        while frame is not None:
            if self._file(frame.f_code.co_filename)[1]:
                yield frame
            frame = frame.f_back

    def first_party_frames(self, frame: FrameType | None) -> Iterator[FrameType]:
        """The frames from `frame` outwards that belong to first-party code."""
        return (active for active in self.visible_frames(frame) if self._file(active.f_code.co_filename)[2])

    def sites_of_traceback(self, traceback: TracebackType | None) -> tuple[Site, ...]:
        """The chain of calls of a traceback, innermost first: where an exception was raised."""
        return tuple(
            self._site(entry.tb_frame.f_code, entry.tb_lasti, entry.tb_lineno, id(entry.tb_frame))
            for entry in self._visible_entries(traceback)
        )

    def frames_of_traceback(self, traceback: TracebackType | None) -> Iterator[FrameType]:
        """The frames of a traceback that `sites_of_traceback` has sites for, innermost first."""
        return (entry.tb_frame for entry in self._visible_entries(traceback))

    def _visible_entries(self, traceback: TracebackType | None) -> list[TracebackType]:
        """The entries of a traceback that belong to a model or an instrumented package, innermost first."""
        entries: list[TracebackType] = []
        while traceback is not None:
            if self._file(traceback.tb_frame.f_code.co_filename)[1]:
                entries.append(traceback)
            traceback = traceback.tb_next
        return entries[-_DEEPEST:][::-1]

    def _site(self, code: CodeType, instruction: int, line: int | None, activation: int) -> Site:
        span = self._spans.get((code, instruction))
        if span is None:
            span = self._spans[code, instruction] = self._span(code, instruction, line)
        first_party = self._file(code.co_filename)[2]
        return Site(activation, span, function_name(code), first_party)

    def _span(self, code: CodeType, instruction: int, line: int | None) -> SourceSpan:
        file = self._file(code.co_filename)[0]
        positions = next(itertools.islice(code.co_positions(), max(instruction, 0) // 2, None), None)
        start, end, column, end_column = positions or (None, None, None, None)
        if start is None:
            return SourceSpan(file, line or code.co_firstlineno)
        if column is None or end is None or end_column is None:
            return SourceSpan(file, start)
        head = self._with_head(code.co_filename, start, column)
        if head is not None:
            end, end_column = head
        return SourceSpan(
            file,
            start,
            characters(linecache.getline(code.co_filename, start), column) + 1,
            end,
            characters(linecache.getline(code.co_filename, end), end_column) + 1,
        )

    def _with_head(self, filename: str, line: int, column: int) -> tuple[int, int] | None:
        """The end (line, byte column) of the items of the `with` statement that starts at a place, if one
        does.

        Before Python 3.13 entering and leaving a `with` block has the position of the whole statement, body
        and all.
        """
        text = linecache.getline(filename, line).encode()[column:]
        tree = self._sources.tree(filename) if text.startswith((b"with", b"async")) else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.With | ast.AsyncWith) and (node.lineno, node.col_offset) == (
                line,
                column,
            ):
                last = node.items[-1].optional_vars or node.items[-1].context_expr
                return last.end_lineno or line, last.end_col_offset or column
        return None

    def _file(self, filename: str) -> tuple[str, bool, bool]:
        """The name to show, whether the file is visible, whether it is first-party."""
        known = self._files.get(filename)
        if known is None:
            known = self._files[filename] = self._classify(filename)
        return known

    def _classify(self, filename: str) -> tuple[str, bool, bool]:
        if filename.startswith(("<", self._engine)):
            return filename, False, False
        first_party = self._is_first_party(filename)
        of_library = filename.startswith(self._library) and not filename.startswith(self._packages)
        return self._shown(filename), first_party or not of_library, first_party

    def _shown(self, filename: str) -> str:
        path = Path(filename)
        if self._root is None:
            return path.as_posix()
        resolved = path.resolve()
        return (resolved.relative_to(self._root) if resolved.is_relative_to(self._root) else path).as_posix()


def characters(line: str, column: int) -> int:
    """How many characters the first `column` UTF-8 bytes of `line` are; `column` itself if the line is
    unknown.
    """
    if not line or line.isascii():
        return column
    return len(line.encode()[:column].decode(errors="replace"))


def function_name(code: CodeType) -> str:
    """The name of the function that a person would say the code is in: `Account.deposit`, `<module>`."""
    parts = code.co_qualname.split(".<locals>.")
    while len(parts) > 1 and parts[-1] in _WRAPPERS:
        parts.pop()
    return parts[-1]
