"""What a model holds in place of a number or a truth value: proxies that build expressions.

They do what `int` and `bool` do, with the same results and the same errors. A comparison gives a symbolic truth value;
testing that is a branch. What can only be done with a number makes one of the value, by a branch for each that it can
be. `isinstance(value, int)` holds, `type(value) is int` does not.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from types import WrapperDescriptorType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from dpor.symbolic.expressions import Expression, Operator, Value, constant_of

if TYPE_CHECKING:
    from dpor._kernel import Host
    from dpor.symbolic.session import Session

# The operators of plain values; not typed, since they take anything.
_PLAIN: Any = operator
_PLAIN_POWER: Any = pow
# Powers beyond are made of numbers.
_HIGHEST_POWER = 64

Operand: TypeAlias = Any
Combine: TypeAlias = "Callable[[Expression, Expression], Expression]"


class Symbolic:
    """A symbolic value: an expression in the session of its check."""

    __slots__ = ("_expression", "_session")
    __dpor_symbolic__ = True

    def __init__(self, session: Session, expression: Expression) -> None:
        self._session = session
        self._expression = expression

    @property
    def __dpor_expression__(self) -> Expression:
        return self._expression

    def __dpor_concrete__(self) -> Value:
        """The number that the value is, by a branch for each that it can be."""
        raise NotImplementedError

    def __dpor_shown__(self) -> Value:
        """The number that the model of the execution gives it: for messages, which decide nothing."""
        return self._session.value(self._expression)

    def __dpor_is_bounded__(self) -> bool:
        return self._session.is_bounded(self._integer())

    def __dpor_index__(self, length: int) -> int:
        """The number that the value is as an index of a list; `length` for all that are out of range."""
        return self._session.index(self._integer(), length)

    def _integer(self) -> Expression:
        return self._session.expressions.integer(self._expression)

    def _text_value(self) -> Value:
        """What texts show: a text that only words a message must not split the exploration."""
        return self.__dpor_shown__() if self._session.is_message() else self.__dpor_concrete__()

    def __repr__(self) -> str:
        return repr(self._text_value())

    def __str__(self) -> str:
        return str(self._text_value())

    def __format__(self, specification: str) -> str:
        return format(self._text_value(), specification)

    def __copy__(self) -> Symbolic:
        return self

    def __deepcopy__(self, memo: object) -> Symbolic:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self.__dpor_concrete__()), (self.__dpor_concrete__(),))

    # Numbers: shared by both kinds, since a bool is an int.

    def __hash__(self) -> int:
        return hash(self.__dpor_concrete__())

    def __index__(self) -> int:
        return int(self.__dpor_concrete__())

    def __int__(self) -> int:
        return int(self.__dpor_concrete__())

    def __float__(self) -> float:
        return float(self.__dpor_concrete__())

    def __complex__(self) -> complex:
        return complex(self.__dpor_concrete__())

    def __trunc__(self) -> SymbolicInteger:
        return self._make(self._integer())

    __floor__ = __ceil__ = __pos__ = __trunc__

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None or (not isinstance(digits, Symbolic) and operator.index(digits) >= 0):
            return self._make(self._integer())
        return round(int(self.__dpor_concrete__()), operator.index(digits))

    def __neg__(self) -> SymbolicInteger:
        return self._make(self._session.expressions.negate(self._integer()))

    def __invert__(self) -> SymbolicInteger:
        expressions = self._session.expressions
        return self._make(expressions.subtract(expressions.constant(-1), self._integer()))

    def __abs__(self) -> SymbolicInteger:
        expressions, value = self._session.expressions, self._integer()
        negative = expressions.less(value, expressions.constant(0))
        return self._make(expressions.choose(negative, expressions.negate(value), value))

    def __add__(self, other: Operand) -> Any:
        return self._combine(other, _PLAIN.add, self._session.expressions.add)

    def __radd__(self, other: Operand) -> Any:
        return self._combine(other, _PLAIN.add, self._session.expressions.add, reflected=True)

    def __sub__(self, other: Operand) -> Any:
        return self._combine(other, _PLAIN.sub, self._session.expressions.subtract)

    def __rsub__(self, other: Operand) -> Any:
        return self._combine(other, _PLAIN.sub, self._session.expressions.subtract, reflected=True)

    def __mul__(self, other: Operand) -> Any:
        return self._combine(other, _PLAIN.mul, self._session.expressions.multiply)

    def __rmul__(self, other: Operand) -> Any:
        return self._combine(other, _PLAIN.mul, self._session.expressions.multiply, reflected=True)

    def __floordiv__(self, other: Operand) -> Any:
        return self._divide(other, _PLAIN.floordiv, self._session.expressions.floor_divide)

    def __rfloordiv__(self, other: Operand) -> Any:
        return self._divide(other, _PLAIN.floordiv, self._session.expressions.floor_divide, reflected=True)

    def __mod__(self, other: Operand) -> Any:
        return self._divide(other, _PLAIN.mod, self._session.expressions.modulo)

    def __rmod__(self, other: Operand) -> Any:
        return self._divide(other, _PLAIN.mod, self._session.expressions.modulo, reflected=True)

    def __divmod__(self, other: Operand) -> Any:
        return self._quotient_and_remainder(other, reflected=False)

    def __rdivmod__(self, other: Operand) -> Any:
        return self._quotient_and_remainder(other, reflected=True)

    def _quotient_and_remainder(self, other: Operand, *, reflected: bool) -> Any:
        # `divmod` decides how a division by zero is worded, and what comes of a float.
        quotient = self._divide(other, divmod, self._session.expressions.floor_divide, reflected=reflected)
        if self._operand(other) is None:
            return quotient
        modulo = self._session.expressions.modulo
        return quotient, self._divide(other, _PLAIN.mod, modulo, reflected=reflected)

    def __truediv__(self, other: Operand) -> Any:
        if self._operand(other) is None:
            return self._of_number(other, _PLAIN.truediv, reflected=False)
        return _apply(_PLAIN.truediv, self, other)

    def __rtruediv__(self, other: Operand) -> Any:
        if self._operand(other) is None:
            return self._of_number(other, _PLAIN.truediv, reflected=True)
        return _apply(_PLAIN.truediv, other, self)

    def __pow__(self, exponent: Operand, modulus: Operand = None) -> Any:
        if isinstance(exponent, Symbolic):
            exponent = exponent.__dpor_concrete__()
        if modulus is not None and not (isinstance(exponent, int) and exponent >= 0):
            return _PLAIN_POWER(self.__dpor_concrete__(), exponent, _number(modulus))
        if not isinstance(exponent, int):
            return self._of_number(exponent, pow, reflected=False)
        if not 0 <= exponent <= _HIGHEST_POWER:
            return _PLAIN_POWER(self.__dpor_concrete__(), exponent, _number(modulus))
        result = self._session.expressions.constant(1)
        for _ in range(exponent):
            result = self._session.expressions.multiply(result, self._integer())
        power = self._make(result)
        return power if modulus is None else power % modulus

    def __rpow__(self, base: Operand, modulus: Operand = None) -> Any:
        if not isinstance(base, int):
            return self._of_number(base, pow, reflected=True)
        return _PLAIN_POWER(base, self.__dpor_concrete__(), _number(modulus))

    def __lshift__(self, count: Operand) -> Any:
        return self._shift(count, _PLAIN.lshift, self._session.expressions.multiply)

    def __rshift__(self, count: Operand) -> Any:
        return self._shift(count, _PLAIN.rshift, self._session.expressions.floor_divide)

    def __rlshift__(self, other: Operand) -> Any:
        return _apply(_PLAIN.lshift, other, self) if isinstance(other, int) else NotImplemented

    def __rrshift__(self, other: Operand) -> Any:
        return _apply(_PLAIN.rshift, other, self) if isinstance(other, int) else NotImplemented

    def __and__(self, other: Operand) -> Any:
        return self._bits(other, _PLAIN.and_)

    def __or__(self, other: Operand) -> Any:
        return self._bits(other, _PLAIN.or_)

    def __xor__(self, other: Operand) -> Any:
        return self._bits(other, _PLAIN.xor)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __lt__(self, other: Operand) -> Any:
        return self._compare(other, _PLAIN.lt)

    def __le__(self, other: Operand) -> Any:
        return self._compare(other, _PLAIN.le)

    def __gt__(self, other: Operand) -> Any:
        return self._compare(other, _PLAIN.gt)

    def __ge__(self, other: Operand) -> Any:
        return self._compare(other, _PLAIN.ge)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, _PLAIN.eq)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, _PLAIN.ne)

    def bit_length(self) -> int:
        """As `int.bit_length`, of a number."""
        return int(self.__dpor_concrete__()).bit_length()

    def bit_count(self) -> int:
        """As `int.bit_count`, of a number."""
        return int(self.__dpor_concrete__()).bit_count()

    def to_bytes(self, *arguments: Any, **keywords: Any) -> bytes:
        """As `int.to_bytes`, of a number."""
        return int(self.__dpor_concrete__()).to_bytes(*arguments, **keywords)

    def conjugate(self) -> SymbolicInteger:
        """As `int.conjugate`."""
        return self._make(self._integer())

    def as_integer_ratio(self) -> tuple[SymbolicInteger, int]:
        """As `int.as_integer_ratio`."""
        return self._make(self._integer()), 1

    def is_integer(self) -> bool:
        """As `int.is_integer`."""
        return True

    @property
    def real(self) -> SymbolicInteger:
        """As `int.real`."""
        return self._make(self._integer())

    @property
    def numerator(self) -> Any:
        """As `int.numerator`: a number, unless a Fraction asks. Decimal, in C, asks as well and takes nothing else."""
        asking = sys._getframe(1).f_globals.get("__name__")  # pyright: ignore[reportPrivateUsage]
        return self.real if asking == "fractions" else self.__dpor_concrete__()

    @property
    def imag(self) -> int:
        """As `int.imag`."""
        return 0

    @property
    def denominator(self) -> int:
        """As `int.denominator`."""
        return 1

    def _make(self, expression: Expression) -> Any:
        """A value that is the expression: a plain number if it is a constant."""
        if expression.operator is Operator.CONSTANT:
            return expression.leaf
        kind = SymbolicBoolean if expression.is_boolean else SymbolicInteger
        return kind(self._session, expression)

    def _operand(self, other: Operand) -> Expression | None:
        """The expression of an integer operand; None if it is none."""
        expressions = self._session.expressions
        if isinstance(other, Symbolic):
            return expressions.integer(other._expression)
        # Not isinstance alone: a subclass may have operators of its own, which are asked first.
        return (
            expressions.constant(int(other)) if type(other) in (int, bool) or _is_plain_int(other) else None
        )

    def _combine(
        self, other: Operand, plain: Callable[[Any, Any], Any], combine: Combine, *, reflected: bool = False
    ) -> Any:
        operand = self._operand(other)
        if operand is None:
            return self._of_number(other, plain, reflected=reflected)
        left, right = (operand, self._integer()) if reflected else (self._integer(), operand)
        return self._make(combine(left, right))

    def _divide(
        self, other: Operand, plain: Callable[[Any, Any], Any], combine: Combine, *, reflected: bool = False
    ) -> Any:
        operand = self._operand(other)
        if operand is None:
            return self._of_number(other, plain, reflected=reflected)
        left, right = (operand, self._integer()) if reflected else (self._integer(), operand)
        expressions = self._session.expressions
        if self._session.decide(expressions.equal(right, expressions.constant(0))):
            # The error is the one that this Python raises.
            return plain(1, 0)
        return self._make(combine(left, right))

    def _of_number(self, other: Operand, plain: Callable[[Any, Any], Any], *, reflected: bool) -> Any:
        """The operation with what is no int: operands in C (a float, a Decimal, a timedelta) take numbers only."""
        name = plain.__name__.strip("_")
        method = f"__{name}__" if reflected else f"__r{name}__"
        if not isinstance(getattr(cast(object, type(other)), method, None), WrapperDescriptorType):
            return NotImplemented
        return _apply(plain, other, self) if reflected else _apply(plain, self, other)

    def _shift(self, count: Operand, plain: Callable[[Any, Any], Any], combine: Combine) -> Any:
        if isinstance(count, Symbolic):
            count = count.__dpor_concrete__()
        if not isinstance(count, int):
            return NotImplemented
        if count < 0:
            return plain(1, count)
        return self._make(combine(self._integer(), self._session.expressions.constant(1 << count)))

    def _bits(self, other: Operand, plain: Callable[[Any, Any], Any]) -> Any:
        operand = self._operand(other)
        if operand is None:
            return NotImplemented
        mask = constant_of(operand)
        if mask is None:
            # Bits of unbounded integers are nothing that the solver knows: one of the two becomes a number.
            assert isinstance(other, Symbolic)
            bounded, free = (self, other) if self.__dpor_is_bounded__() else (other, self)
            return plain(int(bounded.__dpor_concrete__()), free)
        expressions, value = self._session.expressions, self._integer()
        common = self._masked(value, mask)
        if plain is _PLAIN.and_:
            return self._make(common)
        total = expressions.add(value, expressions.constant(mask))
        if plain is _PLAIN.or_:
            return self._make(expressions.subtract(total, common))
        twice = expressions.multiply(common, expressions.constant(2))
        return self._make(expressions.subtract(total, twice))

    def _masked(self, value: Expression, mask: int) -> Expression:
        """`value & mask`, of the infinitely many bits of two's complement."""
        expressions = self._session.expressions
        if mask < 0:
            return expressions.subtract(value, self._masked(value, ~mask))
        result, position = expressions.constant(0), 0
        while mask >> position:
            if not mask >> position & 1:
                position += 1
                continue
            width = 1
            while mask >> position + width & 1:
                width += 1
            shifted = expressions.floor_divide(value, expressions.constant(1 << position))
            run = expressions.modulo(shifted, expressions.constant(1 << width))
            result = expressions.add(result, expressions.multiply(run, expressions.constant(1 << position)))
            position += width
        return result

    def _compare(self, other: object, compare: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, float) and not isinstance(other, Symbolic):
            return self._compare_with_float(other, compare)
        operand = self._operand(other)
        if operand is None:
            return self._compare_with_number(other, compare)
        expressions, value = self._session.expressions, self._integer()
        if compare is _PLAIN.eq or compare is _PLAIN.ne:
            result = expressions.equal(value, operand)
        elif compare is _PLAIN.lt or compare is _PLAIN.ge:
            result = expressions.less(value, operand)
        else:
            result = expressions.less(operand, value)
        negated = compare is _PLAIN.ne or compare is _PLAIN.ge or compare is _PLAIN.le
        return self._make(expressions.negation(result) if negated else result)

    def _compare_with_number(self, other: object, compare: Callable[[Any, Any], Any]) -> Any:
        """A comparison with what is no int and no float: an operand in C that is a number takes numbers only."""
        kind = type(other)
        if isinstance(other, complex) and kind.__eq__ is complex.__eq__:
            if compare not in (_PLAIN.eq, _PLAIN.ne):
                return NotImplemented
            return compare is _PLAIN.ne if other.imag else self._compare_with_float(other.real, compare)
        is_number = hasattr(kind, "__float__") or hasattr(kind, "__complex__") or hasattr(kind, "__index__")
        if (
            not is_number
            or not isinstance(kind.__eq__, WrapperDescriptorType)
            or kind.__eq__ is object.__eq__
        ):
            return NotImplemented
        return compare(_number(self), other)

    def _compare_with_float(self, other: float, compare: Callable[[Any, Any], Any]) -> Any:
        """A comparison with a float, which Python makes exactly."""
        if not math.isfinite(other):
            return compare(0, other)
        if other == int(other):
            return self._compare(int(other), compare)
        if compare is _PLAIN.eq or compare is _PLAIN.ne:
            return compare is _PLAIN.ne
        # Nothing lies between the float and the integer below it.
        below = compare is _PLAIN.lt or compare is _PLAIN.le
        return self._compare(math.floor(other), _PLAIN.le if below else _PLAIN.gt)


