"""Rewriting of expressions: names, attributes, items, operators, conditions, displays."""

from __future__ import annotations

import ast

from dpor.instrument.hooks import COMPARISONS, OPERATORS, Hook
from dpor.instrument.implicit import Implicit
from dpor.instrument.rewriter import DISPLAYS, Rewriter, at, is_bytes, is_constant, is_number

MAKES_CONTAINER = (ast.Add, ast.Mult, ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
BY_IDENTITY = (ast.Is, ast.IsNot)
MEMBERSHIP = (ast.In, ast.NotIn)
TELLS_TRUTH = frozenset({"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"})
# Functions of `threading` that tell a thread by a number.
_IDENTIFIERS = frozenset({"get_ident", "get_native_id"})
TELLS_NUMBER = frozenset({"float", "hash", "id", "int", "len", "ord", "repr", "str"})


class Expressions(Rewriter):
    """Expressions other than calls and comprehensions."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.load_name(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        name = ast.Constant(self.scope.mangle(node.attr))
        return self.hook(Hook.LOAD_ATTRIBUTE, node, self.expression(node.value), name)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        container = self.expression(node.value)
        return self.hook(Hook.LOAD_ITEM, node, container, self.key(node.slice))

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        node.value = self.unpacked(node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        value = self.expression(node.value)
        if self.is_plain_target(node.target):
            node.value = value
            return node
        name = self.temporary()
        store = self.store(ast.NamedExpr(ast.Name(name, ast.Store()), value), node.target, node)
        pair = ast.Tuple([store, ast.Name(name, ast.Load())], ast.Load())
        return at(ast.Subscript(pair, ast.Constant(1), ast.Load()), node)

    def visit_List(self, node: ast.List | ast.Set | ast.Dict) -> ast.expr:
        return self.hook(Hook.CREATED, node, self.contents(node))

    visit_Set = visit_List
    visit_Dict = visit_List

    def contents(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.List | ast.Tuple):
            node.elts = self.expressions(node.elts)
        elif isinstance(node, ast.Set):
            node.elts = [self._hashed(element) for element in node.elts]
        elif isinstance(node, ast.Dict):
            for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
                node.keys[index] = None if key is None else self._hashed(key)
                node.values[index] = self.expression(value) if key is not None else self.merged(value)
        return node

    def _hashed(self, node: ast.expr) -> ast.expr:
        """Rewrite what becomes a key: it is hashed and compared."""
        known = self._is_scalar(node) or isinstance(node, ast.Starred)
        value = self.expression(node)
        return value if known else self.hook(Hook.HASHED, node, value)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        """A field of an f-string: the host gives the text, which is left as it is."""
        value = self.raw_display(node.value)
        spec = node.format_spec
        text = ast.Constant("") if spec is None else self.expression(spec)
        node.value = self.hook(Hook.FORMAT, node.value, value, ast.Constant(node.conversion), text)
        node.conversion, node.format_spec = -1, None
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.expr:
        """A generator tells the host that it gives a value to whoever advances it."""
        if isinstance(self.scope.node, ast.AsyncFunctionDef):
            node.value = self.optional(node.value)
            return node
        value = ast.Constant(None) if node.value is None else self.expression(node.value)
        node.value = self.hook(Hook.YIELDS, node, value)
        return node

    def visit_Await(self, node: ast.Await) -> ast.expr:
        node.value = self.hook(Hook.AWAITED, node.value, self.expression(node.value))
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        node.value = self.implicit(Implicit.DELEGATED, node.value, self.expression(node.value))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.test(node.test)
        node.body = self.expression(node.body)
        node.orelse = self.expression(node.orelse)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            node.operand = self.test(node.operand)
            return node
        made = not self._is_scalar(node.operand)
        node.operand = self._operand(node.operand, made)
        return self.hook(Hook.CREATED, node, node) if made else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        makes_container = self._makes_container(node)
        result = self.contents(node)
        return self.hook(Hook.CREATED, node, result) if makes_container else result

    def _makes_container(self, node: ast.BinOp) -> bool:
        """Whether an operator can give a new list, set or dict, which has to be known before threads share it."""
        if not isinstance(node.op, MAKES_CONTAINER):
            return False
        operands = (node.left, node.right)
        if isinstance(node.op, ast.Mult):
            return not all(map(self._is_atom, operands))
        return not any(map(self._is_atom, operands))

    def _is_atom(self, node: ast.expr) -> bool:
        """True if the value of `node` is a number, a text or the like."""
        if isinstance(node, ast.BinOp):
            return not self._makes_container(node)
        return not isinstance(node, ast.Tuple) and self._is_scalar(node)

    def _operation(self, node: ast.BinOp) -> ast.expr:
        left = self._reads_operand(node.op, node.left, node.right)
        right = self._reads_operand(node.op, node.right, node.left)
        text = is_constant(node.left) or isinstance(node.left, ast.JoinedStr)
        plain = is_number(node.left) or (text and is_constant(node.right))
        shows = isinstance(node.op, ast.Mod) and not plain
        if left or right or shows:
            operator = ast.Constant(OPERATORS[type(node.op)])
            operands = self._computed(node.left), self._computed(node.right)
            return self.hook(Hook.OPERATE, node, operator, *operands)
        node.left, node.right = self._computed(node.left), self._computed(node.right)
        return node

    def _reads_operand(self, operator: ast.operator, node: ast.expr, other: ast.expr) -> bool:
        """Whether an operator can read what others share in its operand `node`."""
        if is_constant(node) or self._is_fresh(node):
            return False
        if self.sees_operands or not is_constant(other) or is_bytes(other):
            return True
        return isinstance(operator, ast.Mult) and is_number(other)

    def _computed(self, node: ast.expr) -> ast.expr:
        """Rewrite what is computed with, or compared for order: where it matters which number an identifier is."""
        tells = _tells_identifier(node)
        value = self.raw_display(node)
        return self.hook(Hook.DRAWN, node, value) if tells else value

    def _twice(self, node: ast.expr, stable: bool) -> tuple[ast.expr, ast.expr]:
        """A value that is needed twice: the expression for the first time, and for the second."""
        value = self.raw_display(node)
        if stable:
            return value, at(ast.Name(node.id, ast.Load()) if isinstance(node, ast.Name) else value, node)
        name = self.temporary()
        first = at(ast.NamedExpr(ast.Name(name, ast.Store()), value), node)
        return first, at(ast.Name(name, ast.Load()), node)

    def _identical_in_lambda(self, node: ast.Compare, left: ast.expr, right: ast.expr) -> ast.expr:
        """`a is b` where `:=` is forbidden: `(lambda t, u: t is identical(t, u))(a, b)`."""
        names = (self.temporary(), self.temporary())
        first, again, last = (at(ast.Name(name, ast.Load()), node) for name in (names[0], *names))
        announced = self.hook(Hook.IDENTICAL, node, again, last)
        body = at(ast.Compare(first, node.ops, [announced]), node)
        parameters = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        function = at(ast.Lambda(parameters, body), node)
        return at(ast.Call(function, [self.raw_display(left), self.raw_display(right)], []), node)

    def _operand(self, node: ast.expr, read: bool) -> ast.expr:
        """Rewrite an operand, announcing the read if the operand can be a container that others share."""
        announced = read and not self._is_fresh(node)
        value = self.raw_display(node)
        return self.observe(value) if announced else value

    def _is_fresh(self, node: ast.expr) -> bool:
        """True if the value of `node` is no container, or one that nobody else can have yet."""
        fresh = (ast.BinOp, ast.UnaryOp, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
        return self._is_scalar(node) or isinstance(node, fresh)

    def _holds_scalars(self, node: ast.expr) -> bool:
        """True if the value of `node` is a number, or a container that nobody else can have yet and that holds nothing
        that could change.
        """
        if isinstance(node, ast.Dict):
            return all(key is not None and self._is_scalar(key) for key in node.keys) and all(
                map(self._is_scalar, node.values)
            )
        if isinstance(node, ast.List | ast.Set):
            return all(map(self._is_scalar, node.elts))
        return isinstance(node, ast.UnaryOp) or self._is_scalar(node)

    def _is_scalar(self, node: ast.expr) -> bool:
        """True if the value of `node` holds nothing that could change."""
        if is_constant(node) or isinstance(node, ast.JoinedStr | ast.Compare | ast.Lambda):
            return True
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not) or is_number(node.operand)
        if isinstance(node, ast.Call):
            return self.is_builtin(node.func, TELLS_NUMBER)
        return isinstance(node, ast.Name) and self.symbols.is_fixed_function(self.scope, node.id)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if all(map(self._tells_truth, node.values[:-1])):
            node.values = self.expressions(node.values)
            return node
        if not self.can_name_values:
            operands = [self._observed_operand(value) for value in node.values[:-1]]
            node.values = [*operands, self.expression(node.values[-1])]
            return node
        return self._choose(node, node.values)

    def _observed_operand(self, node: ast.expr) -> ast.expr:
        tells = self._tells_truth(node)
        value = self.expression(node)
        return value if tells else self.observe(value)

    def _choose(self, node: ast.BoolOp, values: list[ast.expr]) -> ast.expr:
        """`a or b` as `t if truth(t := a) else b`, `a and b` as `b if truth(t := a) else t`."""
        if len(values) == 1:
            return self.expression(values[0])
        first = values[0]
        if self._tells_truth(first):
            return at(ast.BoolOp(node.op, [self.expression(first), self._choose(node, values[1:])]), node)
        name = self.temporary()
        named = ast.NamedExpr(ast.Name(name, ast.Store()), self.expression(first))
        condition = self.hook(Hook.TRUTH, first, at(named, first))
        rest = self._choose(node, values[1:])
        kept = at(ast.Name(name, ast.Load()), first)
        choice = (kept, rest) if isinstance(node.op, ast.Or) else (rest, kept)
        return at(ast.IfExp(condition, *choice), node)

    def _tells_truth(self, node: ast.expr) -> bool:
        """True if testing the value of `node` runs no code and reads nothing shared."""
        if isinstance(node, ast.BoolOp):
            return all(map(self._tells_truth, node.values))
        if isinstance(node, ast.IfExp):
            return self._tells_truth(node.body) and self._tells_truth(node.orelse)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Not) or is_constant(node)
        if isinstance(node, ast.Call):
            return self.is_builtin(node.func, TELLS_TRUTH)
        if isinstance(node, ast.Name):
            return node.id == "__debug__" or self.symbols.is_fixed_function(self.scope, node.id)
        return isinstance(node, ast.Compare | ast.Constant | ast.JoinedStr | ast.Lambda)

    def test(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BoolOp):
            node.values = [self.test(value) for value in node.values]
            return node
        if isinstance(node, ast.IfExp):
            node.test, node.body, node.orelse = (
                self.test(node.test),
                self.test(node.body),
                self.test(node.orelse),
            )
            return node
        if self._tells_truth(node) or isinstance(node, ast.Tuple):
            return self.expression(node)
        return self.hook(Hook.TRUTH, node, self.expression(node))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        operands = [node.left, *node.comparators]
        pairs = zip(node.ops, operands, operands[1:], strict=False)
        compared = [self._reads_both(operator, left, right) for operator, left, right in pairs]
        announced = [
            isinstance(operator, MEMBERSHIP) and not isinstance(container, DISPLAYS)
            for operator, container in zip(node.ops, node.comparators, strict=True)
        ]
        if not any(announced) and not any(compared):
            ordered = any(isinstance(operator, ORDER) for operator in node.ops)
            rewrite = self._computed if ordered else self.raw_display
            node.left, *node.comparators = map(rewrite, operands)
            return node
        if len(node.ops) == 1:
            if compared[0]:
                return self._compare(node, node.ops[0], operands[0], operands[1])
            return self._contains(
                node, node.ops[0], self.raw_display(node.left), self.expression(operands[1])
            )
        if not self.can_name_values:
            either = zip([False, *announced], [False, *compared], [*compared, False], strict=True)
            reads = map(any, either)
            node.left, *node.comparators = map(self._operand, operands, reads)
            return node
        return self._chain(node, operands, compared, announced)

    def _reads_both(self, operator: ast.cmpop, left: ast.expr, right: ast.expr) -> bool:
        """Whether a comparison can look into containers that others share, or asks who is who of symbolic values."""
        if isinstance(operator, BY_IDENTITY):
            return not any(map(_has_no_twin, (left, right)))
        if isinstance(operator, MEMBERSHIP):
            # Of other containers the hook for membership tells.
            children = [child for child in ast.iter_child_nodes(right) if isinstance(child, ast.expr)]
            return isinstance(right, DISPLAYS) and (self.sees_operands or not all(map(is_constant, children)))
        if self.sees_operands:
            return not (is_constant(left) and is_constant(right))
        if any(self._is_scalar(node) and not is_bytes(node) for node in (left, right)):
            return False
        return not (self._holds_scalars(left) and self._holds_scalars(right))

    def _compare(self, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr) -> ast.expr:
        """A comparison that the host makes, or announces if it is one by identity or with what is in a display."""
        number = COMPARISONS.get(type(operator))
        if number is not None:
            rewrite = self._computed if isinstance(operator, ORDER) else self.raw_display
            operands = rewrite(left), rewrite(right)
            return self.hook(Hook.COMPARE, node, ast.Constant(number), *operands)
        if isinstance(operator, MEMBERSHIP):
            return self._contains(node, operator, self.raw_display(left), self.expression(right))
        stable = self.is_stable_name(left, right)
        if not stable and not self.can_name_values:
            return self._identical_in_lambda(node, left, right)
        first, again = self._twice(left, stable)
        node.left = first
        node.comparators = [self.hook(Hook.IDENTICAL, node, again, self.raw_display(right))]
        return node

    def _contains(self, node: ast.expr, operator: ast.cmpop, item: ast.expr, container: ast.expr) -> ast.expr:
        call = self.hook(Hook.CONTAINS, node, item, container)
        return at(ast.UnaryOp(ast.Not(), call), node) if isinstance(operator, ast.NotIn) else call

    def _chain(
        self, node: ast.Compare, operands: list[ast.expr], compared: list[bool], announced: list[bool]
    ) -> ast.expr:
        """`a < b in c` as `compare(<, a, t := b) and contains(t, c)`."""
        terms: list[ast.expr] = []
        identical = isinstance(node.ops[0], BY_IDENTITY)
        left, again = (
            self._twice(operands[0], stable=False) if identical else (self.raw_display(operands[0]),) * 2
        )
        for index, operator in enumerate(node.ops):
            operand = operands[index + 1]
            seen = announced[index] or (compared[index] and isinstance(operator, MEMBERSHIP))
            right = self.expression(operand) if seen else self.raw_display(operand)
            if isinstance(operator, BY_IDENTITY) and compared[index]:
                right = self.hook(Hook.IDENTICAL, node, again, right)
            if index + 1 < len(node.ops):
                name = self.temporary()
                again = at(ast.Name(name, ast.Load()), operand)
                right = at(ast.NamedExpr(ast.Name(name, ast.Store()), right), operand)
            if seen:
                terms.append(self._contains(node, operator, left, right))
            elif compared[index] and type(operator) in COMPARISONS:
                number = ast.Constant(COMPARISONS[type(operator)])
                terms.append(self.hook(Hook.COMPARE, node, number, left, right))
            else:
                terms.append(at(ast.Compare(left, [operator], [right]), node))
            left = again
        return at(ast.BoolOp(ast.And(), terms), node)


def _tells_identifier(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name in _IDENTIFIERS


def _has_no_twin(node: ast.expr) -> bool:
    """Whether a value is certainly neither a number nor a truth value."""
    return isinstance(node, ast.Constant) and not isinstance(node.value, int)
