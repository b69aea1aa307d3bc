"""Rewriting of comprehensions and generator expressions."""

from __future__ import annotations

import ast

from dpor.instrument.hooks import Hook
from dpor.instrument.rewriter import DISPLAYS, Rewriter, at, is_number

_YIELDS_TUPLES = frozenset({"enumerate", "zip"})
_RANGE = frozenset({"range"})


class Iterables(Rewriter):
    """What a loop runs over, whether it is a statement or part of a comprehension."""

    def iterable(self, node: ast.expr) -> ast.expr:
        """Rewrite the iterable of a synchronous loop."""
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.Set) and not all(map(is_number, node.elts)):
            # The order of the items is the host's to tell.
            return self.hook(Hook.ITERATE, node, self.contents(node))
        if isinstance(node, (*DISPLAYS, ast.GeneratorExp)):
            return self.contents(node)
        if isinstance(node, ast.Call) and self.is_builtin(node.func, _RANGE):
            return self.expression(node)
        return self.hook(Hook.ITERATE, node, self.expression(node))

    def unpacks_shared(self, target: ast.expr, iterable: ast.expr) -> bool:
        """True if the target unpacks items that can be containers shared between threads."""
        if not isinstance(target, ast.Tuple | ast.List):
            return False
        if any(isinstance(element, ast.Tuple | ast.List | ast.Starred) for element in target.elts):
            return True
        if not isinstance(iterable, ast.Call):
            return True
        function = iterable.func
        items = isinstance(function, ast.Attribute) and function.attr == "items"
        return not items and not self.is_builtin(function, _YIELDS_TUPLES)

    def needs_help(self, target: ast.expr) -> bool:
        """True if binding the target takes hooks."""
        if isinstance(target, ast.Tuple | ast.List):
            return any(map(self.needs_help, target.elts))
        if isinstance(target, ast.Starred):
            return self.needs_help(target.value)
        return not self.is_plain_target(target)


class Comprehensions(Iterables):
    """List, set and dict comprehensions and generator expressions."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> ast.expr:
        return self.hook(Hook.CREATED, node, self._comprehension(node))

    visit_SetComp = visit_ListComp
    visit_DictComp = visit_ListComp

    visit_GeneratorExp = visit_ListComp

    def contents(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return self._comprehension(node)
        return super().contents(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> ast.expr:
        scope = self.symbols.scopes[node]
        cells = self.symbols.cells(scope)
        outer = self.scope
        generators: list[ast.comprehension] = []
        outermost: ast.expr | None = None
        for index, generator in enumerate(node.generators):
            iterable = generator.iter
            unpacks = self.unpacks_shared(generator.target, iterable)
            self._unnamable += 1
            generator.iter = (
                self.hook(Hook.AWAITED, iterable, self.expression(iterable))
                if generator.is_async
                else self.iterable(iterable)
            )
            self._unnamable -= 1
            if index == 0:
                if isinstance(node, ast.GeneratorExp) and not generator.is_async:
                    generator.iter = self.hook(Hook.ENDING, iterable, generator.iter)
                self.scope = scope
                if cells:
                    outermost = generator.iter
                    generator.iter = at(ast.Name("__dpor_iterable__", ast.Load()), iterable)
            conditions: list[ast.expr] = []
            added: list[ast.comprehension] = []
            if unpacks or self.needs_help(generator.target):
                generator.target, conditions, added = self._target(generator.target)
            ifs = [self.test(condition) for condition in generator.ifs]
            last = added[-1] if added else generator
            generator.ifs = []
            last.ifs = [*last.ifs, *(conditions if not added else []), *ifs]
            generators += [generator, *added]
        node.generators = generators
        if isinstance(node, ast.DictComp):
            node.key, node.value = self.expression(node.key), self.expression(node.value)
        else:
            node.elt = self.expression(node.elt)
            if isinstance(node, ast.GeneratorExp) and not any(clause.is_async for clause in node.generators):
                node.elt = self.hook(Hook.YIELDS, node.elt, node.elt)
        self.scope = outer
        if outermost is None:
            return node
        return self._with_cells(node, cells, outermost)

    def _target(self, target: ast.expr) -> tuple[ast.expr, list[ast.expr], list[ast.comprehension]]:
        """Bind `target` by way of temporaries: the new target, conditions that store (always true), further loops
        over one item each that unpack.
        """
        if not isinstance(target, ast.Tuple | ast.List):
            name = self.temporary()
            stores = [] if self.is_plain_target(target) else [self._stored(name, target)]
            return (at(ast.Name(name, ast.Store()), target), stores, []) if stores else (target, [], [])
        whole = self.temporary()
        value = self.unpack(at(ast.Name(whole, ast.Load()), target), target, target)
        conditions: list[ast.expr] = []
        nested: list[ast.comprehension] = []
        for index, element in enumerate(target.elts):
            starred = isinstance(element, ast.Starred)
            leaf = element.value if isinstance(element, ast.Starred) else element
            replaced, stores, loops = self._target(leaf)
            target.elts[index] = at(ast.Starred(replaced, ast.Store()), element) if starred else replaced
            if nested:
                nested[-1].ifs += stores
            else:
                conditions += stores
            nested += loops
        unpack = ast.comprehension(target, at(ast.List([value], ast.Load()), target), conditions, 0)
        return at(ast.Name(whole, ast.Store()), target), [], [unpack, *nested]

    def _stored(self, name: str, target: ast.expr) -> ast.expr:
        store = self.store(at(ast.Name(name, ast.Load()), target), target)
        return at(ast.Compare(store, [ast.Is()], [ast.Constant(None)]), target)

    def _with_cells(self, node: ast.expr, cells: list[str], iterable: ast.expr) -> ast.expr:
        """Make the loop variables that inner functions capture into parameters that hold cells."""
        names = [ast.arg("__dpor_iterable__"), *(ast.arg(name) for name in cells)]
        arguments = ast.arguments([], names, None, [], [], None, [])
        new = [self.hook(Hook.NEW_CELL, node, ast.Constant(name)) for name in cells]
        return at(ast.Call(at(ast.Lambda(arguments, node), node), [iterable, *new], []), node)
