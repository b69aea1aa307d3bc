"""Rewriting of calls."""

from __future__ import annotations

import ast
import builtins

from dpor.instrument.hooks import Hook
from dpor.instrument.rewriter import Rewriter

_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
# What these do depends on nothing shared, or on the very frame that calls them.
_INERT = frozenset(
    {
        "callable",
        "classmethod",
        "globals",
        "id",
        "isinstance",
        "issubclass",
        "locals",
        "property",
    }
    | {"range", "staticmethod", "super"}
    | _EXCEPTIONS
)
_FRAME_READERS = frozenset({"dir", "vars"})


class Calls(Rewriter):
    """Calls: the callee goes through a hook unless it is known to be an instrumented function or harmless."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute):
            name = ast.Constant(self.scope.mangle(function.attr))
            node.func = self.hook(Hook.METHOD, function, self.expression(function.value), name)
        elif not self._is_direct(node, function):
            node.func = self.hook(Hook.CALLEE, function, self.expression(function))
        elif not isinstance(function, ast.Name):
            node.func = self.expression(function)
        node.args = self.expressions(node.args)
        for keyword in node.keywords:
            value = self.expression(keyword.value) if keyword.arg else self.merged(keyword.value)
            keyword.value = value
        return node

    def _is_direct(self, node: ast.Call, function: ast.expr) -> bool:
        if isinstance(function, ast.Lambda):
            return True
        if not isinstance(function, ast.Name):
            return False
        if self.symbols.is_fixed_function(self.scope, self.scope.mangle(function.id)):
            return True
        frame_reader = function.id in _FRAME_READERS and not node.args
        return self.is_builtin(function, _INERT | _FRAME_READERS if frame_reader else _INERT)
