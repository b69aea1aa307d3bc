"""Rewriting of expressions: names, attributes, items, operators, conditions, displays."""

from __future__ import annotations

import ast

from dpor.instrument.hooks import Hook
from dpor.instrument.rewriter import DISPLAYS, Rewriter, at, is_constant, is_number

READS_WHOLE = (ast.Add, ast.Mult, ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor, ast.Mod, ast.MatMult)
BY_IDENTITY = (ast.Is, ast.IsNot)
MEMBERSHIP = (ast.In, ast.NotIn)
TELLS_TRUTH = frozenset({"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"})
TELLS_NUMBER = frozenset({"abs", "float", "hash", "id", "int", "len", "ord", "repr", "round", "str", "sum"})


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
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            node.elts = self.expressions(node.elts)
        elif isinstance(node, ast.Dict):
            for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
                node.keys[index] = self.optional(key)
                node.values[index] = self.expression(value) if key is not None else self.merged(value)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        constant = is_constant(node.value)
        value = self.expression(node.value)
        node.value = value if constant else self.observe(value)
        node.format_spec = self.optional(node.format_spec)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        node.value = self.unpacked(node.value)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node.test = self.test(node.test)
        node.body = self.expression(node.body)
        node.orelse = self.expression(node.orelse)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = (
            self.test(node.operand) if isinstance(node.op, ast.Not) else self.expression(node.operand)
        )
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left = _reads_operand(node.op, node.left, node.right)
        formats = isinstance(node.op, ast.Mod) and not is_number(node.left)
        right = formats or _reads_operand(node.op, node.right, node.left)
        node.left = self._operand(node.left, left)
        node.right = self._operand(node.right, right)
        return node

    def _operand(self, node: ast.expr, read: bool) -> ast.expr:
        """Rewrite an operand, announcing the read if the operand can be a container that others share."""
        fresh = is_constant(node) or isinstance(
            node, ast.JoinedStr | ast.BinOp | ast.UnaryOp | ast.Compare | ast.List | ast.Set | ast.Dict
        )
        fresh = fresh or isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.Lambda)
        fresh = fresh or (isinstance(node, ast.Call) and self.is_builtin(node.func, TELLS_NUMBER))
        fresh = fresh or (isinstance(node, ast.Name) and self.symbols.is_fixed_function(self.scope, node.id))
        value = self.raw_display(node)
        return self.observe(value) if read and not fresh else value

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
        reads = [False] * len(operands)
        for index, operator in enumerate(node.ops):
            left, right = operands[index], operands[index + 1]
            if isinstance(operator, BY_IDENTITY + MEMBERSHIP):
                continue
            reads[index] = reads[index] or not is_constant(right)
            reads[index + 1] = not is_constant(left)
        announced = [
            isinstance(operator, MEMBERSHIP) and not isinstance(container, DISPLAYS)
            for operator, container in zip(node.ops, node.comparators, strict=True)
        ]
        if not any(announced) or (len(node.ops) > 1 and not self.can_name_values):
            rewritten = [
                self._operand(operand, read or (index > 0 and announced[index - 1]))
                for index, (operand, read) in enumerate(zip(operands, reads, strict=True))
            ]
            node.left, *node.comparators = rewritten
            return node
        if len(node.ops) == 1:
            return self._contains(
                node, node.ops[0], self.raw_display(node.left), self.expression(operands[1])
            )
        return self._chain(node, operands, reads, announced)

    def _contains(self, node: ast.expr, operator: ast.cmpop, item: ast.expr, container: ast.expr) -> ast.expr:
        call = self.hook(Hook.CONTAINS, node, item, container)
        return at(ast.UnaryOp(ast.Not(), call), node) if isinstance(operator, ast.NotIn) else call

    def _chain(
        self, node: ast.Compare, operands: list[ast.expr], reads: list[bool], announced: list[bool]
    ) -> ast.expr:
        """`a < b in c` as `a < (t := b) and contains(t, c)`."""
        terms: list[ast.expr] = []
        left = self._operand(operands[0], reads[0])
        for index, operator in enumerate(node.ops):
            right = self._operand(operands[index + 1], reads[index + 1])
            following = right
            if index + 1 < len(node.ops):
                name = self.temporary()
                following = at(ast.Name(name, ast.Load()), right)
                right = at(ast.NamedExpr(ast.Name(name, ast.Store()), right), right)
            if announced[index]:
                terms.append(self._contains(node, operator, left, right))
            else:
                terms.append(at(ast.Compare(left, [operator], [right]), node))
            left = following
        return at(ast.BoolOp(ast.And(), terms), node)


def _reads_operand(operator: ast.operator, node: ast.expr, other: ast.expr) -> bool:
    if not isinstance(operator, READS_WHOLE) or is_constant(node):
        return False
    if not is_constant(other):
        return True
    return isinstance(operator, ast.Mult) and is_number(other)
