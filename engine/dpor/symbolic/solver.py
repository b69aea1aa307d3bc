"""Satisfiability of path conditions, by z3: the only module that imports it.

ConDPOR (CONCUR'25), sections 4.1 and 5: a new branch costs one call, since a model of the path so far already decides
one of its sides; solvers are incremental and pooled, because paths share most of what they hold. What has nothing in
common with a condition is left out of the question, so that one answer serves many paths. A component of a path (see
`paths`) has one model for as long as the check lasts, so that a model is a function of the path condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import z3 as _untyped  # pyright: ignore[reportMissingTypeStubs]

from dpor.symbolic.expressions import Expression, Operator, Value, Variable, evaluate
from dpor.symbolic.paths import Component, Literal, components_of, ordered

z3: Any = _untyped

_POOLED = 8
# z3 counts what it does; a limit on that, unlike one on time, gives the same answer on every machine, and needs no
# thread of its own that would watch a clock. So much it does in a second.
_WORK_A_SECOND = 5_000_000


class UnsolvedError(Exception):
    """The solver gave up on a question."""


class Solver:
    """Decides conditions. `timeout` is how long one call may take, in seconds, as work that takes about so long.

    `calls` counts the calls of z3, `unsolved` the sides of branches on which it gave up.
    """

    def __init__(self, timeout: float) -> None:
        self._work = max(1, min(int(timeout * _WORK_A_SECOND), 2**32 - 1))
        self._terms = _Terms()
        self._pool: list[_Incremental] = []
        self._models: dict[Component, dict[Variable, Value]] = {(): {}}
        self._sides: dict[tuple[Component, Expression], tuple[bool, bool]] = {}
        self._ranges: dict[tuple[Component, Expression, int], tuple[int, int] | None] = {}
        self.calls = 0
        self.unsolved = 0

    def sides(self, path: Sequence[Literal], condition: Expression) -> tuple[bool, bool]:
        """Whether the condition can be true, and whether it can be false, where the literals of `path` hold.

        A side on which the solver gives up counts as impossible, and in `unsolved`.
        """
        parts = components_of(path, condition.variables)
        around = ordered(literal for part in parts for literal in part)
        known = self._sides.get((around, condition))
        if known is None:
            known = self._sides[around, condition] = self._decide(parts, around, condition)
        return known

    def model(self, path: Sequence[Literal]) -> dict[Variable, Value]:
        """Values of variables that satisfy `path`; variables that it does not constrain are left out.

        Raises UnsolvedError if they were not known yet and the solver gives up.
        """
        return self._merged(components_of(path, _variables(path)))

    def range(self, path: Sequence[Literal], expression: Expression, limit: int) -> tuple[int, int] | None:
        """The least and the greatest value of an integer expression where `path` holds; None if they are more than
        `limit` apart. Raises UnsolvedError if the solver gives up.
        """
        parts = components_of(path, expression.variables)
        around = ordered(literal for part in parts for literal in part)
        key = (around, expression, limit)
        if key not in self._ranges:
            value = int(evaluate(expression, self._merged(parts)))
            low = self._extreme(around, expression, value, -1, limit)
            high = None if low is None else self._extreme(around, expression, value, 1, limit)
            fits = low is not None and high is not None and high - low <= limit
            self._ranges[key] = (low, high) if fits else None  # pyright: ignore[reportArgumentType]
        return self._ranges[key]

    def _decide(
        self, parts: Sequence[Component], around: Component, condition: Expression
    ) -> tuple[bool, bool]:
        try:
            model = self._merged(parts)
        except UnsolvedError:
            self.unsolved += 2
            return False, False
        holds = bool(evaluate(condition, model))
        values = {variable: model.get(variable, variable.default) for variable in condition.variables}
        self._models.setdefault(ordered((*around, (condition, holds))), {**model, **values})
        try:
            other = self._ask(ordered((*around, (condition, not holds))))
        except UnsolvedError:
            self.unsolved += 1
            other = None
        return (True, other is not None) if holds else (other is not None, True)

    def _merged(self, parts: Iterable[Component]) -> dict[Variable, Value]:
        merged: dict[Variable, Value] = {}
        for part in parts:
            model = self._models.get(part) or self._ask(part)
            if model is None:
                raise AssertionError("only satisfiable path conditions are taken")
            merged.update(model)
        return merged

    def _ask(self, literals: Component) -> dict[Variable, Value] | None:
        """A model of the literals, or None if they exclude each other. Raises UnsolvedError."""
        known = self._models.get(literals)
        if known is not None:
            return known
        solver = self._closest(literals).at(literals, self._terms)
        self.calls += 1
        answer = solver.check()
        if answer == z3.unknown:
            raise UnsolvedError
        if answer != z3.sat:
            return None
        model = self._terms.read(solver.model(), _variables(literals))
        self._models[literals] = model
        return model

    def _extreme(
        self, around: Component, expression: Expression, value: int, sign: int, limit: int
    ) -> int | None:
        """The value of the expression farthest from `value` in one direction; None if that is beyond `limit`."""
        solver = self._closest(around).at(around, self._terms)
        term = self._terms.of(expression)
        bounds = self._terms.bounds(expression.variables)

        def beyond(distance: int) -> bool:
            self.calls += 1
            bound = value + sign * distance
            solver.push()
            try:
                solver.add(term > bound if sign > 0 else term < bound, *bounds)
                answer = solver.check()
            finally:
                solver.pop()
            if answer == z3.unknown:
                raise UnsolvedError
            return answer == z3.sat

        if beyond(limit):
            return None
        near, far = 0, limit
        while near < far:
            middle = (near + far) // 2
            if beyond(middle):
                near = middle + 1
            else:
                far = middle
        return value + sign * near

    def _closest(self, literals: Component) -> _Incremental:
        """The solver of the pool that shares the longest beginning with the literals."""
        best = max(self._pool, key=lambda one: one.shared(literals), default=None)
        if best is not None and (best.shared(literals) > 0 or len(self._pool) >= _POOLED):
            self._pool.remove(best)
        else:
            best = _Incremental(self._work)
        # Where none fits, the one that was not used for longest is emptied.
        self._pool.append(best)
        return best


class _Incremental:
    """A solver that holds literals, one a level, and gives up no more than it must for the next question."""

    def __init__(self, work: int) -> None:
        self._solver = z3.Solver()
        self._solver.set("rlimit", work)
        self._held: list[Literal] = []

    def shared(self, literals: Component) -> int:
        """How many of the literals it holds already, from the first on."""
        count = 0
        for held, wanted in zip(self._held, literals, strict=False):
            if held != wanted:
                break
            count += 1
        return count

    def at(self, literals: Component, terms: _Terms) -> Any:
        """The solver, holding exactly these literals."""
        shared = self.shared(literals)
        if shared < len(self._held):
            self._solver.pop(len(self._held) - shared)
            del self._held[shared:]
        for condition, taken in literals[shared:]:
            self._solver.push()
            term = terms.of(condition)
            self._solver.add(term if taken else z3.Not(term), *terms.bounds(condition.variables))
            self._held.append((condition, taken))
        return self._solver


class _Terms:
    """Expressions in z3's terms."""

    def __init__(self) -> None:
        self._known: dict[Expression, Any] = {}
        self._symbols: dict[Variable, Any] = {}

    def of(self, expression: Expression) -> Any:
        """The term of an expression."""
        pending = [expression]
        while pending:
            current = pending[-1]
            missing = [argument for argument in current.arguments if argument not in self._known]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if current not in self._known:
                arguments = [self._known[argument] for argument in current.arguments]
                self._known[current] = self._translate(current, arguments)
        return self._known[expression]

    def bounds(self, variables: Iterable[Variable]) -> list[Any]:
        """What the variables' own bounds demand."""
        demands: list[Any] = []
        # In an order that does not depend on addresses, as z3's answers may depend on it.
        for variable in sorted(variables, key=lambda variable: (variable.key, variable.name)):
            if variable.low is not None:
                demands.append(self._symbol(variable) >= variable.low)
            if variable.high is not None:
                demands.append(self._symbol(variable) <= variable.high)
        return demands

    def read(self, model: Any, variables: Iterable[Variable]) -> dict[Variable, Value]:
        """The values that a model of z3 gives to variables."""
        values: dict[Variable, Value] = {}
        for variable in variables:
            found = model.eval(self._symbol(variable), model_completion=True)
            values[variable] = bool(z3.is_true(found)) if variable.is_boolean else cast(int, found.as_long())
        return values

    def _symbol(self, variable: Variable) -> Any:
        symbol = self._symbols.get(variable)
        if symbol is None:
            name = f"{variable.name}!{len(self._symbols)}"
            symbol = self._symbols[variable] = z3.Bool(name) if variable.is_boolean else z3.Int(name)
        return symbol

    def _translate(self, expression: Expression, arguments: list[Any]) -> Any:
        match expression.operator:
            case Operator.VARIABLE:
                assert isinstance(expression.leaf, Variable)
                return self._symbol(expression.leaf)
            case Operator.CONSTANT:
                value = expression.leaf
                return z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(cast(int, value))
            case Operator.NEGATE:
                return -arguments[0]
            case Operator.ADD:
                return arguments[0] + arguments[1]
            case Operator.SUBTRACT:
                return arguments[0] - arguments[1]
            case Operator.MULTIPLY:
                return arguments[0] * arguments[1]
            # z3's remainder is never negative; Python's division rounds down, so that its has the divisor's sign.
            case Operator.FLOOR_DIVIDE:
                left, right = arguments
                return z3.If(right > 0, left / right, (-left) / (-right))
            case Operator.MODULO:
                left, right = arguments
                return z3.If(right > 0, left % right, -((-left) % (-right)))
            case Operator.CHOOSE:
                return z3.If(*arguments)
            case Operator.LESS:
                return arguments[0] < arguments[1]
            case Operator.EQUAL:
                return arguments[0] == arguments[1]
            case Operator.NOT:
                return z3.Not(arguments[0])
            case Operator.AND:
                return z3.And(*arguments)
            case Operator.OR:
                return z3.Or(*arguments)


def _variables(literals: Iterable[Literal]) -> frozenset[Variable]:
    return frozenset[Variable]().union(*(condition.variables for condition, _ in literals))
