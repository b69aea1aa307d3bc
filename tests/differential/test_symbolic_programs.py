"""Symbolic values against trying every value: random expressions, container operations and threaded programs."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import differential_sink
import pytest
from amount import PROGRAMS, SEED

pytest.importorskip("z3")
checking = pytest.importorskip("dpor.checking", reason="the engine is not built")

from dpor.codes import Code  # noqa: E402
from dpor.errors import DporError  # noqa: E402
from dpor.results import CheckRequest, Verdict  # noqa: E402

HALF = max(10, PROGRAMS // 2)
LOW, HIGH = -3, 3
DOMAIN = range(LOW, HIGH + 1)

HEADER = """
import threading
import dpor
from differential_sink import record


class Shared:
    def __init__(self):
        self.a = self.b = 0
        self.cells = [3, 1, 2]
        self.table = {0: 5, 1: 6, 2: 7}
        self.lock = threading.Lock()
        self.atomic = dpor.Atomic(0)

"""


def check(folder: Path, text: str, name: str, **options: Any) -> tuple[Any, frozenset[Any]]:
    """The result of checking a model, and the outcomes that it recorded."""
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    differential_sink.take()
    result = checking.check_model(
        CheckRequest(
            file=str(file),
            model="model",
            root=str(folder),
            options={"timeout": 60, **options},
            all_violations=True,
        )
    )
    return result, differential_sink.take()


class Expressions:
    """Random expressions over variables, in the operators that Python has for integers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, names: list[str], depth: int) -> str:
        """An expression whose value is a number."""
        draw = self.random.randrange(16) if depth else self.random.randrange(2)
        if draw == 0:
            return str(self.random.randrange(-4, 5))
        if draw == 1:
            return self.random.choice(names)
        one = self.integer(names, depth - 1)
        if draw in (2, 3, 4, 5, 6):
            return f"({one} {self.random.choice('+-*')} {self.integer(names, depth - 1)})"
        if draw == 7:
            return f"({one} {self.random.choice(['//', '%'])} {self.integer(names, depth - 1)})"
        if draw == 8:
            return f"(-{one})" if self.random.random() < 0.5 else f"(~{one})"
        if draw == 9:
            return f"abs({one})"
        if draw == 10:
            return f"{self.random.choice(['min', 'max'])}({one}, {self.integer(names, depth - 1)})"
        if draw == 11:
            mask = self.random.randrange(-8, 9)
            return f"({one} {self.random.choice('&|^')} {mask})"
        if draw == 12:
            return f"({one} {self.random.choice(['<<', '>>'])} {self.random.randrange(3)})"
        if draw == 13:
            return f"({one} ** {self.random.randrange(4)})"
        if draw == 14:
            return f"divmod({one}, {self.random.choice(['2', '-3', names[0]])})[{self.random.randrange(2)}]"
        return f"({one} if {self.truth(names, depth - 1)} else {self.integer(names, depth - 1)})"

    def truth(self, names: list[str], depth: int) -> str:
        """An expression whose value is a truth value."""
        draw = self.random.randrange(9) if depth else 0
        one, other = self.integer(names, max(0, depth - 1)), self.integer(names, max(0, depth - 1))
        if draw <= 3:
            return f"({one} {self.random.choice(['<', '<=', '>', '>=', '==', '!='])} {other})"
        if draw == 4:
            return f"({one} < {other} <= {self.integer(names, 0)})"
        if draw == 5:
            return f"(not {self.truth(names, depth - 1)})"
        if draw == 6:
            return (
                f"({self.truth(names, depth - 1)} {self.random.choice(['and', 'or'])} {self.truth(names, 0)})"
            )
        if draw == 7:
            return f"({one} in [{other}, {self.integer(names, 0)}, 2])"
        return f"({one} {self.random.choice(['<', '>=', '=='])} {self.random.choice(['0.5', '-1.0', '2.5'])})"

    def any(self, names: list[str], depth: int) -> str:
        """An expression of any sort."""
        draw = self.random.randrange(12)
        if draw == 0:
            return f"sorted([{', '.join(self.integer(names, 1) for _ in range(3))}])"
        if draw == 1:
            return f"[10, 20, 30][{self.integer(names, 1)}]"
        if draw == 2:
            return f"{{0: 'a', 1: 'b'}}.get({self.integer(names, 1)})"
        if draw == 3:
            return f"len({{{self.integer(names, 1)}, {self.integer(names, 1)}}})"
        if draw == 4:
            return f"list(range({self.integer(names, 1)}))"
        if draw == 5:
            return f"f'{{{self.integer(names, 1)}:+d}}'"
        if draw == 6:
            return f"({self.integer(names, 1)}) / 4"
        if draw == 7:
            return f"(({names[0]}, {self.integer(names, 1)}) < ({names[-1]}, 1))"
        if draw == 8:
            return f"[1, 2] * {self.integer(names, 0)}"
        if draw == 9:
            return f"hash({self.integer(names, 1)}) + int({self.truth(names, 1)}) + sum([{names[0]}, True])"
        return self.truth(names, depth) if draw == 10 else self.integer(names, depth)


