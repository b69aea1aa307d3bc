"""The statements in a tree, found without a look at its expressions, which hold none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a module or statement itself, those of its handlers and cases too; the lists of the tree."""
    for name in ("body", "orelse", "finalbody"):
        block = cast("list[ast.stmt]", getattr(node, name, None))
        if block:
            yield block
    for name in ("handlers", "cases"):
        for part in cast("list[ast.ExceptHandler | ast.match_case]", getattr(node, name, ())):
            yield part.body


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements inside a module or statement, also those of functions and classes in it; outer ones first."""
    open_blocks = list(blocks(node))
    while open_blocks:
        for statement in open_blocks.pop():
            yield statement
            open_blocks.extend(blocks(statement))