class SymbolicInteger(Symbolic):
    """A symbolic integer."""

    __slots__ = ()

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return int

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError("the class of an int cannot be changed")

    def __dpor_concrete__(self) -> int:
        return self._session.number(self._expression)

    def __bool__(self) -> bool:
        expressions = self._session.expressions
        return not self._session.decide(expressions.equal(self._expression, expressions.constant(0)))


class SymbolicBoolean(Symbolic):
    """A symbolic truth value: what a comparison of symbolic integers gives, or `dpor.nondet_bool()`."""

    __slots__ = ()

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return bool

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError("the class of a bool cannot be changed")

    def __dpor_concrete__(self) -> bool:
        return self._session.decide(self._expression)

    def __bool__(self) -> bool:
        return self._session.decide(self._expression)

    def _compare(self, other: object, compare: Callable[[Any, Any], Any]) -> Any:
        """A truth value compared with a truth value stays one, without a detour by numbers."""
        expressions = self._session.expressions
        if compare is _PLAIN.eq or compare is _PLAIN.ne:
            if isinstance(other, SymbolicBoolean):
                equal = self._equivalence(other._expression)
                return self._make(expressions.negation(equal) if compare is _PLAIN.ne else equal)
            if isinstance(other, bool):
                same = (compare is _PLAIN.eq) is other
                return self._make(self._expression if same else expressions.negation(self._expression))
        return Symbolic._compare(self, other, compare)

    def _bits(self, other: Operand, plain: Callable[[Any, Any], Any]) -> Any:
        expressions = self._session.expressions
        if isinstance(other, SymbolicBoolean):
            second = other._expression
        elif type(other) is bool:
            second = expressions.constant(other)
        else:
            return Symbolic._bits(self, other, plain)
        if plain is _PLAIN.and_:
            return self._make(expressions.both(self._expression, second))
        if plain is _PLAIN.or_:
            return self._make(expressions.either(self._expression, second))
        return self._make(expressions.negation(self._equivalence(second)))

    def _equivalence(self, second: Expression) -> Expression:
        expressions, first = self._session.expressions, self._expression
        neither = expressions.both(expressions.negation(first), expressions.negation(second))
        return expressions.either(expressions.both(first, second), neither)


