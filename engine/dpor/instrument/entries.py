"""Code of packages that nobody asked to look into: it only tells that it runs."""

from __future__ import annotations

import ast
from types import CodeType

MARKER = "__dpor_entered__"
"""The name of what a marked module calls whenever a function of it begins to run, among the built-in names."""


class _Marking(ast.NodeTransformer):
    """Puts a call of the marker at the beginning of every function."""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        documented = ast.get_docstring(node, clean=False) is not None
        node.body.insert(1 if documented else 0, ast.copy_location(ast.Expr(_call(node)), node))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        # The marker gives None.
        node.body = ast.copy_location(ast.BoolOp(ast.Or(), [_call(node), node.body]), node.body)
        return node


def _call(node: ast.AST) -> ast.expr:
    position = ast.Name(MARKER, ast.Load())
    return ast.copy_location(ast.Call(ast.copy_location(position, node), [], []), node)


def compile_marked(source: str | bytes, filename: str) -> CodeType:
    """Compile a module so that each function of it calls the marker first.

    Raises SyntaxError or ValueError as `compile` does.
    """
    tree = _Marking().visit(ast.parse(source, filename))
    return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)
