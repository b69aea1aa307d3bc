"""Rewriting of compound and simple statements that do not only bind."""

from __future__ import annotations

import ast

from dpor.instrument.assignments import Assignments
from dpor.instrument.hooks import SINGLETONS, Hook, loop_token
from dpor.instrument.rewriter import at
from dpor.instrument.symbols import Access, ScopeKind

_NUMBERS = frozenset({"__bool__", "__hash__", "__index__", "__int__", "__length_hint__"})


class Statements(Assignments):
    """Loops, conditions, with, try, match."""

    def visit_If(self, node: ast.If | ast.While) -> ast.stmt:
        node.test = self.test(node.test)
        node.body = self.block(node.body)
        node.orelse = self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        """A loop in a function tells the host of each of its iterations: one that only looks need not be repeated."""
        watched = self.scope.kind is ScopeKind.FUNCTION and not _is_left_and_resumed(node)
        head = node.test
        self.visit_If(node)
        if not watched:
            return node
        token = loop_token(self._loops)
        self._loops += 1
        entered = at(ast.Assign([ast.Name(token, ast.Store())], self.hook(Hook.ENTER_LOOP, head)), head)
        look = self.hook(Hook.AT_LOOP_HEAD, head, ast.Name(token, ast.Load()))
        node.test = at(ast.BoolOp(ast.And(), [look, node.test]), head)
        return [entered, node]

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        """What Python takes for a plain number, by the name of the method, has to be one."""
        function = self.scope.node
        node.value = self.optional(node.value)
        if node.value is not None and isinstance(function, ast.FunctionDef) and function.name in _NUMBERS:
            node.value = self.hook(Hook.NUMBER, node.value, node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        node.test = self.test(node.test)
        node.msg = self.optional(node.msg)
        return node

    def visit_For(self, node: ast.For | ast.AsyncFor) -> ast.stmt:
        iterable = node.iter
        unpacks = self.unpacks_shared(node.target, iterable)
        node.iter = self.expression(iterable) if isinstance(node, ast.AsyncFor) else self.iterable(iterable)
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
            item.context_expr = self.expression(item.context_expr)
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
        node.type = self.optional(node.type)
        body = self.block(node.body)
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

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        subject = node.subject
        if any(_looks_inside(case.pattern) for case in node.cases):
            node.subject = self.hook(Hook.MATCHED, subject, self.raw_display(subject))
        else:
            node.subject = (
                self.contents(subject) if isinstance(subject, ast.Tuple) else self.unpacked(subject)
            )
        for case in node.cases:
            self._case(case)
        return node

    def _case(self, case: ast.match_case) -> None:
        captured: dict[str, str] = {}
        made: list[ast.expr] = []
        case.pattern = _Singletons().visit(case.pattern)
        for pattern in ast.walk(case.pattern):
            if isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name:
                pattern.name = self._capture(pattern.name, captured)
            elif isinstance(pattern, ast.MatchMapping) and pattern.rest:
                pattern.rest = self._capture(pattern.rest, captured)
            name = pattern.name if isinstance(pattern, ast.MatchStar) else getattr(pattern, "rest", None)
            if name:
                made.append(at(ast.Name(name, ast.Load()), case.pattern))
        stores = [
            self.store_name(at(ast.Name(name, ast.Load()), case.pattern), bound, case.pattern)
            for bound, name in captured.items()
        ]
        binding = self.made_by_unpacking(made)
        if case.guard is None:
            binding += [at(ast.Expr(store), case.pattern) for store in stores]
        else:
            guard = self.test(case.guard)
            done = [
                at(ast.Compare(store, [ast.Is()], [ast.Constant(None)]), case.pattern) for store in stores
            ]
            case.guard = at(ast.BoolOp(ast.And(), [*done, guard]), guard) if done else guard
        case.body = [*binding, *self.block(case.body)]

    def _capture(self, name: str, captured: dict[str, str]) -> str:
        if self.access(name) is Access.PLAIN:
            return name
        if name not in captured:
            captured[name] = self.temporary()
        return captured[name]


class _Singletons(ast.NodeTransformer):
    """Patterns compare with True and False by identity, which a truth value that is symbolic does not have."""

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.pattern:
        if node.value is None:
            return node
        kind = ast.Name(SINGLETONS[node.value], ast.Load())
        return ast.copy_location(ast.MatchClass(ast.copy_location(kind, node), [], [], []), node)


def _is_left_and_resumed(loop: ast.While) -> bool:
    """True if others may run code of the same thread between two iterations: the loop yields or awaits."""
    suspending = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
    return any(isinstance(node, suspending) for node in ast.walk(loop))


def _looks_inside(pattern: ast.pattern) -> bool:
    """Whether a pattern reads more than the items of its subject."""
    structures = (ast.MatchSequence, ast.MatchMapping, ast.MatchClass)
    found = [child for child in ast.walk(pattern) if isinstance(child, structures)]
    return len(found) > 1 or any(isinstance(child, ast.MatchClass) for child in found)
