"""What the source says of two operations in one call: whether the second depends on what the first read.

The questions are asked of the two innermost places in one active call, so a read in a helper counts where
the helper was called. Answers are evidence, not proof: only local variables of that function are followed.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from pathlib import Path

from dpor.counterexample.records import Site
from dpor.reading import is_readable
from dpor.results import SourceSpan

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
Place = tuple[int, int]


class Sources:
    """Source files by the names that spans carry: paths relative to `root`, or absolute ones."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._trees: dict[str, ast.Module | None] = {}

    def line(self, file: str, number: int) -> str:
        """A line of a file without its end, `""` if the file or the line is unknown; numbers count from 1."""
        lines = self._lines(file)
        return lines[number - 1].rstrip("\r\n") if 1 <= number <= len(lines) else ""

    def segment(self, span: SourceSpan) -> str:
        """The text of a span that lies within one line; the whole stripped line if it does not."""
        line = self.line(span.file, span.line)
        if span.end_line != span.line or span.end_column is None:
            return line.strip()
        return line[span.column - 1 : span.end_column - 1]

    def assertion(self, span: SourceSpan) -> str:
        """The condition of the `assert` that a span lies in, in one line; the span's own text if it lies in
        none.
        """
        tree = self.tree(span.file)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Assert) and node.lineno <= span.line <= (node.end_lineno or node.lineno):
                return ast.unparse(node.test)
        return self.segment(span)

    def tree(self, file: str) -> ast.Module | None:
        """The syntax tree of a file; None if it cannot be read or parsed."""
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse("".join(self._lines(file)))
            except (SyntaxError, ValueError, RecursionError):
                self._trees[file] = None
        return self._trees[file]

    def _lines(self, file: str) -> list[str]:
        path = self._path(file)
        # What linecache would not come back from.
        return linecache.getlines(path) if path in linecache.cache or is_readable(Path(path)) else []

    def _path(self, file: str) -> str:
        return file if self._root is None or Path(file).is_absolute() else str(self._root / file)


def common_places(first: Sequence[Site], second: Sequence[Site]) -> tuple[SourceSpan, SourceSpan] | None:
    """Where two chains of calls stand in the innermost call that both are in; None if they share none."""
    by_activation = {site.activation: site for site in first}
    for site in second:
        other = by_activation.get(site.activation)
        if other is not None and other.function == site.function and other.span.file == site.span.file:
            return other.span, site.span
    return None


class Evidence:
    """Answers about operations, given the chains of calls in which they were performed."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._used: dict[tuple[SourceSpan, SourceSpan], bool] = {}
        self._guarded: dict[tuple[SourceSpan, SourceSpan], bool] = {}

    def uses(self, read: Sequence[Site], write: Sequence[Site]) -> bool:
        """True if the value that `write` stores is computed from what `read` gave.

        Both stand in one assignment (`x += 1`), or the read was assigned to a local variable from which,
        directly or through other local variables, the written value or the call's arguments are made.
        """
        places = common_places(read, write)
        if places is None:
            return False
        if places not in self._used:
            self._used[places] = self._uses(*places)
        return self._used[places]

    def _uses(self, read: SourceSpan, write: SourceSpan) -> bool:
        found = self._statements(read, write)
        if found is None:
            return False
        function, read_at, write_at = found
        source, target = _statement_at(function, read_at), _statement_at(function, write_at)
        if source is None or target is None:
            return False
        if source is target:
            return _is_update(source, read_at, write_at)
        tainted = _tainted(function, source, read_at)
        return any(name in tainted for part in _values(target) for name in _loaded(part))

    def guards(self, read: Sequence[Site], act: Sequence[Site]) -> bool:
        """True if `act` is only reached because of what `read` gave.

        The read stands in the test of an `if`, `while` or conditional expression (or was assigned to a local
        variable that does), and the act stands under it, or after it where the test decides whether to leave.
        """
        places = common_places(read, act)
        if places is None:
            return False
        if places not in self._guarded:
            self._guarded[places] = self._guards(*places)
        return self._guarded[places]

    def _guards(self, read: SourceSpan, act: SourceSpan) -> bool:
        found = self._statements(read, act)
        if found is None:
            return False
        function, read_at, act_at = found
        source = _statement_at(function, read_at)
        tainted = _tainted(function, source, read_at) if source is not None else set[str]()
        return any(
            (_covers(test, read_at) or any(name in tainted for name in _loaded(test)))
            and not _covers(test, act_at)
            and any(_covers(part, act_at) for part in guarded)
            for test, guarded in _tests(function)
        )

    def _statements(
        self, first: SourceSpan, second: SourceSpan
    ) -> tuple[ast.AST, SourceSpan, SourceSpan] | None:
        """The function that both places are in, and the places with byte columns."""
        tree = self._sources.tree(first.file)
        if tree is None:
            return None
        return _function_at(tree, first), self._bytes(first), self._bytes(second)

    def _bytes(self, span: SourceSpan) -> SourceSpan:
        """The span with 0-based byte columns, as the syntax tree has them."""
        line = self._sources.line(span.file, span.line)
        end_line = self._sources.line(span.file, span.end_line or span.line)
        start = len(line[: span.column - 1].encode())
        end = len(end_line[: (span.end_column or span.column) - 1].encode())
        return SourceSpan(span.file, span.line, start, span.end_line or span.line, end)


def _covers(node: ast.AST, span: SourceSpan) -> bool:
    """True if the node's text contains the span (byte columns)."""
    line, column = getattr(node, "lineno", None), getattr(node, "col_offset", None)
    end_line, end_column = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
    if line is None or column is None or end_line is None or end_column is None:
        return False
    start: Place = (span.line, span.column)
    end: Place = (span.end_line or span.line, span.end_column or span.column)
    return (line, column) <= start and end <= (end_line, end_column)


