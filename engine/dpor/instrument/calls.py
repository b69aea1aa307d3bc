"""Rewriting of calls."""

from __future__ import annotations

import ast
import builtins

from dpor.instrument.hooks import Hook
from dpor.instrument.rewriter import Rewriter


def _keeps_arguments(kind: type) -> bool:
    """Whether an exception's class adds nothing to `BaseException`, which keeps what it is given as it is."""
    bases = kind.__mro__[: kind.__mro__.index(BaseException)]
    return all(vars(base).keys() <= _OF_PLAIN_EXCEPTIONS for base in bases)


_OF_PLAIN_EXCEPTIONS = {"__doc__", "__init__", "__module__", "__new__", "__str__"}
_EXCEPTIONS = frozenset(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and _keeps_arguments(value)
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
        "property",
    }
    | {"range", "staticmethod", "super"}
    | _EXCEPTIONS
)
_TOLD_OF_STATEMENTS = frozenset({"wait"})
"""Methods that may do with less where a statement is nothing but their call: `Barrier.wait` returns an order."""
FRAME_BUILTINS = frozenset({"dir", "globals", "locals", "super", "vars"})
"""Built-in functions whose result depends on the frame that calls them."""


class Calls(Rewriter):
    """Calls: the callee goes through a hook unless it is known to be an instrumented function or harmless."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """A method is told that nobody looks at its result, if that makes a difference for one of this name."""
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            node.value = self.expression(call)
            return node
        tells = call.func.attr in _TOLD_OF_STATEMENTS
        call.func = self._method(call.func, Hook.METHOD_OF_STATEMENT if tells else Hook.METHOD)
        node.value = self._arguments(call)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.func = self._function(node.func)
        return self._arguments(node)

    def _arguments(self, node: ast.Call) -> ast.expr:
        node.args = self.expressions(node.args)
        for keyword in node.keywords:
            value = self.expression(keyword.value) if keyword.arg else self.merged(keyword.value)
            keyword.value = value
        return node

    def callee(self, decorator: ast.expr) -> ast.expr:
        """Rewrite a decorator, which is called with what it decorates."""
        return self._function(decorator)

    def _function(self, function: ast.expr) -> ast.expr:
        if isinstance(function, ast.Attribute):
            return self._method(function, Hook.METHOD)
        if not self._is_direct(function):
            return self.hook(Hook.CALLEE, function, self.expression(function))
        return function if isinstance(function, ast.Name) else self.expression(function)

    def _method(self, function: ast.Attribute, hook: Hook) -> ast.expr:
        name = ast.Constant(self.scope.mangle(function.attr))
        return self.hook(hook, function, self.expression(function.value), name)

    def _is_direct(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Lambda):
            return True
        if not isinstance(function, ast.Name):
            return False
        if self.symbols.is_fixed_function(self.scope, self.scope.mangle(function.id)):
            return True
        return self.is_builtin(function, _INERT)
