"""Where a model hung or crashed, from the stacks that faulthandler left."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from dpor.reading import read_file
from dpor.results import SourceSpan
from dpor_lsp.project import relative_name

_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$', re.MULTILINE)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_LOOPS = (ast.While, ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Stuck:
    """Where a model was last seen: the line and, if it was inside a loop of the project's code, the loop."""

    line: SourceSpan
    loop: SourceSpan | None


def last_seen(evidence: str, root: Path, file: Path) -> Stuck | None:
    """Find where the project's own code was when faulthandler wrote `evidence`.

    Looks at the frames of files below `root` (installed packages apart) and of `file`, the innermost first, and
    takes the first one that is inside a loop, else the innermost. Returns None if there is no such frame.
    """
    frames = [(Path(_unescape(match["file"])), int(match["line"])) for match in _FRAME.finditer(evidence)]
    own = [(path, line) for path, line in frames if path == file or _is_first_party(path, root)]
    if not own:
        return None
    for path, line in own:
        loop = _loop_around(path, line, root)
        if loop is not None:
            return Stuck(_line(path, line, root), loop)
    return Stuck(_line(*own[0], root), None)


def _is_first_party(path: Path, root: Path) -> bool:
    return (
        path.is_relative_to(root) and "site-packages" not in path.parts and "dist-packages" not in path.parts
    )


def _unescape(text: str) -> str:
    """Undo the escapes with which faulthandler writes what is not ASCII."""
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2] or match[3], 16)), text)


def _line(path: Path, line: int, root: Path) -> SourceSpan:
    return SourceSpan(relative_name(path, root), line)


def _loop_around(path: Path, line: int, root: Path) -> SourceSpan | None:
    """Return the loop in the innermost function around `line` that most likely never ends.

    A `while` is preferred to a `for`, which usually ends; among equals the innermost.
    """
    try:
        tree = ast.parse(read_file(path))
    except (OSError, SyntaxError, ValueError):
        return None
    loops: list[ast.AST] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            first, last = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
            if first is None or last is None or not first <= line <= last:
                if first is None:
                    pending.append(child)
                continue
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                loops = []
            elif isinstance(child, _LOOPS):
                loops.append(child)
            pending.append(child)
    loops.sort(key=lambda node: (isinstance(node, ast.While), getattr(node, "lineno", 0)))
    if not loops:
        return None
    loop = loops[-1]
    start = getattr(loop, "lineno", 1)
    column = getattr(loop, "col_offset", 0) + 1
    return SourceSpan(relative_name(path, root), start, column)
