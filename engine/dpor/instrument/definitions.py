"""Rewriting of function and class definitions and lambdas."""

from __future__ import annotations

import ast

from dpor.instrument.comprehensions import Iterables
from dpor.instrument.hooks import RETURNED_VALUE, Hook, temporary
from dpor.instrument.implicit import Implicit
from dpor.instrument.rewriter import at
from dpor.instrument.scopes import parameters
from dpor.instrument.symbols import Access, Scope, ScopeKind

_LEAVING = frozenset({"__exit__", "__aexit__"})
# Their code runs once for each time that the code around them does.
_AT_ONCE = frozenset({ScopeKind.CLASS, ScopeKind.TYPE_PARAMETERS})


class Definitions(Iterables):
    """Definitions open scopes; a function starts by making the cells that it owns."""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
        self._decorators(node)
        self._defaults(node.args)
        self._annotations(node)
        outer, self.scope = self.scope, self.symbols.scopes[node]
        generates = isinstance(node, ast.FunctionDef) and self.scope.yields
        tells, self.tells_value = self.tells_value, generates
        body = self.block(node.body)
        self.tells_value = tells
        if generates:
            body = self._telling_of_end(node, body)
        cells = [self._new_cell(node, name) for name in self.symbols.cells(self.scope)]
        node.body = _after_docstring(body, [*cells, *self._keywords(node), *self._leaving(node)])
        self.scope = outer
        return node

    def _telling_of_end(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """The body of a generator, with the host told when it is left, while nobody else can advance it."""
        position = _heading(node)
        value = at(ast.Name(RETURNED_VALUE, ast.Load()), position)
        told = at(ast.Expr(self.hook(Hook.RETURNED, position, value)), position)
        first = body[:1] if _documents(body) else []
        return [
            *first,
            at(ast.Assign([ast.Name(RETURNED_VALUE, ast.Store())], ast.Constant(None)), position),
            at(ast.Try(body[len(first) :] or [at(ast.Pass(), position)], [], [], [told]), position),
        ]

    visit_AsyncFunctionDef = visit_FunctionDef

    def _leaving(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
        """Statements that begin what `with` calls with an exception."""
        outer = self.scope.parent
        if node.name not in _LEAVING or outer is None or outer.kind is not ScopeKind.CLASS:
            return []
        return [at(ast.Expr(self.implicit(Implicit.CAUGHT, _heading(node))), _heading(node))]

    def _keywords(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
        """Statements that make the dict known that `**keywords` is."""
        keywords = node.args.kwarg
        if keywords is None or self.access(keywords.arg) is not Access.PLAIN:
            return []
        return self.made_by_unpacking([at(ast.Name(keywords.arg, ast.Load()), _heading(node))])

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._defaults(node.args)
        outer, self.scope = self.scope, self.symbols.scopes[node]
        body = self.expression(node.body)
        cells = self.symbols.cells(self.scope)
        if cells:
            made = [ast.NamedExpr(ast.Name(name, ast.Store()), self._cell(node, name)) for name in cells]
            whole = ast.Tuple([*made, body], ast.Load())
            body = at(ast.Subscript(whole, ast.Constant(len(cells)), ast.Load()), body)
        node.body = body
        self.scope = outer
        return self.hook(Hook.DEFINED, node, node) if self._is_made_anew() else node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        self._decorators(node)
        outer = self.scope
        parameters: Scope | None = self.symbols.type_parameter_scopes.get(node)
        self.scope = parameters or outer
        self._unnamable += parameters is not None
        node.bases = self.expressions(node.bases)
        for keyword in node.keywords:
            value, position = keyword.value, keyword.value
            keyword.value = self.expression(value) if keyword.arg else self.merged(value)
            if keyword.arg in {"metaclass", None}:
                keyword.value = self.hook(Hook.METACLASS, position, keyword.value)
        self._unnamable -= parameters is not None
        self.scope = self.symbols.scopes[node]
        node.body = self.block(node.body)
        self.scope = outer
        return node

    def visit_TypeAlias(self, node: ast.stmt) -> ast.stmt:
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = self.expressions(arguments.defaults)
        arguments.kw_defaults = [self.optional(default) for default in arguments.kw_defaults]

    def _annotations(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self.scope = self.scope, self.symbols.type_parameter_scopes.get(node, self.scope)
        for argument in parameters(node.args):
            if argument.annotation is not None:
                argument.annotation = self.annotation(argument.annotation)
        if node.returns is not None:
            node.returns = self.annotation(node.returns)
        self.scope = outer

    def _decorators(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        decorators = [
            decorator if self._marks_model(decorator) else self.callee(decorator)
            for decorator in node.decorator_list
        ]
        if self.access(node.name) is not Access.PLAIN:
            decorators.insert(0, self._binder(node))
        if self._is_made_anew():
            decorators.append(at(ast.Name(Hook.DEFINED.identifier, ast.Load()), _heading(node)))
        node.decorator_list = decorators

    def _is_made_anew(self) -> bool:
        """Whether what is defined here is another one each time: for each call of the function around it."""
        scope: Scope | None = self.scope
        while scope is not None and scope.kind in _AT_ONCE:
            scope = scope.parent
        return scope is not None and scope.kind is not ScopeKind.MODULE

    def _called(self, decorator: ast.expr) -> ast.expr:
        """Rewrite a decorator, which the interpreter calls."""
        return self.hook(Hook.CALLEE, decorator, self.expression(decorator))

    def _binder(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.expr:
        """A decorator that stores the definition in its shared name and returns what is to be bound to that name:
        the cell itself, or the definition again for a global.

        Renaming the definition instead would show in `__name__` and `__qualname__`.
        """
        name = temporary(0)
        position = node.decorator_list[0] if node.decorator_list else _heading(node)
        store = self.store_name(ast.Name(name, ast.Load()), node.name, position)
        kept = node.name if self.access(node.name) is Access.CELL else name
        pair = ast.Tuple([store, ast.Name(kept, ast.Load())], ast.Load())
        body = at(ast.Subscript(pair, ast.Constant(1), ast.Load()), position)
        arguments = ast.arguments([], [at(ast.arg(name), position)], None, [], [], None, [])
        return at(ast.Lambda(arguments, body), position)

    def _marks_model(self, decorator: ast.expr) -> bool:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(function, ast.Attribute):
            return function.attr == "model" and isinstance(function.value, ast.Name)
        return (
            isinstance(function, ast.Name) and function.id == "model" and self.access("model") is Access.PLAIN
        )

    def _new_cell(self, node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.stmt:
        position = _heading(node)
        cell = self._cell(position, name)
        return at(ast.Assign([at(ast.Name(name, ast.Store()), position)], cell), position)

    def _cell(self, position: ast.AST, name: str) -> ast.expr:
        value = [ast.Name(name, ast.Load())] if self.scope.variables[name].parameter else []
        return self.hook(Hook.NEW_CELL, position, ast.Constant(name), *value)


def _heading(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.expr:
    """A stand-in for the `def` or `class` keyword, as a position."""
    width = 5 if isinstance(node, ast.ClassDef) else 3
    return ast.Name(
        node.name,
        ast.Load(),
        lineno=node.lineno,
        col_offset=node.col_offset,
        end_lineno=node.lineno,
        end_col_offset=node.col_offset + width,
    )


def _after_docstring(body: list[ast.stmt], extra: list[ast.stmt]) -> list[ast.stmt]:
    return [*body[:1], *extra, *body[1:]] if _documents(body) else [*extra, *body]


def _documents(body: list[ast.stmt]) -> bool:
    """Whether a body begins with a docstring."""
    first = body[0] if body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
