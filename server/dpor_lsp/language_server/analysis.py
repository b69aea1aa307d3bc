"""What the editor shows of a file without running it: its models, their extent, their options, imported packages."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpor.discovery import PACKAGE, find_models
from dpor.errors import DporError
from dpor.lines import split_lines
from dpor.results import ModelInfo, Reason, SourceSpan
from dpor_lsp.language_server.weakening import Reading, Weakness, weaknesses

_IGNORE = re.compile(r"#\s*dpor:\s*ignore\b\s*(?:\((?P<reason>.*)\)|:\s*(?P<rest>.*))?")
NO_REASON = "no reason given"


@dataclass(frozen=True)
class ModelOutline:
    """A model in a text: `first` and `last` are the lines (from 1) of decorators and body, `name` spans its name.

    `decorator` is the line of `@dpor.model`; `call` spans the parentheses' content of its options (None without
    them); `ignored` is the reason of a `# dpor: ignore` comment, on the line `ignore_line`; `statements` are the
    first lines of the statements in the body; `packages` are those of other people that it names, by the first part
    of their names.
    """

    info: ModelInfo
    first: int
    last: int
    decorator: int
    ignored: str | None = None
    ignore_line: int | None = None
    statements: tuple[int, ...] = ()
    summary: str = ""
    packages: frozenset[str] = frozenset()

    @property
    def name(self) -> SourceSpan:
        """Where the function's name is."""
        info = self.info
        return SourceSpan(info.file, info.line, info.column, info.end_line, info.end_column)


@dataclass(frozen=True)
class Outline:
    """A file as it can be read: its models, or why it cannot be read.

    `imports` maps packages to their import; `weaknesses` are what weakens the checks of its models.
    """

    models: tuple[ModelOutline, ...] = ()
    problem: Reason | None = None
    imports: Mapping[str, SourceSpan] = field(default_factory=dict[str, SourceSpan])
    weaknesses: tuple[Weakness, ...] = ()


def outline(path: Path, root: Path, text: str) -> Outline:
    """Read a text as the content of `path`; never raises for anything that is in it."""
    if PACKAGE not in text:
        return Outline()
    try:
        models = find_models(path, root, text)
    except DporError as error:
        if not any(re.match(rf"\s*(?:import|from)\s+{PACKAGE}\b", line) for line in split_lines(text)):
            # Every editor says so already where no model can be.
            return Outline()
        return Outline(problem=Reason(error.code, error.message, error.fix, error.span))
    except RecursionError:
        return Outline()
    if not models:
        return Outline()
    tree = ast.parse(text)
    comments = _ignore_comments(text) if "ignore" in text else {}
    functions = {
        node.lineno: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    reading = Reading(tree, models[0].file, text)
    outlines: list[ModelOutline] = []
    checked: dict[str, ast.AST] = {}
    for info in models:
        function = reading.enclosing(functions[info.line])
        model = _model(info, functions[info.line], comments)
        outlines.append(replace(model, packages=frozenset(reading.packages(reading.reached(function)))))
        if model.ignored is None:
            checked[info.name] = function
    return Outline(
        tuple(outlines),
        imports=_imports(tree, models[0].file),
        weaknesses=weaknesses(reading, checked),
    )


def _model(
    info: ModelInfo, function: ast.FunctionDef | ast.AsyncFunctionDef, comments: Mapping[int, str]
) -> ModelOutline:
    first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
    # A comment on its own line right above belongs to the model too.
    lines = range(first - 1, function.body[0].lineno)
    ignore_line = next((line for line in lines if line in comments), None)
    statements = {
        node.lineno for item in function.body for node in ast.walk(item) if isinstance(node, ast.stmt)
    }
    return ModelOutline(
        info,
        first,
        function.end_lineno or function.lineno,
        _decorator_line(function),
        comments[ignore_line] if ignore_line is not None else None,
        ignore_line,
        tuple(sorted(statements)),
        (ast.get_docstring(function) or "").partition("\n")[0],
    )


def _decorator_line(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    for decorator in function.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if "model" in ast.unparse(target):
            return decorator.lineno
    return function.lineno


def _ignore_comments(text: str) -> dict[int, str]:
    """The `# dpor: ignore` comments of a text: line to reason."""
    found: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(_reader(text)):
            if token.type == tokenize.COMMENT and (match := _IGNORE.match(token.string)):
                reason = (match["reason"] or match["rest"] or "").strip()
                found[token.start[0]] = reason or NO_REASON
    except (tokenize.TokenError, SyntaxError):
        return found
    return found


def _reader(text: str) -> Callable[[], str]:
    """What gives the lines of a text one after the other, and then nothing; all end with a line feed."""
    lines = iter(split_lines(text))
    return lambda: next((f"{line}\n" for line in lines), "")


def _imports(tree: ast.Module, file: str) -> dict[str, SourceSpan]:
    """Where each top-level package is imported first."""
    found: dict[str, SourceSpan] = {}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            assert isinstance(node, ast.Import | ast.ImportFrom)
            end = node.end_col_offset
            span = SourceSpan(
                file, node.lineno, node.col_offset + 1, node.end_lineno, None if end is None else end + 1
            )
            found.setdefault(name.partition(".")[0], span)
    return found
