"""The edit that has a model look inside a package: `instrument=("package",)` in its decorator."""

from __future__ import annotations

import ast

from lsprotocol import types

from dpor.lines import split_lines
from dpor_lsp.language_server.analysis import ModelOutline
from dpor_lsp.language_server.positions import Encoding


def instrument_edit(
    text: str, model: ModelOutline, package: str, encoding: Encoding
) -> types.TextEdit | None:
    """The edit of the model's decorator; None where there is an `instrument` that is no literal, or none to edit."""
    decorator = _decorator(text, model)
    if decorator is None or decorator.end_lineno is None or decorator.end_col_offset is None:
        return None
    if not isinstance(decorator, ast.Call):
        position = _position(text, decorator.end_lineno, decorator.end_col_offset, encoding)
        return types.TextEdit(types.Range(position, position), f'(instrument=("{package}",))')
    existing = next((item for item in decorator.keywords if item.arg == "instrument"), None)
    if existing is None:
        comma = ", " if decorator.args or decorator.keywords else ""
        position = _position(text, decorator.end_lineno, decorator.end_col_offset - 1, encoding)
        return types.TextEdit(types.Range(position, position), f'{comma}instrument=("{package}",)')
    value = existing.value
    try:
        names: object = ast.literal_eval(value)
    except ValueError:
        return None
    known = (names,) if isinstance(names, str) else names
    if not isinstance(known, tuple | list) or value.end_lineno is None or value.end_col_offset is None:
        return None
    start = _position(text, value.lineno, value.col_offset, encoding)
    end = _position(text, value.end_lineno, value.end_col_offset, encoding)
    everything = ", ".join(f'"{name}"' for name in [*known, package])  # pyright: ignore[reportUnknownVariableType]
    return types.TextEdit(types.Range(start, end), f"({everything})")


def _decorator(text: str, model: ModelOutline) -> ast.expr | None:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno == model.info.line:
            return next((item for item in node.decorator_list if item.lineno == model.decorator), None)
    return None


def _position(text: str, line: int, column: int, encoding: Encoding) -> types.Position:
    content = split_lines(text)[line - 1].encode()[:column].decode(errors="replace")
    return types.Position(line - 1, encoding.units(content))
