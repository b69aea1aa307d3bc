"""Turns the source of a module into code that tells the host of every access to what threads can share."""

from __future__ import annotations
import __future__

import ast
import warnings
from collections.abc import Mapping
from types import CodeType

from dpor.codes import Code
from dpor.errors import DporError
from dpor.instrument.assignments import Assignments
from dpor.instrument.calls import Calls
from dpor.instrument.comprehensions import Comprehensions
from dpor.instrument.coverage import mark_lines
from dpor.instrument.definitions import Definitions
from dpor.instrument.expressions import Expressions
from dpor.instrument.scopes import analyze
from dpor.instrument.statements import Statements
from dpor.results import SourceSpan

_BUILTINS = "__builtins__"
RUNNERS: Mapping[str, str] = {"exec": "__dpor_exec__", "eval": "__dpor_eval__"}
"""What a module of the library calls instead of a built-in function that executes text, among the built-in names."""
_FEATURES: list[int] = [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
# Each has a bit of its own.
_FUTURE = sum(set(_FEATURES))


class Transformer(Definitions, Statements, Assignments, Calls, Comprehensions, Expressions):
    """Rewrites one module; each base handles one kind of node."""


def instrument_tree(
    tree: ast.Module, rebound: frozenset[str] = frozenset(), *, sees_operands: bool = False
) -> ast.Module:
    """Rewrite a parsed module in place and return it.

    `rebound` names globals that are rebound from outside the module's own functions; with `sees_operands` operators
    are told of that have a literal operand, too.
    """
    transformer = Transformer(analyze(tree, rebound), sees_operands=sees_operands)
    tree.body = transformer.block(tree.body)
    return ast.fix_missing_locations(tree)


def instrument_expression(
    tree: ast.Expression, rebound: frozenset[str], local: frozenset[str]
) -> ast.Expression:
    """Rewrite a parsed expression in place and return it.

    `rebound` names the globals that it may read, `local` the variables that are no globals where it stands.
    """
    statement = ast.Module([ast.copy_location(ast.Expr(tree.body), tree.body)], [])
    transformer = Transformer(analyze(statement, rebound, local), sees_operands=True)
    tree.body = transformer.without_naming(tree.body)
    return ast.fix_missing_locations(tree)


def future_features(code: CodeType) -> int:
    """The flags of `compile` for the features of `__future__` that code has: what it executes as text has them too."""
    return code.co_flags & _FUTURE


def compile_instrumented(
    source: str | bytes,
    filename: str,
    rebound: frozenset[str] = frozenset(),
    *,
    marks_lines: bool = False,
    sees_operands: bool = False,
    of_library: bool = False,
    flags: int = 0,
) -> CodeType:
    """Compile a module's source, instrumented, and with `marks_lines` so that it tells which lines are reached.

    What a module `of_library` executes from text is instrumented, too. `rebound` and `sees_operands` are those of
    `instrument_tree`, `flags` those of `compile`.

    Raises SyntaxError or ValueError as `compile` does, RecursionError for what nests too deeply, and DporError
    (UNSUPPORTED_CONSTRUCT) for code that replaces the namespace of the built-in functions. Assertions are kept even
    under `python -O`.
    """
    tree = ast.parse(source, filename)
    # What the compiler refuses or warns of may not be there any more once it is instrumented: a pattern, a late
    # declaration, a comparison with `is`.
    compile(tree, filename, "exec", flags, dont_inherit=True)
    if _mentions(source, _BUILTINS):
        _require_builtins(tree, filename)
    if of_library and any(_mentions(source, name) for name in RUNNERS):
        _redirect_runners(tree)
    tree = instrument_tree(tree, rebound, sees_operands=sees_operands)
    if marks_lines:
        tree = mark_lines(tree, filename)
    with warnings.catch_warnings():
        # It has warned.
        warnings.simplefilter("ignore", SyntaxWarning)
        return compile(tree, filename, "exec", flags, dont_inherit=True, optimize=0)


def _redirect_runners(tree: ast.Module) -> None:
    """Have a module call what stands for the built-in functions that execute text, unless it binds such a name."""
    loaded: list[ast.Name] = []
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                loaded.append(node)
            else:
                bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name)
    for node in loaded:
        if node.id not in bound:
            node.id = RUNNERS.get(node.id, node.id)


def _mentions(source: str | bytes, word: str) -> bool:
    return word in source if isinstance(source, str) else word.encode() in source


def _require_builtins(tree: ast.Module, filename: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == _BUILTINS and not isinstance(node.ctx, ast.Load):
            raise DporError(
                Code.UNSUPPORTED_CONSTRUCT,
                f"a module that rebinds {_BUILTINS} cannot be checked: its hooks are found like built-in functions",
                f"leave {_BUILTINS} as it is; to replace one function, bind its name in the module",
                SourceSpan(filename, node.lineno, node.col_offset + 1),
            )
