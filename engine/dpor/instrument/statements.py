"""Rewriting of compound and simple statements that do not only bind."""

from __future__ import annotations

import ast

from dpor.instrument.hooks import RETURNED_VALUE, Hook, loop_token
from dpor.instrument.implicit import Implicit
from dpor.instrument.patterns import Patterns
from dpor.instrument.rewriter import at
from dpor.instrument.symbols import Access, ScopeKind

_NUMBERS = frozenset({"__bool__", "__hash__", "__index__", "__int__", "__length_hint__"})
_AWAITED = frozenset({"__aenter__", "__aexit__", "__aiter__", "__anext__", "__await__"})


class Statements(Patterns):
    """Loops, conditions, with, try."""

    def visit_If(self, node: ast.If | ast.While) -> ast.stmt:
        node.test = self.test(node.test)
        node.body = self.block(node.body)
        node.orelse = self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        """A loop in a function tells the host of each of its turns.

        One that only looks need not be repeated, and for one that waits for a moment time passes.
        """
        enter, turn = (
            (Hook.ENTER_SUSPENDED_LOOP, Hook.AT_SUSPENDED_LOOP_HEAD)
            if _is_left_and_resumed(node)
            else (Hook.ENTER_LOOP, Hook.AT_LOOP_HEAD)
        )
        head = node.test
        self.visit_If(node)
        if self.scope.kind is not ScopeKind.FUNCTION:
            return node
        token = loop_token(self._loops)
        self._loops += 1
        entered = at(ast.Assign([ast.Name(token, ast.Store())], self.hook(enter, head)), head)
        look = self.hook(turn, head, ast.Name(token, ast.Load()))
        node.test = at(ast.BoolOp(ast.And(), [look, node.test]), head)
        return [entered, node]

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        """What Python takes for a plain number, by the name of the method, has to be one. What it awaits is told of."""
        function = self.scope.node
        node.value = self.optional(node.value)
        if node.value is not None and isinstance(function, ast.FunctionDef) and function.name in _NUMBERS:
            node.value = self.hook(Hook.NUMBER, node.value, node.value)
        if node.value is not None and isinstance(function, ast.FunctionDef) and function.name in _AWAITED:
            node.value = self.hook(Hook.AWAITED, node.value, node.value)
        if node.value is not None and self.tells_value:
            node.value = at(ast.NamedExpr(ast.Name(RETURNED_VALUE, ast.Store()), node.value), node.value)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.stmt | list[ast.stmt]:
        """Python changes the exception that it raises."""
        exception, cause = self.optional(node.exc), self.optional(node.cause)
        if exception is None:
            return [at(ast.Expr(self.hook(Hook.RERAISED, node)), node), node]
        if cause is None:
            node.exc = self.hook(Hook.RAISED, exception, exception)
        else:
            node.exc = self.hook(Hook.CHAINED, exception, exception, cause)
            node.cause = None
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        node.test = self.test(node.test)
        node.msg = self.optional(node.msg)
        return node

    def visit_For(self, node: ast.For | ast.AsyncFor) -> ast.stmt:
        iterable = node.iter
        unpacks = self.unpacks_shared(node.target, iterable)
        node.iter = (
            self.hook(Hook.AWAITED, iterable, self.expression(iterable))
            if isinstance(node, ast.AsyncFor)
            else self.iterable(iterable)
        )
        binding: list[ast.stmt] = []
        if unpacks or self.needs_help(node.target):
            node.target, binding = self._by_temporary(node.target)
        node.body = [*binding, *self.block(node.body)]
        node.orelse = self.block(node.orelse)
        return node

    visit_AsyncFor = visit_For

    def _by_temporary(self, target: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """A temporary in place of `target`, and the statements that bind the target to it."""
        name = self.temporary()
        statements = self.bind(target, at(ast.Name(name, ast.Load()), target))
        return at(ast.Name(name, ast.Store()), target), self.tidy(statements, target)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> ast.stmt:
        for index, item in enumerate(node.items):
            manager = self.expression(item.context_expr)
            if isinstance(node, ast.With):
                manager = self.implicit(Implicit.MANAGED, manager, manager)
            else:
                manager = self.hook(Hook.AWAITED, manager, manager)
            item.context_expr = manager
            target = item.optional_vars
            if target is None or self.is_plain_target(target):
                continue
            item.optional_vars, binding = self._by_temporary(target)
            rest = node.items[index + 1 :]
            if rest:
                inner = at(type(node)(rest, node.body), node)
                node.body = [*binding, self.visit_With(inner)]
            else:
                node.body = [*binding, *self.block(node.body)]
            node.items = node.items[: index + 1]
            return node
        node.body = self.block(node.body)
        return node

    visit_AsyncWith = visit_With

    def visit_Try(self, node: ast.Try | ast.TryStar) -> ast.stmt:
        node.body = self.block(node.body)
        for handler in node.handlers:
            self._handler(handler)
        node.orelse = self.block(node.orelse)
        node.finalbody = self.block(node.finalbody)
        return node

    visit_TryStar = visit_Try

    def _handler(self, node: ast.ExceptHandler) -> None:
        position = node.type or _keyword(node)
        node.type = self.optional(node.type)
        caught = [] if _looks_at_nothing(node) else [self.implicit(Implicit.CAUGHT, position)]
        body = [*(at(ast.Expr(call), position) for call in caught), *self.block(node.body)]
        name = node.name
        if name is None or self.access(name) is Access.PLAIN:
            node.body = body
            return
        node.name = self.temporary()
        caught = at(ast.Name(node.name, ast.Load()), node)
        store = at(ast.Expr(self.store_name(caught, name, node)), node)
        clear = at(ast.Expr(self.store_name(ast.Constant(None), name, node)), node)
        delete = at(ast.Expr(self.delete_name(name, node)), node)
        node.body = [store, at(ast.Try(body, [], [], [clear, delete]), node)]


def _looks_at_nothing(node: ast.ExceptHandler) -> bool:
    """True if a handler drops the exception without running any code that could look at it."""
    return node.name is None and all(
        isinstance(statement, ast.Pass | ast.Continue | ast.Break)
        or (isinstance(statement, ast.Return) and isinstance(statement.value, ast.Constant | None))
        for statement in node.body
    )


def _keyword(node: ast.ExceptHandler) -> ast.expr:
    """Something in the place of the word `except`."""
    end = node.col_offset + len("except")
    return ast.Constant(
        None, lineno=node.lineno, col_offset=node.col_offset, end_lineno=node.lineno, end_col_offset=end
    )


def _is_left_and_resumed(loop: ast.While) -> bool:
    """True if others may run code of the same thread between two iterations: the loop yields or awaits."""
    suspending = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
    return any(isinstance(node, suspending) for node in ast.walk(loop))
