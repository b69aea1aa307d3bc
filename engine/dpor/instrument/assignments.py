"""Rewriting of statements that bind or unbind: assignments, augmented assignments, del, imports."""

from __future__ import annotations

import ast

from dpor.instrument.comprehensions import Iterables
from dpor.instrument.hooks import OPERATORS, Hook
from dpor.instrument.implicit import Implicit
from dpor.instrument.rewriter import at, is_number
from dpor.instrument.symbols import Access, ScopeKind


class Assignments(Iterables):
    """Statements that bind or unbind names, attributes and items."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        unpacks = any(isinstance(target, ast.Tuple | ast.List) for target in node.targets)
        is_one = unpacks and len(node.targets) == 1
        value = self.unpacked(node.value, node.targets[0]) if is_one else self.expression(node.value)
        if all(map(self._is_simple, node.targets)):
            node.value = value
            made = [leaf for target in node.targets for leaf in _starred(target)]
            return [node, *self.made_by_unpacking(made)] if made else node
        if len(node.targets) == 1:
            return self.tidy(self._bind(node.targets[0], value, node), node)
        name = self.temporary()
        result: list[ast.stmt] = [at(ast.Assign([ast.Name(name, ast.Store())], value), node)]
        for target in node.targets:
            result += self.bind(target, at(ast.Name(name, ast.Load()), target))
        return self.tidy(result, node)

    def _is_simple(self, target: ast.expr) -> bool:
        """True for names and flat tuples of names, which the interpreter may bind by itself."""
        if isinstance(target, ast.Tuple | ast.List):
            leaves = [leaf.value if isinstance(leaf, ast.Starred) else leaf for leaf in target.elts]
            return all(map(self.is_plain_target, leaves))
        return self.is_plain_target(target)

    def bind(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that bind any target to a rewritten value that nobody has announced."""
        if isinstance(target, ast.Tuple | ast.List):
            value = self.unpack(value, target, target)
        return self._bind(target, value, target)

    def _bind(self, target: ast.expr, value: ast.expr, position: ast.AST) -> list[ast.stmt]:
        if self._is_simple(target):
            return [at(ast.Assign([target], value), position), *self.made_by_unpacking(_starred(target))]
        if not isinstance(target, ast.Tuple | ast.List):
            return [at(ast.Expr(self.store(value, target, position)), position)]
        leaves: list[ast.expr] = []
        later: list[ast.stmt] = []
        for element in target.elts:
            starred = isinstance(element, ast.Starred)
            leaf = element.value if isinstance(element, ast.Starred) else element
            if self.is_plain_target(leaf):
                leaves.append(element)
                continue
            name = self.temporary()
            stored = at(ast.Name(name, ast.Store()), leaf)
            leaves.append(at(ast.Starred(stored, ast.Store()), element) if starred else stored)
            later += self.bind(leaf, at(ast.Name(name, ast.Load()), leaf))
        unpack = at(ast.Tuple(leaves, ast.Store()), target)
        made = self.made_by_unpacking(_starred(unpack))
        return [at(ast.Assign([unpack], value), position), *made, *later]

    def tidy(self, statements: list[ast.stmt], position: ast.AST) -> list[ast.stmt]:
        """Add the removal of temporaries where they would show, in the body of a class."""
        if self.scope.kind is not ScopeKind.CLASS:
            return statements
        names = {
            child.id: None
            for statement in statements
            for child in ast.walk(statement)
            if isinstance(child, ast.Name)
            and isinstance(child.ctx, ast.Store)
            and child.id.startswith("__dpor_")
        }
        if names:
            statements.append(at(ast.Delete([ast.Name(name, ast.Del()) for name in names]), position))
        return statements

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        if self.scope.kind in (ScopeKind.MODULE, ScopeKind.CLASS):
            node.annotation = self.annotation(node.annotation)
        if node.value is None:
            return node
        value = self.expression(node.value)
        if self.is_plain_target(node.target):
            node.value = value
            return node
        result = self._bind(node.target, value, node)
        if self.scope.kind in (ScopeKind.MODULE, ScopeKind.CLASS):
            node.value = None
            result.append(node)
        return result

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        target = node.target
        if isinstance(target, ast.Name) and self.access(target.id) is Access.PLAIN:
            return self._updated(node, target.id)
        result: list[ast.stmt] = []
        if isinstance(target, ast.Name):
            load = self.load_name(at(ast.Name(target.id, ast.Load()), target))
            store_arguments: tuple[ast.expr, ...] = ()
        elif isinstance(target, ast.Attribute):
            owner = self._once(target.value, node.value, result)
            name = ast.Constant(self.scope.mangle(target.attr))
            load = self.hook(Hook.LOAD_ATTRIBUTE, target, owner, name)
            store_arguments = (_again(owner), name)
        else:
            owner = self._once(target.value, node.value, result, target.slice)
            key = self._once(target.slice, node.value, result)
            load = self.hook(Hook.LOAD_ITEM, target, owner, key)
            store_arguments = (_again(owner), _again(key))
        current = self.temporary()
        result.append(at(ast.Assign([ast.Name(current, ast.Store())], load), target))
        result.append(self._updated(node, current))
        value = at(ast.Name(current, ast.Load()), node)
        if isinstance(target, ast.Name):
            store = self.store_name(value, target.id, node)
        else:
            hook = Hook.STORE_ATTRIBUTE if isinstance(target, ast.Attribute) else Hook.STORE_ITEM
            store = self.hook(hook, node, value, *store_arguments)
        result.append(at(ast.Expr(store), node))
        return self.tidy(result, node)

    def _once(self, node: ast.expr, operand: ast.expr, result: list[ast.stmt], *others: ast.expr) -> ast.expr:
        """An expression for a value that is needed twice but evaluated once."""
        if self.is_stable_name(node, operand, *others):
            return node
        name = self.temporary()
        result.append(at(ast.Assign([ast.Name(name, ast.Store())], self.key(node)), node))
        return at(ast.Name(name, ast.Load()), node)

    def _updated(self, node: ast.AugAssign, current: str) -> ast.stmt:
        """The statement that updates the variable `current` in place."""
        target = at(ast.Name(current, ast.Store()), node.target)
        if is_number(node.value) and not isinstance(node.op, ast.Mult) and not self.sees_operands:
            return at(ast.AugAssign(target, node.op, node.value), node)
        operator = ast.Constant(OPERATORS[type(node.op)])
        before = at(ast.Name(current, ast.Load()), node.target)
        updated = self.hook(Hook.INPLACE, node, operator, before, self.expression(node.value))
        return at(ast.Assign([target], updated), node)

    def visit_Delete(self, node: ast.Delete) -> ast.stmt | list[ast.stmt]:
        result = [statement for target in node.targets for statement in self._delete(target)]
        return result[0] if len(result) == 1 else result

    def _delete(self, target: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Tuple | ast.List):
            return [statement for element in target.elts for statement in self._delete(element)]
        if isinstance(target, ast.Name) and self.access(target.id) is Access.PLAIN:
            return [at(ast.Delete([target]), target)]
        if isinstance(target, ast.Attribute):
            name = ast.Constant(self.scope.mangle(target.attr))
            call = self.hook(Hook.DELETE_ATTRIBUTE, target, self.expression(target.value), name)
        elif isinstance(target, ast.Subscript):
            container = self.expression(target.value)
            call = self.hook(Hook.DELETE_ITEM, target, container, self.key(target.slice))
        else:
            assert isinstance(target, ast.Name)
            call = self.delete_name(target.id, target)
        return [at(ast.Expr(call), target)]

    def delete_name(self, name: str, position: ast.AST) -> ast.expr:
        """A hook call that unbinds a shared name."""
        if self.access(name) is Access.CELL:
            return self.hook(Hook.DELETE_CELL, position, ast.Name(name, ast.Load()), *self.whose(name))
        return self.hook(Hook.DELETE_GLOBAL, position, self.global_key(name))

    def visit_Import(self, node: ast.Import) -> ast.stmt | list[ast.stmt]:
        result: list[ast.stmt] = []
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            if self.access(bound) is Access.PLAIN:
                result.append(at(ast.Import([alias]), node))
                continue
            name = self.temporary()
            result.append(at(ast.Import([at(ast.alias(alias.name, name), alias)]), node))
            if not alias.asname and "." in alias.name:
                result.append(at(ast.Import([at(ast.alias(bound, name), alias)]), node))
            result.append(self._bind_import(name, bound, node))
        return self.tidy(result, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt | list[ast.stmt]:
        if node.module == "__future__":
            return node
        if node.names[0].name == "*":
            where = [ast.Constant(node.module or ""), ast.Constant(node.level)]
            return [node, at(ast.Expr(self.implicit(Implicit.IMPORTED_ALL, node, *where)), node)]
        result: list[ast.stmt] = []
        for alias in node.names:
            bound = alias.asname or alias.name
            where = [ast.Constant(node.module or ""), ast.Constant(node.level), ast.Constant(alias.name)]
            value = self.implicit(Implicit.IMPORTED, alias, *where)
            if self.access(bound) is Access.PLAIN:
                result.append(at(ast.Assign([ast.Name(bound, ast.Store())], value), node))
            else:
                result.append(at(ast.Expr(self.store_name(value, bound, node)), node))
        return self.tidy(result, node)

    def _bind_import(self, name: str, bound: str, node: ast.stmt) -> ast.stmt:
        return at(ast.Expr(self.store_name(at(ast.Name(name, ast.Load()), node), bound, node)), node)


def _again(node: ast.expr) -> ast.expr:
    """A second read of a name or constant."""
    if isinstance(node, ast.Name):
        return at(ast.Name(node.id, ast.Load()), node)
    return node


def _starred(target: ast.expr) -> list[ast.expr]:
    """What is bound to new lists where a value is unpacked into the target."""
    elements = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    return [element.value for element in elements if isinstance(element, ast.Starred)]
