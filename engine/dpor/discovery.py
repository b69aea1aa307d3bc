"""Finds models by reading files, never by running them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dpor.codes import Code
from dpor.errors import DporError, too_deep
from dpor.instrument.blocks import statements
from dpor.instrument.first_party import is_foreign_folder
from dpor.lines import split_lines
from dpor.reading import read_file, read_source, unreadable
from dpor.results import ModelInfo, SourceSpan

PACKAGE = "dpor"
DECORATOR = "model"
_BUILD_FOLDERS = frozenset({"build", "dist", "target", "_build"})
_MENTION = re.compile(rb"\bdpor\b")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_models(path: Path, root: Path, source: str | None = None) -> list[ModelInfo]:
    """The models of a file, in the order in which they stand.

    `file` of each is relative to `root` if it is below it; `source` stands in for the file's content. A method is
    named `Class.method`. A parameter or option that is no literal is given as its source text.
    Raises DporError: NOT_FOUND for a file that cannot be read, SYNTAX_ERROR for one that is not valid Python.
    """
    name = _relative(path, root)
    text: str | bytes = source if source is not None else read_source(path, name)
    tree = _parsed(text, path, name)
    lines = split_lines(text if isinstance(text, str) else text.decode("utf-8", "replace"))
    decorators = _Decorators(tree)
    return [
        _describe(function, name, qualified, call, lines)
        for function, qualified in _functions(tree)
        for call in decorators.marking(function)[:1]
    ]


def _parsed(text: str | bytes, path: Path, name: str) -> ast.Module:
    """The syntax tree of a file. Raises DporError: SYNTAX_ERROR, UNSUPPORTED_CONSTRUCT."""
    try:
        return ast.parse(text, str(path))
    except SyntaxError as error:
        span = SourceSpan(
            name, error.lineno or 1, max(error.offset or 1, 1), error.end_lineno, error.end_offset or None
        )
        raise DporError(Code.SYNTAX_ERROR, error.msg, "correct the syntax", span) from error
    except (RecursionError, MemoryError) as error:
        raise too_deep(name) from error
    except (ValueError, LookupError) as error:
        raise DporError(Code.SYNTAX_ERROR, str(error), "correct the file", SourceSpan(name, 1)) from error


def pass_over(error: DporError) -> None:
    """Say nothing of a file that is skipped."""


def find_model_files(paths: Sequence[Path], skipped: Callable[[DporError], object] = pass_over) -> list[Path]:
    """The files that hold models: the named files, and those below the named folders.

    Hidden folders, virtual environments, installed packages and build output are left out, unless they are named
    themselves. A file below a folder that is not valid Python and mentions dpor may hold models, and is among them.
    `skipped` is told of each file below a folder that cannot be read. Raises DporError: NOT_FOUND for a path that does
    not exist or cannot be read, SYNTAX_ERROR for a named file that is not valid Python.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            for file in _python_files(path):
                if _has_models(file, skipped):
                    found[file] = None
        elif path.exists():
            if find_models(path, path.parent):
                found[path] = None
        else:
            raise DporError(Code.NOT_FOUND, f"{path} does not exist")
    return list(found)


class _Decorators:
    """The names that stand for the package and for the decorator in one module."""

    def __init__(self, tree: ast.Module) -> None:
        self._packages: set[str] = set()
        self._names: set[str] = set()
        for node in statements(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == PACKAGE or (alias.name.startswith(f"{PACKAGE}.") and not alias.asname):
                        self._packages.add(alias.asname or PACKAGE)
            elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE and not node.level:
                names = [alias.asname or alias.name for alias in node.names if alias.name in (DECORATOR, "*")]
                self._names.update(DECORATOR if name == "*" else name for name in names)
        for statement in tree.body:
            self._note_alias(statement)

    def _note_alias(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign) and self._is_decorator(statement.value):
            self._names.update(target.id for target in statement.targets if isinstance(target, ast.Name))

    def _is_decorator(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._names
        return (
            isinstance(node, ast.Attribute)
            and node.attr == DECORATOR
            and isinstance(node.value, ast.Name)
            and node.value.id in self._packages
        )

    def marking(self, function: _Function) -> list[ast.expr]:
        """The decorators of `function` that make it a model."""
        return [
            decorator
            for decorator in function.decorator_list
            if self._is_decorator(decorator.func if isinstance(decorator, ast.Call) else decorator)
        ]


def _functions(tree: ast.Module) -> Iterator[tuple[_Function, str]]:
    for statement in tree.body:
        if isinstance(statement, _Function):
            yield statement, statement.name
        elif isinstance(statement, ast.ClassDef):
            for member in statement.body:
                if isinstance(member, _Function):
                    yield member, f"{statement.name}.{member.name}"


def _describe(
    function: _Function, file: str, qualified: str, decorator: ast.expr, lines: Sequence[str]
) -> ModelInfo:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    # An encoding such as unicode_escape makes more lines than the file has.
    line = lines[function.lineno - 1] if function.lineno <= len(lines) else ""
    prefix = line.encode()[: function.col_offset].decode("utf-8", "replace")
    match = re.compile(r"(?:async\s+)?def\s+").match(line, len(prefix))
    column = (match.end() if match else len(prefix)) + 1
    return ModelInfo(
        file=file,
        name=qualified,
        line=function.lineno,
        column=column,
        end_line=function.lineno,
        end_column=column + len(function.name),
        parameters=_parameters(function, lines),
        options={keyword.arg: _value(keyword.value, lines) for keyword in keywords if keyword.arg},
    )


def _parameters(function: _Function, lines: Sequence[str]) -> dict[str, Any]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    parameters = {
        argument.arg: _value(default, lines)
        for argument, default in zip(with_default, arguments.defaults, strict=True)
    }
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            parameters[argument.arg] = _value(default, lines)
    return parameters


def _value(node: ast.expr, lines: Sequence[str]) -> Any:
    try:
        value = ast.literal_eval(node)
        # Numbers of thousands of digits are literals that nobody can write down.
        repr(value)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return _source_text(node, lines)
    return value


def _source_text(node: ast.expr, lines: Sequence[str]) -> str:
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):
        return ast.get_source_segment("\n".join(lines), node) or "..."


def _relative(path: Path, root: Path) -> str:
    resolved, folder = path.resolve(), root.resolve()
    return resolved.relative_to(folder).as_posix() if resolved.is_relative_to(folder) else str(path)


def _python_files(folder: Path) -> Iterator[Path]:
    for current, folders, files in os.walk(folder):
        here = Path(current)
        folders[:] = sorted(
            name for name in folders if name not in _BUILD_FOLDERS and not is_foreign_folder(here / name)
        )
        yield from (here / name for name in sorted(files) if name.endswith(".py"))


def _has_models(file: Path, skipped: Callable[[DporError], object]) -> bool:
    try:
        text = read_file(file)
        if not _MENTION.search(text):
            return False
        tree = ast.parse(text, str(file))
    except FileNotFoundError:
        # Editors mark what they have open by links to nowhere.
        return False
    except OSError as error:
        skipped(unreadable(str(file), error))
        return False
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError):
        # It may hold models: whoever reads it next says what is wrong, rather than nobody.
        return True
    decorators = _Decorators(tree)
    return any(decorators.marking(function) for function, _ in _functions(tree))