def _is_plain_int(value: object) -> bool:
    """Whether the value is an int whose class has the operators of `int` (an IntEnum, for example)."""
    kind = type(value)
    return issubclass(kind, int) and kind.__add__ is int.__add__ and kind.__lt__ is int.__lt__


def _number(value: Operand) -> Any:
    return value.__dpor_concrete__() if isinstance(value, Symbolic) else value


def _apply(plain: Callable[[Any, Any], Any], left: Operand, right: Operand) -> Any:
    """The plain operation, of numbers in place of symbolic values."""
    return plain(_number(left), _number(right))


def symbolic_integer(host: Host, name: str | None, low: int | None, high: int | None) -> Any:
    """A new symbolic integer of the calling thread, or the number if the bounds leave only one."""
    if low is not None and low == high:
        return low
    session: Session = host.solver
    made = SymbolicInteger(session, session.variable(name, False, low, high))
    host.made_symbolic(session.name_of(made.__dpor_expression__), made)
    return made


def symbolic_boolean(host: Host, name: str | None) -> Any:
    """A new symbolic truth value of the calling thread."""
    session: Session = host.solver
    made = SymbolicBoolean(session, session.variable(name, True, None, None))
    host.made_symbolic(session.name_of(made.__dpor_expression__), made)
    return made
