"""Which lines of the model's file its executions reach.

Every statement of a function is preceded by a mark in a byte array, which costs less than an event does and changes
nothing that the model could see.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import zlib
from collections.abc import Iterator
from typing import TypedDict

from dpor.instrument.blocks import blocks, statements
from dpor.results import Coverage

Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Place(TypedDict):
    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


def mark_lines(tree: ast.Module, filename: str) -> ast.Module:
    """Precede each statement of each function by its mark, in place; done after instrumentation. Returns the tree."""
    name = _array_name(filename)
    for function in [one for one in statements(tree) if isinstance(one, Function)]:
        _mark_function(function, name)
    return tree


def put_array(filename: str, reached: bytearray) -> None:
    """Let the marks of a file find its byte array, among the built-in names: 1 at the number of each reached line."""
    names = builtins.__dict__
    name = _array_name(filename)
    # Functions of the file as it was can be left, with marks on lines that it has no longer.
    reached.extend(bytes(max(0, len(names.get(name, b"")) - len(reached))))
    names[name] = reached


def _array_name(filename: str) -> str:
    return f"__dpor_reached_{zlib.crc32(filename.encode(errors='surrogatepass')):x}__"


def covered_lines(source: str | bytes, model: str, reached: bytearray) -> Coverage:
    """What of a file's functions was reached: the model itself, and each function of which anything was.

    `model` is the model's qualified name, `reached` the byte array of the file. Raises SyntaxError.
    """
    lines: set[int] = set()
    for name, function in _functions(ast.parse(source), ""):
        own = {statement.lineno for statement in _statements(function)}
        if name == model or any(reached[line] for line in own if line < len(reached)):
            lines |= own
    missed = tuple(sorted(line for line in lines if line >= len(reached) or not reached[line]))
    return Coverage(reached=len(lines) - len(missed), missed=missed)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in itertools.chain.from_iterable(blocks(node)):
        if isinstance(child, Function):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _statements(function: Function) -> Iterator[ast.stmt]:
    """The statements of a function's own body that do something, without those of functions and classes in it."""
    for block in _blocks(function):
        yield from (statement for statement in block if _is_marked(statement, block, function))


def _blocks(function: Function) -> Iterator[list[ast.stmt]]:
    open_statements: list[ast.stmt] = [function]
    while open_statements:
        for block in blocks(open_statements.pop()):
            yield block
            open_statements.extend(item for item in block if not isinstance(item, Function | ast.ClassDef))


def _is_marked(statement: ast.stmt, block: list[ast.stmt], function: Function) -> bool:
    if isinstance(statement, ast.Global | ast.Nonlocal):
        return False
    documents = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return not (documents and block is function.body and statement is block[0])


def _mark_function(function: Function, name: str) -> None:
    for block in list(_blocks(function)):
        marked: list[ast.stmt] = []
        last = 0
        for statement in block:
            # Instrumentation makes several statements of one; they stand on one line.
            if _is_marked(statement, block, function) and statement.lineno != last:
                marked.append(_mark(statement, name))
                last = statement.lineno
            marked.append(statement)
        block[:] = marked


def _mark(statement: ast.stmt, name: str) -> ast.stmt:
    at: _Place = {
        "lineno": statement.lineno,
        "col_offset": statement.col_offset,
        "end_lineno": statement.end_lineno,
        "end_col_offset": statement.end_col_offset,
    }
    line = ast.Constant(statement.lineno, **at)
    cell = ast.Subscript(ast.Name(name, ast.Load(), **at), line, ast.Store(), **at)
    return ast.Assign([cell], ast.Constant(1, **at), **at)
