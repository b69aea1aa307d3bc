"""Expressions over symbolic values: immutable, shared where they are equal, evaluated and printed without a solver.

Integers are unbounded, as in Python, and so are the meanings of the operators: division rounds down. Comparisons are
kept in two forms only, `<` and `==`, so that a condition and its negation are one condition with two sides.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeAlias


class Operator(enum.Enum):
    """What an expression does with its arguments; the value is how Python writes it."""

    VARIABLE = "variable"
    CONSTANT = "constant"
    NEGATE = "negative"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    FLOOR_DIVIDE = "//"
    MODULO = "%"
    CHOOSE = "if"
    LESS = "<"
    EQUAL = "=="
    NOT = "not"
    AND = "and"
    OR = "or"


Value: TypeAlias = int | bool

_COMPARISONS = frozenset({Operator.LESS, Operator.EQUAL, Operator.NOT, Operator.AND, Operator.OR})
_ATOMS = frozenset({Operator.VARIABLE, Operator.CONSTANT})


class Variable:
    """A symbolic value as the model made it: `name` is how it is shown, `low` and `high` bound it (None: unbounded).

    `key` says which it is: the spawn path of the thread that made it, and how many that thread had made before.
    """

    __slots__ = ("high", "is_boolean", "key", "low", "name")

    def __init__(
        self, name: str, key: tuple[str, int], is_boolean: bool, low: int | None, high: int | None
    ) -> None:
        self.name = name
        self.key = key
        self.is_boolean = is_boolean
        self.low = low
        self.high = high

    @property
    def default(self) -> Value:
        """The value of the variable where nothing constrains it: the one nearest to 0."""
        if self.is_boolean:
            return False
        if self.low is not None and self.low > 0:
            return self.low
        return self.high if self.high is not None and self.high < 0 else 0


class Expression:
    """An expression. Equal expressions of one `Expressions` are the same object; `number` orders them."""

    __slots__ = ("arguments", "is_boolean", "leaf", "number", "operator", "variables")

    def __init__(
        self,
        operator: Operator,
        arguments: tuple[Expression, ...],
        leaf: Variable | Value | None,
        number: int,
        is_boolean: bool,
    ) -> None:
        self.operator = operator
        self.arguments = arguments
        self.leaf = leaf
        self.number = number
        self.is_boolean = is_boolean
        self.variables: frozenset[Variable] = (
            frozenset((leaf,))
            if isinstance(leaf, Variable)
            else frozenset[Variable]().union(*(argument.variables for argument in arguments))
        )

    def __str__(self) -> str:
        return text_of(self)


class Expressions:
    """Makes expressions, simplified as far as costs nothing, each only once."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Expression] = {}

    def variable(self, variable: Variable) -> Expression:
        """The expression that is this variable."""
        return self._leaf(Operator.VARIABLE, variable, variable.is_boolean)

    def constant(self, value: Value) -> Expression:
        """The expression that is this number or truth value."""
        return self._leaf(Operator.CONSTANT, value, isinstance(value, bool))

    def integer(self, expression: Expression) -> Expression:
        """A boolean expression as the number 0 or 1; any other unchanged."""
        if not expression.is_boolean:
            return expression
        if expression.operator is Operator.CONSTANT:
            return self.constant(int(bool(expression.leaf)))
        return self._node(Operator.CHOOSE, (expression, self.constant(1), self.constant(0)), False)

    def add(self, left: Expression, right: Expression) -> Expression:
        """`left + right`."""
        a, b = constant_of(left), constant_of(right)
        if a is not None and b is not None:
            return self.constant(a + b)
        if a is not None:
            left, right, a, b = right, left, b, a
        if b == 0:
            return left
        if b is not None and left.operator is Operator.ADD:
            inner = constant_of(left.arguments[1])
            if inner is not None:
                return self.add(left.arguments[0], self.constant(inner + b))
        return self._node(Operator.ADD, (left, right), False)

    def subtract(self, left: Expression, right: Expression) -> Expression:
        """`left - right`."""
        b = constant_of(right)
        if b is not None:
            return self.add(left, self.constant(-b))
        if left is right:
            return self.constant(0)
        if constant_of(left) == 0:
            return self.negate(right)
        return self._node(Operator.SUBTRACT, (left, right), False)

    def negate(self, operand: Expression) -> Expression:
        """`-operand`."""
        value = constant_of(operand)
        if value is not None:
            return self.constant(-value)
        if operand.operator is Operator.NEGATE:
            return operand.arguments[0]
        return self._node(Operator.NEGATE, (operand,), False)

    def multiply(self, left: Expression, right: Expression) -> Expression:
        """`left * right`."""
        a, b = constant_of(left), constant_of(right)
        if a is not None and b is not None:
            return self.constant(a * b)
        if a is not None:
            left, right, b = right, left, a
        if b == 0:
            return self.constant(0)
        if b == 1:
            return left
        return self._node(Operator.MULTIPLY, (left, right), False)

    def floor_divide(self, left: Expression, right: Expression) -> Expression:
        """`left // right`; whoever asks has seen to it that `right` is not 0."""
        a, b = constant_of(left), constant_of(right)
        if a is not None and b:
            return self.constant(a // b)
        return left if b == 1 else self._node(Operator.FLOOR_DIVIDE, (left, right), False)

    def modulo(self, left: Expression, right: Expression) -> Expression:
        """`left % right`; whoever asks has seen to it that `right` is not 0."""
        a, b = constant_of(left), constant_of(right)
        if a is not None and b:
            return self.constant(a % b)
        return self.constant(0) if b == 1 else self._node(Operator.MODULO, (left, right), False)

    def choose(self, condition: Expression, first: Expression, second: Expression) -> Expression:
        """`first if condition else second`."""
        if condition.operator is Operator.CONSTANT:
            return first if condition.leaf else second
        if first is second:
            return first
        return self._node(Operator.CHOOSE, (condition, first, second), first.is_boolean)

    def less(self, left: Expression, right: Expression) -> Expression:
        """`left < right`, of integers."""
        a, b = constant_of(left), constant_of(right)
        if a is not None and b is not None:
            return self.constant(a < b)
        return self.constant(False) if left is right else self._node(Operator.LESS, (left, right), True)

    def equal(self, left: Expression, right: Expression) -> Expression:
        """`left == right`, of integers."""
        a, b = constant_of(left), constant_of(right)
        if a is not None and b is not None:
            return self.constant(a == b)
        if left is right:
            return self.constant(True)
        if a is not None or (b is None and right.number < left.number):
            left, right = right, left
        return self._node(Operator.EQUAL, (left, right), True)

    def negation(self, operand: Expression) -> Expression:
        """`not operand`."""
        if operand.operator is Operator.CONSTANT:
            return self.constant(not operand.leaf)
        if operand.operator is Operator.NOT:
            return operand.arguments[0]
        return self._node(Operator.NOT, (operand,), True)

    def both(self, left: Expression, right: Expression) -> Expression:
        """`left and right`, of truth values."""
        for one, other in ((left, right), (right, left)):
            if one.operator is Operator.CONSTANT:
                return other if one.leaf else one
        return left if left is right else self._node(Operator.AND, (left, right), True)

    def either(self, left: Expression, right: Expression) -> Expression:
        """`left or right`, of truth values."""
        for one, other in ((left, right), (right, left)):
            if one.operator is Operator.CONSTANT:
                return one if one.leaf else other
        return left if left is right else self._node(Operator.OR, (left, right), True)

    def _leaf(self, operator: Operator, leaf: Variable | Value, is_boolean: bool) -> Expression:
        key = (operator, type(leaf), leaf)
        known = self._known.get(key)
        if known is None:
            known = Expression(operator, (), leaf, len(self._known), is_boolean)
            self._known[key] = known
        return known

    def _node(self, operator: Operator, arguments: tuple[Expression, ...], is_boolean: bool) -> Expression:
        key = (operator, arguments)
        known = self._known.get(key)
        if known is None:
            known = Expression(operator, arguments, None, len(self._known), is_boolean)
            self._known[key] = known
        return known


def constant_of(expression: Expression) -> int | None:
    """The number that an integer expression is, if it is a constant."""
    if expression.operator is Operator.CONSTANT and isinstance(expression.leaf, int):
        return int(expression.leaf)
    return None


def evaluate(expression: Expression, model: Mapping[Variable, Value]) -> Value:
    """The value of an expression where the variables have these values; those that are missing have their default."""
    values: dict[Expression, Value] = {}
    pending = [expression]
    while pending:
        current = pending[-1]
        missing = [argument for argument in current.arguments if argument not in values]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        values[current] = _apply(current, [values[argument] for argument in current.arguments], model)
    return values[expression]


def _apply(expression: Expression, arguments: list[Value], model: Mapping[Variable, Value]) -> Value:
    match expression.operator:
        case Operator.VARIABLE:
            assert isinstance(expression.leaf, Variable)
            return model.get(expression.leaf, expression.leaf.default)
        case Operator.CONSTANT:
            assert isinstance(expression.leaf, int)
            return expression.leaf
        case Operator.NEGATE:
            return -arguments[0]
        case Operator.ADD:
            return arguments[0] + arguments[1]
        case Operator.SUBTRACT:
            return arguments[0] - arguments[1]
        case Operator.MULTIPLY:
            return arguments[0] * arguments[1]
        # Both sides of a choice are evaluated, so that a divisor can be 0 here where the model never divides by it.
        case Operator.FLOOR_DIVIDE:
            return arguments[0] // arguments[1] if arguments[1] else 0
        case Operator.MODULO:
            return arguments[0] % arguments[1] if arguments[1] else 0
        case Operator.CHOOSE:
            return arguments[1] if arguments[0] else arguments[2]
        case Operator.LESS:
            return arguments[0] < arguments[1]
        case Operator.EQUAL:
            return arguments[0] == arguments[1]
        case Operator.NOT:
            return not arguments[0]
        case Operator.AND:
            return bool(arguments[0] and arguments[1])
        case Operator.OR:
            return bool(arguments[0] or arguments[1])


def bounds_of(expression: Expression) -> tuple[int | None, int | None]:
    """The least and the greatest value that an integer expression can have by the bounds of its variables alone.

    None where there is no such bound, or none that is told so simply.
    """
    match expression.operator:
        case Operator.VARIABLE:
            variable = expression.leaf
            assert isinstance(variable, Variable)
            return (0, 1) if variable.is_boolean else (variable.low, variable.high)
        case Operator.CONSTANT:
            value = constant_of(expression)
            return value, value
        case Operator.NEGATE:
            low, high = bounds_of(expression.arguments[0])
            return (None if high is None else -high), (None if low is None else -low)
        case Operator.ADD | Operator.SUBTRACT:
            (a, b), (c, d) = (bounds_of(argument) for argument in expression.arguments)
            if expression.operator is Operator.SUBTRACT:
                c, d = (None if d is None else -d), (None if c is None else -c)
            return (None if a is None or c is None else a + c), (None if b is None or d is None else b + d)
        case Operator.MULTIPLY:
            (a, b), (c, d) = (bounds_of(argument) for argument in expression.arguments)
            if a is None or b is None or c is None or d is None:
                return None, None
            corners = (a * c, a * d, b * c, b * d)
            return min(corners), max(corners)
        case Operator.FLOOR_DIVIDE:
            (a, b), (c, d) = (bounds_of(argument) for argument in expression.arguments)
            if a is None or b is None or c is None or d is None or c <= 0:
                return None, None
            corners = (a // c, a // d, b // c, b // d)
            return min(corners), max(corners)
        case Operator.MODULO:
            divisor = constant_of(expression.arguments[1])
            if divisor is None or divisor == 0:
                return None, None
            return (0, divisor - 1) if divisor > 0 else (divisor + 1, 0)
        case Operator.CHOOSE:
            (a, b), (c, d) = (bounds_of(argument) for argument in expression.arguments[1:])
            return (
                None if a is None or c is None else min(a, c),
                None if b is None or d is None else max(b, d),
            )
        case _:
            return 0, 1


def text_of(expression: Expression, taken: bool = True) -> str:
    """An expression in Python syntax; of a condition that was not `taken`, its negation."""
    if expression.operator is Operator.NOT:
        return text_of(expression.arguments[0], not taken)
    if expression.operator in (Operator.LESS, Operator.EQUAL):
        left, right = expression.arguments
        sign = {(Operator.LESS, True): "<", (Operator.LESS, False): ">="}.get(
            (expression.operator, taken), "==" if taken else "!="
        )
        if left.operator is Operator.CONSTANT:
            left, right = right, left
            sign = {"<": ">", ">=": "<="}.get(sign, sign)
        return f"{_operand(left)} {sign} {_operand(right)}"
    text = _text(expression)
    if taken:
        return text
    return f"not {text}" if expression.operator in _ATOMS else f"not ({text})"


def _operand(expression: Expression) -> str:
    """The text of an operand, in parentheses if Python's precedence could read it otherwise."""
    text = text_of(expression)
    return text if expression.operator in _ATOMS else f"({text})" if _binds_loosely(expression) else text


def _binds_loosely(expression: Expression) -> bool:
    return expression.operator in _COMPARISONS or expression.operator is Operator.CHOOSE


def _text(expression: Expression) -> str:
    match expression.operator:
        case Operator.VARIABLE:
            assert isinstance(expression.leaf, Variable)
            return expression.leaf.name
        case Operator.CONSTANT:
            return repr(expression.leaf)
        case Operator.NEGATE:
            return f"-{_tight(expression.arguments[0])}"
        case Operator.CHOOSE:
            condition, first, second = expression.arguments
            if (constant_of(first), constant_of(second)) == (1, 0):
                return f"int({text_of(condition)})"
            return f"{_operand(first)} if {text_of(condition)} else {_operand(second)}"
        case Operator.AND | Operator.OR:
            sign = f" {expression.operator.value} "
            return sign.join(_logical(argument) for argument in expression.arguments)
        case Operator.ADD:
            left, right = expression.arguments
            value = constant_of(right)
            if value is not None and value < 0:
                return f"{_additive(left)} - {-value}"
            return f"{_additive(left)} + {_tight_or_product(right)}"
        case Operator.SUBTRACT:
            left, right = expression.arguments
            return f"{_additive(left)} - {_tight_or_product(right)}"
        case _:
            left, right = expression.arguments
            return f"{_tight(left)} {expression.operator.value} {_tight(right)}"


def _tight(expression: Expression) -> str:
    text = text_of(expression)
    negative = text.startswith("-")
    return text if expression.operator in _ATOMS and not negative else f"({text})"


def _tight_or_product(expression: Expression) -> str:
    products = (Operator.MULTIPLY, Operator.FLOOR_DIVIDE, Operator.MODULO)
    return text_of(expression) if expression.operator in products else _tight(expression)


def _additive(expression: Expression) -> str:
    sums = (Operator.ADD, Operator.SUBTRACT)
    return text_of(expression) if expression.operator in sums else _tight_or_product(expression)


def _logical(expression: Expression) -> str:
    text = text_of(expression)
    loose = expression.operator in (Operator.AND, Operator.OR, Operator.CHOOSE)
    return f"({text})" if loose else text
