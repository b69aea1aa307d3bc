"""Rewriting of `match`: each pattern becomes a condition that takes the interpreter's steps one after another.

A pattern looks at its subject in several instructions: the test of the type, the length, the items, each value that it
is compared with. Other threads can run between any two of them. Names are bound once the whole pattern has succeeded,
before the guard.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from dpor.instrument.assignments import Assignments
from dpor.instrument.hooks import COMPARISONS, LENGTH, Hook, temporary
from dpor.instrument.matching import Step
from dpor.instrument.rewriter import at, is_bytes
from dpor.instrument.symbols import Access, ScopeKind

_Value = Callable[[], ast.expr]
"""Makes an expression that reads a value which nobody else can reach: a temporary, or an item of one."""

_Captures = list[tuple[str, _Value]]


class Patterns(Assignments):
    """`match` statements keep their cases; what a pattern asks stands in the guard of its case."""

    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        first = self._temporaries
        subject = self.temporary()
        value = self.expression(node.subject)
        node.subject = at(ast.NamedExpr(ast.Name(subject, ast.Store()), value), node.subject)
        bindings = [self._case(case, subject) for case in node.cases]
        names = [temporary(number) for number in range(first, self._temporaries)]
        for case, binding in zip(node.cases, bindings, strict=True):
            case.body = [*binding, *self._removal(names, case.pattern), *self.block(case.body)]
        return self._without_traces(node, names)

    def _case(self, case: ast.match_case, subject: str) -> list[ast.stmt]:
        """Move the pattern into the guard; returns the statements that bind its names, if the guard does not."""
        pattern = case.pattern
        captures: _Captures = []
        terms = self._tests(pattern, lambda: ast.Name(subject, ast.Load()), captures)
        binding: list[ast.stmt] = []
        if case.guard is None:
            binding = [self._assignment(name, value(), pattern) for name, value in captures]
        else:
            terms += [self._bound(name, value(), pattern) for name, value in captures]
            terms.append(self.test(case.guard))
        case.guard = _all(terms, pattern) if terms else None
        case.pattern = at(ast.MatchAs(), pattern)
        return binding

    def _assignment(self, name: str, value: ast.expr, position: ast.pattern) -> ast.stmt:
        if self.access(name) is Access.PLAIN:
            return at(ast.Assign([ast.Name(name, ast.Store())], value), position)
        return at(ast.Expr(self.store_name(value, name, position)), position)

    def _bound(self, name: str, value: ast.expr, position: ast.pattern) -> ast.expr:
        """A condition, always true, that binds a name of the source."""
        if self.access(name) is Access.PLAIN:
            return _named(name, value, position)
        store = self.store_name(value, name, position)
        return at(ast.Compare(store, [ast.Is()], [ast.Constant(None)]), position)

    def _removal(self, names: list[str], position: ast.pattern) -> list[ast.stmt]:
        """Statements that take temporaries away where they would show, in the body of a class."""
        if self.scope.kind is not ScopeKind.CLASS:
            return []
        return [at(ast.Delete([ast.Name(name, ast.Del()) for name in names]), position)]

    def _without_traces(self, node: ast.Match, names: list[str]) -> ast.stmt | list[ast.stmt]:
        """The body of a class unbinds the temporaries on every path, for which all of them have to be bound."""
        if self.scope.kind is not ScopeKind.CLASS:
            return node
        last = node.cases[-1]
        if last.guard is not None:
            pattern = at(ast.MatchAs(), last.pattern)
            node.cases.append(ast.match_case(pattern, None, self._removal(names, pattern)))
        unset = ast.Assign([ast.Name(name, ast.Store()) for name in names], ast.Constant(None))
        return [at(unset, node.subject), node]

    def _tests(self, pattern: ast.pattern, value: _Value, captures: _Captures) -> list[ast.expr]:
        """The conditions, in order, under which the value matches; adds the names that are bound then."""
        if isinstance(pattern, ast.MatchAs):
            terms = [] if pattern.pattern is None else self._tests(pattern.pattern, value, captures)
            if pattern.name is not None:
                captures.append((pattern.name, value))
            return terms
        if isinstance(pattern, ast.MatchStar):
            if pattern.name is not None:
                captures.append((pattern.name, value))
            return []
        if isinstance(pattern, ast.MatchValue):
            return [self._equality(pattern, value)]
        if isinstance(pattern, ast.MatchSingleton):
            return [self._identity(pattern, value)]
        if isinstance(pattern, ast.MatchSequence):
            return self._sequence(pattern, value, captures)
        if isinstance(pattern, ast.MatchMapping):
            return self._mapping(pattern, value, captures)
        if isinstance(pattern, ast.MatchClass):
            return self._class(pattern, value, captures)
        assert isinstance(pattern, ast.MatchOr)
        return [self._alternatives(pattern, value, captures)]

    def _equality(self, pattern: ast.MatchValue, value: _Value) -> ast.expr:
        other = self.expression(pattern.value)
        if self.sees_operands or not _is_literal(pattern.value):
            return self.hook(Hook.COMPARE, pattern, ast.Constant(COMPARISONS[ast.Eq]), value(), other)
        return at(ast.Compare(value(), [ast.Eq()], [other]), pattern)

    def _identity(self, pattern: ast.MatchSingleton, value: _Value) -> ast.expr:
        other: ast.expr = at(ast.Constant(pattern.value), pattern)
        if pattern.value is not None:
            # A truth value that is symbolic is identical with True in some executions.
            other = self.hook(Hook.IDENTICAL, pattern, value(), other)
        return at(ast.Compare(value(), [ast.Is()], [other]), pattern)

    def _sequence(self, pattern: ast.MatchSequence, value: _Value, captures: _Captures) -> list[ast.expr]:
        parts = pattern.patterns
        size = len(parts)
        star = next((index for index, part in enumerate(parts) if isinstance(part, ast.MatchStar)), None)
        terms: list[ast.expr] = [_step(Step.IS_SEQUENCE, pattern, value())]
        if star is None:
            terms.append(self._length(pattern, value, ast.Eq(), size))
        elif size > 1:
            terms.append(self._length(pattern, value, ast.GtE(), size - 1))
        if all(map(_is_wildcard, parts)):
            return terms
        if star is not None and _is_wildcard(parts[star]):
            # The interpreter takes single items where it need not make a list of the others.
            for index, part in enumerate(parts):
                if not _is_wildcard(part):
                    key = self._position(pattern, value, index, size - index if index > star else 0)
                    terms += self._kept(part, self.hook(Hook.LOAD_ITEM, part, value(), key), captures)
            return terms
        items = self.temporary()
        terms.append(self._unpacked(pattern, value, star, items))
        for index, part in enumerate(parts):
            terms += self._tests(part, _item(items, index), captures)
        return terms

    def _length(self, pattern: ast.pattern, value: _Value, operator: ast.cmpop, size: int) -> ast.expr:
        return at(ast.Compare(self._size(pattern, value), [operator], [ast.Constant(size)]), pattern)

    def _size(self, pattern: ast.pattern, value: _Value) -> ast.expr:
        function = self.hook(Hook.CALLEE, pattern, ast.Name(LENGTH, ast.Load()))
        return at(ast.Call(function, [value()], []), pattern)

    def _position(self, pattern: ast.pattern, value: _Value, index: int, from_end: int) -> ast.expr:
        if not from_end:
            return ast.Constant(index)
        return ast.BinOp(self._size(pattern, value), ast.Sub(), ast.Constant(from_end))

    def _kept(self, part: ast.pattern, loaded: ast.expr, captures: _Captures) -> list[ast.expr]:
        """Match a part against a value that has to be loaded now."""
        name = self.temporary()
        return [_named(name, loaded, part), *self._tests(part, _reader(name), captures)]

    def _unpacked(self, pattern: ast.MatchSequence, value: _Value, star: int | None, items: str) -> ast.expr:
        """A condition, always true, that names the tuple of the items `items`: `[(a, b) for a, b in [value]][0]`."""
        names = [self.temporary() for _ in pattern.patterns]
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
        values: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
        if star is not None:
            targets[star] = ast.Starred(targets[star], ast.Store())
            values[star] = self.hook(Hook.CREATED, pattern.patterns[star], values[star])
        whole = ast.List([self.hook(Hook.OBSERVE, pattern, value())], ast.Load())
        loop = ast.comprehension(ast.Tuple(targets, ast.Store()), whole, [], 0)
        made = ast.ListComp(ast.Tuple(values, ast.Load()), [loop])
        return _named(items, ast.Subscript(made, ast.Constant(0), ast.Load()), pattern)

    def _mapping(self, pattern: ast.MatchMapping, value: _Value, captures: _Captures) -> list[ast.expr]:
        terms: list[ast.expr] = [_step(Step.IS_MAPPING, pattern, value())]
        size = len(pattern.keys)
        keys: ast.expr = ast.Tuple(self.expressions(pattern.keys), ast.Load())
        again: ast.expr = ast.Tuple([], ast.Load())
        if pattern.rest is not None and size:
            name = self.temporary()
            keys = ast.NamedExpr(ast.Name(name, ast.Store()), keys)
            again = ast.Name(name, ast.Load())
        if size:
            terms.append(self._length(pattern, value, ast.GtE(), size))
            values = self.temporary()
            terms.append(_found(values, _step(Step.VALUES, pattern, value(), keys), pattern))
            for index, part in enumerate(pattern.patterns):
                terms += self._tests(part, _item(values, index), captures)
        if pattern.rest is not None:
            rest = self.temporary()
            whole = ast.Dict([None], [self.hook(Hook.OBSERVE, pattern, value())])
            others = self.hook(Hook.CREATED, pattern, _step(Step.WITHOUT, pattern, whole, again))
            terms.append(_named(rest, others, pattern))
            captures.append((pattern.rest, _reader(rest)))
        return terms

    def _class(self, pattern: ast.MatchClass, value: _Value, captures: _Captures) -> list[ast.expr]:
        parts = [*pattern.patterns, *pattern.kwd_patterns]
        names: list[ast.expr] = [ast.Constant(name) for name in pattern.kwd_attrs]
        positional = ast.Constant(len(pattern.patterns))
        class_ = self.expression(pattern.cls)
        found = self.temporary()
        attributes = ast.Tuple(names, ast.Load())
        terms = [
            _found(found, _step(Step.ATTRIBUTES, pattern, value(), class_, positional, attributes), pattern)
        ]
        for index, part in enumerate(parts):
            terms += self._tests(part, _item(found, index), captures)
        return terms

    def _alternatives(self, pattern: ast.MatchOr, value: _Value, captures: _Captures) -> ast.expr:
        """Each alternative binds the same names: temporaries hold what the one that succeeds has found."""
        found: dict[str, str] = {}
        alternatives: list[ast.expr] = []
        for part in pattern.patterns:
            own: _Captures = []
            terms = self._tests(part, value, own)
            for name, capture in own:
                if name not in found:
                    found[name] = self.temporary()
                terms.append(_named(found[name], capture(), part))
            alternatives.append(_all(terms, part) if terms else at(ast.Constant(True), part))
        captures += [(name, _reader(kept)) for name, kept in found.items()]
        return at(ast.BoolOp(ast.Or(), alternatives), pattern)


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name is None and not _inner(pattern)


def _inner(pattern: ast.MatchAs | ast.MatchStar) -> ast.pattern | None:
    return pattern.pattern if isinstance(pattern, ast.MatchAs) else None


def _is_literal(node: ast.expr) -> bool:
    """True for numbers (`1 + 2j` is one) and texts: what equals them cannot change."""
    return not is_bytes(node) and not any(isinstance(child, ast.Name) for child in ast.walk(node))


def _reader(name: str) -> _Value:
    return lambda: ast.Name(name, ast.Load())


def _item(name: str, index: int) -> _Value:
    return lambda: ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(index), ast.Load())


def _step(step: Step, position: ast.pattern, *arguments: ast.expr) -> ast.expr:
    return at(ast.Call(ast.Name(step.identifier, ast.Load()), list(arguments), []), position)


def _named(name: str, value: ast.expr, position: ast.pattern) -> ast.expr:
    """`(name := value) is name`, which is always true and asks the value nothing."""
    named = ast.NamedExpr(ast.Name(name, ast.Store()), value)
    return at(ast.Compare(named, [ast.Is()], [ast.Name(name, ast.Load())]), position)


def _found(name: str, value: ast.expr, position: ast.pattern) -> ast.expr:
    """Ask for `(name := value) is not None`."""
    named = ast.NamedExpr(ast.Name(name, ast.Store()), value)
    return at(ast.Compare(named, [ast.IsNot()], [ast.Constant(None)]), position)


def _all(terms: list[ast.expr], position: ast.pattern) -> ast.expr:
    return terms[0] if len(terms) == 1 else at(ast.BoolOp(ast.And(), terms), position)