def plainly(expression: str, **values: int) -> str:
    """What an expression gives for these numbers, as a text."""
    try:
        return repr(eval(expression, {}, values))
    except (ZeroDivisionError, IndexError) as error:
        return repr(error)


@pytest.mark.parametrize("number", range(HALF))
def test_a_symbolic_expression_has_the_values_that_python_gives_it(number: int, tmp_path: Path) -> None:
    seed = SEED + number
    expressions = Expressions(seed)
    expression = expressions.any(["x", "y"], 3)
    text = (
        HEADER
        + f"""
@dpor.model
def model():
    x = dpor.nondet_int("x", {LOW}, {HIGH})
    y = dpor.nondet_int("y", {LOW}, {HIGH})
    try:
        result = {expression}
    except (ZeroDivisionError, IndexError) as error:
        result = error
    record((x.__index__(), y.__index__(), repr(result)))
"""
    )
    result, outcomes = check(tmp_path, text, f"expression_{seed}")
    context = f"seed {seed}: {expression}"
    expected = {(x, y, plainly(expression, x=x, y=y)) for x, y in itertools.product(DOMAIN, DOMAIN)}
    assert outcomes == expected, context
    assert result.verdict is Verdict.VERIFIED, (context, result.reason)
    assert result.redundant == 0, context


class Programs(Expressions):
    """Random programs of a few threads that share variables, containers and symbolic values."""

    def program(self) -> str:
        """The body of the model; `VALUE(low, high)` stands for a drawn value."""
        lines = ["    shared = Shared()", f"    given = VALUE({LOW + 1}, {HIGH - 1})"]
        threads = self.random.choice([2, 2, 3])
        for thread in range(threads):
            lines += [f"    def thread_{thread}():", "        local = given"]
            lines += [
                f"        {line}" for _ in range(self.random.randrange(1, 4)) for line in self.statement()
            ]
        lines += [f"    dpor.spawn(thread_{thread})" for thread in range(threads)]
        lines += ["    dpor.join_all()"]
        state = "shared.a, shared.b, *shared.cells, *shared.table.values(), shared.atomic.load(), given"
        lines += [f"    record(tuple(value.__index__() for value in ({state})))"]
        return "\n".join(lines)

    def statement(self) -> list[str]:
        """A statement, as lines."""
        names = ["local", "given"]
        place = self.random.choice(["shared.a", "shared.b"])
        condition = self.truth(names, 1)
        draw = self.random.randrange(13)
        if draw <= 1:
            return [f"{place} = local + {self.random.randrange(3)}"]
        if draw == 2:
            return [f"local = {place}"]
        if draw == 3:
            return [f"{place} += 1"]
        if draw == 4:
            return [f"if {condition}:", f"    {place} = 4"]
        if draw == 5:
            return ["local = VALUE(0, 2)"]
        if draw == 6:
            return [f"if {place} < local:", f"    {place} = local", "else:", "    shared.b = 7"]
        if draw == 7:
            return ["shared.cells[local % 3] = local"]
        if draw == 8:
            return ["local = shared.table[local % 3]"]
        if draw == 9:
            return ["with shared.lock:", "    shared.cells.sort()"]
        if draw == 10:
            return ["shared.atomic.compare_exchange(local, 3)"]
        if draw == 11:
            return [f"dpor.assume({condition})"]
        return ["if local in shared.cells:", "    shared.atomic.store(local)"]