def _function_at(tree: ast.Module, span: SourceSpan) -> ast.AST:
    """The innermost function whose lines contain the span's; the module if none does."""
    best: ast.AST = tree
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.lineno <= span.line <= (node.end_lineno or node.lineno)
            and node.lineno >= getattr(best, "lineno", 0)
        ):
            best = node
    return best


def _statement_at(function: ast.AST, span: SourceSpan) -> ast.stmt | None:
    """The innermost statement that contains the span."""
    best: ast.stmt | None = None
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function and _covers(node, span):
            best = node
    return best


def _is_update(statement: ast.stmt, read: SourceSpan, write: SourceSpan) -> bool:
    if isinstance(statement, ast.AugAssign):
        return True
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return statement.value is not None and _covers(statement.value, read)
    # `cell.store(cell.load() + 1)`: the read stands among the arguments of the writing call.
    return isinstance(statement, ast.Expr) and _strictly_within(read, write)


def _strictly_within(inner: SourceSpan, outer: SourceSpan) -> bool:
    return (
        (outer.line, outer.column) <= (inner.line, inner.column)
        and (inner.end_line or 0, inner.end_column or 0) <= (outer.end_line or 0, outer.end_column or 0)
        and inner != outer
    )


def _values(statement: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement that can make up what it writes."""
    if isinstance(statement, ast.Assign | ast.AugAssign):
        return [statement.value]
    if isinstance(statement, ast.AnnAssign):
        return [statement.value] if statement.value is not None else []
    if isinstance(statement, ast.Expr | ast.Return) and isinstance(statement.value, ast.Call):
        return [*statement.value.args, *(keyword.value for keyword in statement.value.keywords)]
    return []


def _loaded(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part.id


def _tainted(function: ast.AST, source: ast.stmt, read: SourceSpan) -> set[str]:
    """The local variables whose values come from the read."""
    tainted = _assigned(source, read)
    if not tainted:
        return tainted
    grown = True
    while grown:
        grown = False
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
                value = node.value
                if value is not None and any(name in tainted for name in _loaded(value)):
                    names = set(_names_bound(node)) - tainted
                    tainted |= names
                    grown = grown or bool(names)
    return tainted


def _assigned(statement: ast.stmt, read: SourceSpan) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(statement):
        bound = isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr)
        if bound and node.value is not None and _covers(node.value, read):
            names.update(_names_bound(node))
    return names


def _names_bound(node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        # Only plain names and tuples of them: `d[k] = v` binds neither `d` nor `k`.
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        for part in parts:
            if isinstance(part, ast.Name):
                yield part.id


def _tests(function: ast.AST) -> Iterator[tuple[ast.expr, list[ast.AST]]]:
    """Every test in a function with the code that is reached, or not, because of it."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.While):
            yield node.test, [*node.body, *node.orelse]
        elif isinstance(node, ast.IfExp):
            yield node.test, [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            for position, value in enumerate(node.values[:-1], start=1):
                yield value, list(node.values[position:])
    for block in _blocks(function):
        for position, statement in enumerate(block):
            if (
                isinstance(statement, ast.If)
                and any(
                    part and isinstance(part[-1], _LEAVING) for part in (statement.body, statement.orelse)
                )
            ) or isinstance(statement, ast.While):
                yield statement.test, list(block[position + 1 :])


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block
