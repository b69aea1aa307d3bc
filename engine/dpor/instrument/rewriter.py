"""What every part of the transformer shares: the current scope, hook calls, temporaries, names."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from typing import TypeVar, cast

from dpor.instrument.hooks import SLICE, Hook, temporary
from dpor.instrument.implicit import Implicit
from dpor.instrument.symbols import Access, Scope, ScopeKind, Symbols

Node = TypeVar("Node", bound=ast.AST)
# Since Python 3.12 a comprehension is part of the function around it.
_INLINED = sys.version_info >= (3, 12)
DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict)


class Rewriter(ast.NodeTransformer):
    """Base of the transformer. Nodes made here carry the position of the original node they stand for; their
    children without a position inherit it (`ast.fix_missing_locations` at the end).
    """

    def __init__(self, symbols: Symbols, *, sees_operands: bool = False) -> None:
        self.symbols = symbols
        self.sees_operands = sees_operands
        """Whether an operator reads an operand though the other one is a literal."""
        self.scope: Scope = symbols.module
        self._temporaries = 0
        self._loops = 0
        self._unnamable = 0
        self.tells_value = False
        """Whether the function that is rewritten keeps what it returns, for the host."""
        self._evaluates_annotations = sys.version_info < (3, 14) and not _postpones_annotations(
            symbols.module.node
        )

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST] | None:
        """Rewrite a node; the temporaries of a statement can be reused by the next one."""
        if not isinstance(node, ast.stmt):
            return super().visit(node)
        outer, self._temporaries = self._temporaries, 0
        try:
            return super().visit(node)
        finally:
            self._temporaries = outer

    def expression(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression."""
        return cast(ast.expr, self.visit(node))

    def optional(self, node: ast.expr | None) -> ast.expr | None:
        """Rewrite an expression that may be missing."""
        return None if node is None else self.expression(node)

    def expressions(self, nodes: Iterable[ast.expr]) -> list[ast.expr]:
        """Rewrite expressions, in order."""
        return [self.expression(node) for node in nodes]

    def block(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Rewrite a block of statements; one may become several."""
        result: list[ast.stmt] = []
        for statement in statements:
            rewritten = self.visit(statement)
            if isinstance(rewritten, list):
                result.extend(cast("list[ast.stmt]", rewritten))
            elif rewritten is not None:
                result.append(cast(ast.stmt, rewritten))
        return result

    def hook(self, hook: Hook, original: ast.AST, *arguments: ast.expr) -> ast.Call:
        """A call of `hook` in place of `original`."""
        call = ast.Call(ast.Name(hook.identifier, ast.Load()), list(arguments), [])
        return ast.copy_location(call, original)

    def implicit(self, function: Implicit, original: ast.AST, *arguments: ast.expr) -> ast.Call:
        """A call of what stands for something that the interpreter does unasked, in place of `original`."""
        call = ast.Call(ast.Name(function.identifier, ast.Load()), list(arguments), [])
        return ast.copy_location(call, original)

    def temporary(self) -> str:
        """The name of a fresh temporary of the current statement."""
        name = temporary(self._temporaries)
        self._temporaries += 1
        return name

    @property
    def can_name_values(self) -> bool:
        """False where `:=` is forbidden (class bodies, iterables of comprehensions) or not private to a thread
        (generator expressions).
        """
        scope: Scope | None = self.scope
        while scope is not None and scope.kind is ScopeKind.COMPREHENSION:
            scope = scope.parent
        namable = (ScopeKind.FUNCTION, ScopeKind.LAMBDA, ScopeKind.MODULE)
        return self._unnamable == 0 and scope is not None and scope.kind in namable

    def without_naming(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression that stands where `:=` is forbidden."""
        self._unnamable += 1
        try:
            return self.expression(node)
        finally:
            self._unnamable -= 1

    def annotation(self, node: ast.expr) -> ast.expr:
        """Rewrite an annotation, if it is evaluated where it stands. One that is evaluated when somebody asks for it is
        also shown as text, and stays as it is.
        """
        return self.without_naming(node) if self._evaluates_annotations else node

    def access(self, name: str) -> Access:
        """How the current scope must access the name."""
        return self.symbols.access(self.scope, self.scope.mangle(name))

    def is_builtin(self, node: ast.expr, names: frozenset[str]) -> bool:
        """True if `node` is a name among `names` that stands for the built-in."""
        return (
            isinstance(node, ast.Name) and node.id in names and self.symbols.is_builtin(self.scope, node.id)
        )

    def is_stable_name(self, node: ast.expr, *others: ast.expr) -> bool:
        """True if reading the name `node` twice, with `others` evaluated in between, gives the same value."""
        if isinstance(node, ast.Constant):
            return True
        if not isinstance(node, ast.Name) or self.access(node.id) is not Access.PLAIN:
            return False
        return not any(isinstance(child, ast.NamedExpr) for other in others for child in ast.walk(other))

    def load_name(self, node: ast.Name) -> ast.expr:
        """Read a variable."""
        access = self.access(node.id)
        if access is Access.CELL:
            return self.hook(Hook.LOAD_CELL, node, node, *self.whose(node.id))
        if access is Access.GLOBAL:
            return self.hook(Hook.LOAD_GLOBAL, node, self.global_key(node.id))
        return node

    def whose(self, name: str) -> list[ast.expr]:
        """What tells a hook for a variable in a cell that it belongs to a function around this one."""
        scope, owner = self.scope, self.symbols.owner(self.scope, self.scope.mangle(name))
        while _INLINED and scope.kind is ScopeKind.COMPREHENSION and scope is not owner and scope.parent:
            scope = scope.parent
        return [] if scope is owner else [ast.Constant(True)]

    def global_key(self, name: str) -> ast.Constant:
        """The key of a global in the module's namespace."""
        return ast.Constant(self.scope.mangle(name))

    def key(self, node: ast.expr) -> ast.expr:
        """Rewrite what stands between brackets; a slice becomes a slice object."""
        if isinstance(node, ast.Slice):
            bounds = [
                ast.Constant(None) if bound is None else self.expression(bound)
                for bound in (node.lower, node.upper, node.step)
            ]
            return ast.copy_location(ast.Call(ast.Name(SLICE, ast.Load()), bounds, []), node)
        if isinstance(node, ast.Tuple):
            node.elts = [self.key(element) for element in node.elts]
            return node
        return self.expression(node)

    def is_plain_target(self, target: ast.expr) -> bool:
        """True for a name that the interpreter may bind by itself."""
        return isinstance(target, ast.Name) and self.access(target.id) is Access.PLAIN

    def store(self, value: ast.expr, target: ast.expr, position: ast.AST | None = None) -> ast.expr:
        """A hook call that binds `target` (attribute, item, shared name; not a plain name) to `value`."""
        where = position or target
        if isinstance(target, ast.Attribute):
            name = ast.Constant(self.scope.mangle(target.attr))
            return self.hook(Hook.STORE_ATTRIBUTE, where, value, self.expression(target.value), name)
        if isinstance(target, ast.Subscript):
            container = self.expression(target.value)
            return self.hook(Hook.STORE_ITEM, where, value, container, self.key(target.slice))
        assert isinstance(target, ast.Name)
        return self.store_name(value, target.id, where)

    def store_name(self, value: ast.expr, name: str, position: ast.AST) -> ast.expr:
        """A hook call that binds a shared name (not a plain one) to `value`."""
        if self.access(name) is Access.CELL:
            return self.hook(Hook.STORE_CELL, position, value, ast.Name(name, ast.Load()))
        return self.hook(Hook.STORE_GLOBAL, position, value, self.global_key(name))

    def made_by_unpacking(self, names: Iterable[ast.expr]) -> list[ast.stmt]:
        """Statements that make the lists known that unpacking has just bound to plain names."""
        return [
            at(ast.Expr(self.hook(Hook.CREATED, name, ast.Name(name.id, ast.Load()))), name)
            for name in names
            if isinstance(name, ast.Name)
        ]

    def observe(self, node: ast.expr, original: ast.expr | None = None) -> ast.expr:
        """Announce that the (rewritten) value is about to be read as a whole."""
        return self.hook(Hook.OBSERVE, original or node, node)

    def unpacked(self, node: ast.expr, target: ast.expr | None = None) -> ast.expr:
        """Rewrite a value that is about to be unpacked, into a target or (with `*`) as a whole."""
        if isinstance(node, ast.Tuple | ast.List):
            return self.raw_display(node)
        if isinstance(node, ast.Constant):
            return node
        return self.unpack(self.expression(node), target, node)

    def unpack(self, value: ast.expr, target: ast.expr | None, position: ast.expr) -> ast.expr:
        """Announce that a rewritten value is about to be unpacked."""
        names = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        is_whole = not names or any(isinstance(name, ast.Starred) for name in names)
        return self.hook(Hook.UNPACKED, position, value, ast.Constant(None if is_whole else len(names)))

    def merged(self, node: ast.expr) -> ast.expr:
        """Rewrite what stands after `**`."""
        if isinstance(node, ast.Dict):
            return self.contents(node)
        return self.hook(Hook.MERGED, node, self.expression(node))

    def raw_display(self, node: ast.expr) -> ast.expr:
        """Rewrite a display, or what an operator gives, that is used up on the spot: nobody needs to hear of it."""
        if isinstance(node, (*DISPLAYS, ast.ListComp, ast.SetComp, ast.DictComp, ast.BinOp)):
            return self.contents(node)
        return self.expression(node)

    def contents(self, node: ast.expr) -> ast.expr:
        """Rewrite what is in a display, comprehension or operation, not the display itself."""
        raise NotImplementedError

    def callee(self, decorator: ast.expr) -> ast.expr:
        """Rewrite a decorator."""
        raise NotImplementedError

    def test(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression of which only the truth matters."""
        raise NotImplementedError


def _postpones_annotations(module: ast.AST) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in ast.iter_child_nodes(module)
    )


def at(node: Node, original: ast.AST) -> Node:
    """Give a made-up node the position of the original."""
    return ast.copy_location(node, original)


def is_constant(node: ast.expr) -> bool:
    """True for a literal: a constant or a negative number."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant)


def is_bytes(node: ast.expr) -> bool:
    """True for a literal that an operator can put beside what other threads change, a `bytearray`."""
    return isinstance(node, ast.Constant) and isinstance(node.value, bytes)


def is_number(node: ast.expr) -> bool:
    """True for a numeric literal."""
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return (
        is_constant(node)
        and isinstance(value, ast.Constant)
        and isinstance(value.value, int | float | complex)
    )