MODEL = HEADER + "\n@dpor.model\ndef model():\n"
DRAWN = "VALUE = lambda low, high: dpor.choose(range(low, high + 1))\n"
SYMBOLIC = "VALUE = lambda low, high: dpor.nondet_int(None, low, high)\n"


@pytest.mark.parametrize("number", range(HALF))
def test_a_symbolic_program_has_the_outcomes_of_all_its_values(number: int, tmp_path: Path) -> None:
    seed = SEED + number
    body = Programs(seed).program()
    context = f"seed {seed}:\n{body}"
    limits = {"max_executions": 30_000}
    enumerated, expected = check(tmp_path, DRAWN + MODEL + body, f"drawn_{seed}", **limits)
    if enumerated.verdict is not Verdict.VERIFIED:
        pytest.skip("too large to try every value")
    for algorithm in ("optimal", "concolic", "source"):
        try:
            name = f"symbolic_{algorithm}_{seed}"
            result, outcomes = check(tmp_path, SYMBOLIC + MODEL + body, name, algorithm=algorithm)
        except DporError as error:
            # Another thread may have seen what built-in code wrote before that was decided.
            if algorithm != "concolic" or error.code is not Code.UNSUPPORTED_CONSTRUCT:
                raise
            continue
        assert outcomes == expected, (algorithm, context)
        assert result.verdict is Verdict.VERIFIED, (algorithm, context, result.reason)
        assert result.redundant == 0 or algorithm == "source", context


class WeakPrograms(Programs):
    """The same on variables and atomics alone, whose order in memory can be another one than in the program."""

    def statement(self) -> list[str]:
        """A statement, as lines."""
        place = self.random.choice(["shared.a", "shared.b"])
        order = self.random.choice(["relaxed", "release", "seq_cst"])
        draw = self.random.randrange(10)
        if draw <= 1:
            return [f"{place} = local + {self.random.randrange(2)}"]
        if draw <= 3:
            return [f"local = {place}"]
        if draw == 4:
            return [f"if {place} < local:", f"    {place} = local"]
        if draw == 5:
            return ["local = VALUE(0, 1)"]
        if draw == 6:
            return [f"shared.atomic.store(local, {order!r})"]
        if draw == 7:
            return ["local = shared.atomic.fetch_add(local)"]
        if draw == 8:
            return [f"if {self.truth(['local', 'given'], 1)}:", f"    {place} = local + 1"]
        return [
            f"if shared.atomic.compare_exchange({self.random.choice(['local', '0'])}, 3):",
            "    local = 5",
        ]


@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
@pytest.mark.parametrize("number", range(HALF // 2))
def test_a_symbolic_program_has_the_outcomes_of_all_its_values_under_weak_memory(
    number: int, memory_model: str, tmp_path: Path
) -> None:
    seed = SEED + number
    body = WeakPrograms(seed).program()
    context = f"seed {seed}:\n{body}"
    weak = {"memory_model": memory_model}
    limits = {"max_executions": 20_000, "algorithm": "graph"}
    enumerated, expected = check(tmp_path, DRAWN + MODEL + body, f"weakly_drawn_{seed}", **weak, **limits)
    if enumerated.verdict is not Verdict.VERIFIED:
        pytest.skip("too large to try every value")
    ways: list[dict[str, str]] = [{"algorithm": "concolic"}, {"algorithm": "concolic", "partition": "rf"}]
    if memory_model != "rc11":
        ways.append({"algorithm": "optimal"})
    for way in ways:
        name = f"weakly_symbolic_{'_'.join(way.values())}_{seed}"
        try:
            result, outcomes = check(tmp_path, SYMBOLIC + MODEL + body, name, **weak, **way)
        except DporError as error:
            if way["algorithm"] != "concolic" or error.code is not Code.UNSUPPORTED_CONSTRUCT:
                raise
            continue
        assert outcomes == expected, (way, context)
        assert result.verdict is Verdict.VERIFIED, (way, context, result.reason)
        assert result.redundant == 0, (way, context)
