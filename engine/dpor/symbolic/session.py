"""The symbolic values of one check: who they are, how they branch, what numbers they stand for.

A session outlives the executions of its check. While it explores, a solver says which sides of a branch are possible;
while one execution is repeated, the values are given (`pinned`), and no solver is needed.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dpor.codes import Code
from dpor.errors import DporError
from dpor.symbolic.calls import Calls, needs_numbers
from dpor.symbolic.expressions import (
    Expression,
    Expressions,
    Operator,
    Value,
    Variable,
    bounds_of,
    constant_of,
    evaluate,
    text_of,
)
from dpor.symbolic.paths import Literal

if TYPE_CHECKING:
    from dpor._kernel import Host
    from dpor.symbolic.places import Places
    from dpor.symbolic.solver import Solver

Key = tuple[str, int]
Pinned = Mapping[Key, Value]

# How many values are tried one by one where a number is needed.
ENUMERABLE = 1024
INSTALL = "install it with: python -m pip install 'dpor-lsp[symbolic]'"


class Session:
    """Symbolic values under one host.

    Arguments: the host, the algorithm's name and whether it can decide branches, how long the solver may take for one
    answer (seconds), and what tells where in the model's code the interpreter is.
    """

    def __init__(
        self, host: Host, algorithm: str, decides_branches: bool, timeout: float, places: Places
    ) -> None:
        self.host = host
        self.expressions = Expressions()
        self._algorithm = algorithm
        self._decides_branches = decides_branches
        self._timeout = timeout
        self._places = places
        self._calls = Calls()
        self._solver: Solver | None = None
        self._pinned: Pinned | None = None
        self._variables: dict[tuple[Key, bool, int | None, int | None], Variable] = {}
        self._names: dict[str, int] = {}
        self._conditions: list[Expression] = []
        self._numbers: dict[Expression, int] = {}
        self._execution = -1
        self._made: dict[str, int] = {}
        self._present: list[Variable] = []

    @property
    def is_used(self) -> bool:
        """Whether the model has made a symbolic value."""
        return bool(self._variables)

    @property
    def unsolved(self) -> int:
        """On how many sides of branches the solver gave up."""
        return 0 if self._solver is None else self._solver.unsolved

    @property
    def solver_calls(self) -> int:
        """How often z3 was called to decide branches."""
        return 0 if self._solver is None else self._solver.calls

    def pin(self, values: Pinned | None) -> None:
        """Give the symbolic values these values from now on, or (None) explore them again."""
        self._pinned = values

    @contextlib.contextmanager
    def pinned(self, values: Pinned) -> Generator[None]:
        """Give the symbolic values these values for as long as the context lasts."""
        outer = self._pinned
        self._pinned = values
        try:
            yield
        finally:
            self._pinned = outer

    def variable(self, name: str | None, is_boolean: bool, low: int | None, high: int | None) -> Expression:
        """A new symbolic value of the calling thread. Refuses the model if the value cannot be explored."""
        host = self.host
        host.outside_predicates("makes a symbolic value")
        if self._pinned is None:
            self._require_solver()
        thread = host.thread_path(host.current_index())
        if host.execution != self._execution:
            self._execution = host.execution
            self._made.clear()
            self._present.clear()
        number = self._made.get(thread, 0)
        self._made[thread] = number + 1
        identity = ((thread, number), is_boolean, low, high)
        variable = self._variables.get(identity)
        if variable is None:
            variable = Variable(self._unique(name or "value"), (thread, number), is_boolean, low, high)
            self._variables[identity] = variable
        self._present.append(variable)
        return self.expressions.variable(variable)

    def name_of(self, expression: Expression) -> str:
        """The name under which reports show a variable."""
        return text_of(expression)

    def decide(self, condition: Expression) -> bool:
        """The truth of a condition in this execution: a branch, unless it is known."""
        taken = True
        while condition.operator is Operator.NOT:
            condition, taken = condition.arguments[0], not taken
        if condition.operator is Operator.CONSTANT:
            return bool(condition.leaf) is taken
        if not self.host.active:
            return bool(self.value(condition)) is taken
        if self.host.probing:
            self.refuse(
                Code.UNSUPPORTED_CONSTRUCT,
                f"a wait_until predicate depends on the symbolic condition `{text_of(condition)}`",
                "decide the condition before it is shared: store `bool(condition)`, or a number that it selects",
            )
        number = self._numbers.get(condition)
        if number is None:
            number = self._numbers[condition] = len(self._conditions)
            self._conditions.append(condition)
        return self.host.branch(number) is taken

    def __call__(self, literals: Sequence[tuple[int, bool]], number: int) -> tuple[bool, bool]:
        """What the kernel asks: whether condition `number` can be true and can be false where the literals hold."""
        condition = self._conditions[number]
        if self._pinned is not None:
            holds = bool(evaluate(condition, self._pinned_model()))
            return holds, not holds
        assert self._solver is not None
        return self._solver.sides(self._literals(literals), condition)

    def value(self, expression: Expression) -> Value:
        """What the expression is in the model of the running (or last) execution: for messages only."""
        return evaluate(expression, self._model(self.host.path()))

    def values(self) -> dict[Key, Value]:
        """The symbolic values of the running (or last) execution with the numbers that its model gives them."""
        model = self._model(self.host.path())
        return {variable.key: model.get(variable, variable.default) for variable in self._present}

    def named_values(self) -> dict[str, Value]:
        """The same by the names under which reports show them."""
        values = self.values()
        return {variable.name: values[variable.key] for variable in self._present}

    def path_condition(self) -> tuple[str, ...]:
        """The path condition of the running (or last) execution in Python syntax."""
        return tuple(text_of(condition, taken) for condition, taken in self._literals(self.host.path()))

    def condition_text(self, number: int) -> str:
        """A condition in Python syntax."""
        return text_of(self._conditions[number])

    def number(self, expression: Expression) -> int:
        """The number that the expression is: each value that it can have is a branch.

        Refuses the model if there are more than `ENUMERABLE`, or no end of them.
        """
        value = constant_of(expression)
        if value is not None:
            return value
        if not self.host.active:
            return int(self.value(expression))
        low, high = bounds_of(expression)
        if low is not None and high is not None and high - low < ENUMERABLE:
            return self._between(expression, low, high)
        sizes = [_size(variable) for variable in expression.variables]
        if None not in sizes and math.prod(size or 0 for size in sizes) <= ENUMERABLE:
            variables = sorted(expression.variables, key=lambda variable: variable.key)
            model = {one: self.number(self.expressions.variable(one)) for one in variables}
            return int(evaluate(expression, model))
        # What is repeated was found to be finite when it was explored.
        if self._pinned is None and self._range(expression) is None:
            self._refuse_number(expression)
        return self._search(expression)

    def is_bounded(self, expression: Expression) -> bool:
        """Whether the bounds of its variables leave the expression only a few values."""
        low, high = bounds_of(expression)
        return low is not None and high is not None and high - low < ENUMERABLE

    def index(self, expression: Expression, length: int) -> int:
        """The number that the expression is as an index into a list; `length` stands for all that are out of range."""
        expressions = self.expressions
        below = expressions.less(expression, expressions.constant(-length))
        if self.decide(below) or not self.decide(expressions.less(expression, expressions.constant(length))):
            return length
        return self._between(expression, -length, length - 1)

    def builtin(self, function: Any) -> Any:
        """What the model calls by the name of a built-in function: it, or what does the same for symbolic values."""
        return self._calls.builtin(function)

    def needs_numbers(self, function: Any) -> bool:
        """Whether a function or method takes numbers, and no symbolic values."""
        return needs_numbers(function)

    def number_arguments(
        self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any] | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The arguments of a call with numbers in place of symbolic values; None if they can stay as they are."""
        return self._calls.number_arguments(function, arguments, keywords)

    def identical(self, left: Any, right: Any) -> bool:
        """Whether two values are one object, at least one of which is symbolic.

        Refuses the model if they are equal numbers, of which it depends on the interpreter whether they are one object.
        """
        if not (isinstance(left, int) and isinstance(right, int)):
            return False
        if isinstance(left, bool) is not isinstance(right, bool) or left != right:
            return False
        if isinstance(left, bool) or -5 <= left <= 256:
            return True
        self.refuse(
            Code.NOT_SYMBOLIC,
            "`is` compares numbers, and whether equal numbers are one object is up to the interpreter",
            "compare them with ==",
        )

    def is_message(self) -> bool:
        """Whether the running code only words a message, so that a value may be shown without being decided."""
        return not self.host.active or self._places.is_message()

    def divided(self) -> DporError:
        """Why a graph cannot be explored in which others see what the running operation of built-in code writes, before
        it has decided what that is.
        """
        return DporError(
            Code.UNSUPPORTED_CONSTRUCT,
            f"algorithm {self._algorithm!r} cannot let threads see what an operation of built-in code writes that "
            "compares symbolic values to know it",
            "use --algorithm optimal, or compare the values before, in the model's own code, or take a lock around it",
            self._places.span(),
        )

    def refuse_weak_exchange(self) -> NoReturn:
        """Refuse a compare-exchange of symbolic values under a memory model in which one that fails is a mere load."""
        self.refuse(
            Code.UNSUPPORTED_CONSTRUCT,
            "a compare_exchange of symbolic values is not explored under this memory model, where one that fails "
            "orders less than one that writes",
            "enumerate the values with dpor.choose(range(...)), or use --memory-model tso, pso or sc",
        )

    def refuse(self, code: Code, message: str, fix: str) -> NoReturn:
        """Give the check up with a coded error at the place of the running code."""
        self.host.refuse(DporError(code, message, fix, self._places.span()))
        raise AssertionError("refusing leaves the execution")

    def _between(self, expression: Expression, low: int, high: int) -> int:
        expressions = self.expressions
        while low < high:
            middle = (low + high) // 2
            if self.decide(expressions.less(expressions.constant(middle), expression)):
                low = middle + 1
            else:
                high = middle
        return low

    def _search(self, expression: Expression) -> int:
        """Find the expression's value by questions that do not depend on what is known of it."""
        expressions = self.expressions
        negative = self.decide(expressions.less(expression, expressions.constant(0)))
        bound = 1
        # A number n >= 0, or -n - 1 for a negative one, is below the bound.
        distance = expressions.subtract(expressions.constant(-1), expression) if negative else expression
        while not self.decide(expressions.less(distance, expressions.constant(bound))):
            bound *= 2
        found = self._between(distance, bound // 2, bound - 1)
        return -1 - found if negative else found

    def _range(self, expression: Expression) -> tuple[int, int] | None:
        """The least and greatest value that the expression can have, if they are close, as far as the calling thread's
        past tells: what other threads decide meanwhile must not matter.
        """
        assert self._solver is not None
        from dpor.symbolic.solver import UnsolvedError

        try:
            return self._solver.range(self._literals(self.host.literals()), expression, ENUMERABLE - 1)
        except UnsolvedError:
            self.refuse(
                Code.NOT_SYMBOLIC,
                f"the solver cannot tell how many values `{text_of(expression)}` can have",
                "give the value bounds (nondet_int(low=..., high=...)), or raise solver_timeout",
            )

    def _refuse_number(self, expression: Expression) -> NoReturn:
        self.refuse(
            Code.NOT_SYMBOLIC,
            f"`{text_of(expression)}` is used where only a number can be, and can have more than {ENUMERABLE} values",
            "give the value bounds (nondet_int(low=..., high=...)), dpor.assume a range before, or compare it instead",
        )

    def _require_solver(self) -> None:
        if self._solver is not None:
            return
        if not self._decides_branches:
            self.refuse(
                Code.UNSUPPORTED_CONSTRUCT,
                f"algorithm {self._algorithm!r} cannot explore symbolic values",
                "use --algorithm concolic, or enumerate the values with dpor.choose(range(...))",
            )
        try:
            from dpor.symbolic.solver import Solver
        except ImportError:
            self.refuse(
                Code.SOLVER_MISSING,
                "the model has symbolic values, and z3, which decides them, is not installed",
                INSTALL,
            )
        self._solver = Solver(self._timeout)

    def _unique(self, name: str) -> str:
        count = self._names[name] = self._names.get(name, 0) + 1
        return name if count == 1 else self._unique(f"{name}_{count}")

    def _literals(self, literals: Sequence[tuple[int, bool]]) -> list[Literal]:
        return [(self._conditions[number], taken) for number, taken in literals]

    def _pinned_model(self) -> dict[Variable, Value]:
        pinned = self._pinned or {}
        return {one: pinned[one.key] for one in self._variables.values() if one.key in pinned}

    def _model(self, literals: Sequence[tuple[int, bool]]) -> dict[Variable, Value]:
        if self._pinned is not None:
            return self._pinned_model()
        if self._solver is None:
            return {}
        from dpor.symbolic.solver import UnsolvedError

        try:
            return self._solver.model(self._literals(literals))
        except UnsolvedError:
            return {}


def _size(variable: Variable) -> int | None:
    """How many values the variable's own bounds leave it; None if they do not bound it."""
    if variable.is_boolean:
        return 2
    return None if variable.low is None or variable.high is None else variable.high - variable.low + 1
