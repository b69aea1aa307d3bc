"""Every use of a number gives with a symbolic one what it gives with each number that it stands for.

A model for each use fails for n == 7 alone. It has to be found, with that value and a path condition that no other
value of the domain satisfies; and what does not assert has to be verified. A number that silently took the place of a
symbolic value would fail in both. By default each use is checked in two ways out of eight, with DPOR_USES=all in all.
"""

from __future__ import annotations

import ast
import itertools
import os
import textwrap
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import uses_sink

pytest.importorskip("z3")
checking = pytest.importorskip("dpor.checking", reason="the engine is not built")

from uses import REFUSED, USES  # noqa: E402

from dpor.errors import DporError  # noqa: E402
from dpor.results import CheckRequest, ModelResult, Verdict, ViolationKind  # noqa: E402

USED = Path(__file__).with_name("data").joinpath("used.py").read_text(encoding="utf-8")
DOMAIN = range(10)
SEVEN = 7
THOROUGH = os.environ.get("DPOR_USES") == "all"

ASSUMED = """
n = dpor.nondet_int("n")
dpor.assume(0 <= n)
dpor.assume(n <= 9)
"""
SHARED = """
box = Box()
box.value = 0
def write():
    box.value = dpor.nondet_int("n", 0, 9)
dpor.spawn(write)
n = box.value
"""
ORIGINS = {"assumed": ASSUMED, "shared": SHARED}
WAYS = list(itertools.product(ORIGINS, ("asserted", "free"), ("optimal", "concolic")))


def function(text: str) -> str:
    """The text of a function that makes the use and gives its result."""
    text = text.strip("\n")
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        pass
    else:
        text = f"result = ({text})"
    return f"{USED}\n\ndef use(n):\n{textwrap.indent(text, '    ')}\n    return result\n\n"


def model(text: str, body: str) -> str:
    return f"{function(text)}\n@dpor.model\ndef model():\n{textwrap.indent(body.strip(), '    ')}\n"


def check(folder: Path, text: str, **options: Any) -> ModelResult:
    file = folder / "model.py"
    file.write_text(text, encoding="utf-8")
    options = {"timeout": 60, **options}
    request = CheckRequest(
        file=str(file), model="model", root=str(folder), options=options, all_violations=True
    )
    return checking.check_model(request)


def plainly(code: CodeType, n: int) -> object:
    """What the use gives for a number, where nothing has been used before."""
    namespace: dict[str, Any] = {"__name__": "used"}
    exec(code, namespace)
    return namespace["use"](n)


def results(name: str, folder: Path) -> dict[int, str]:
    """What the use gives for each number, as text."""
    text = USES[name]
    if not name.startswith("thread_"):
        code = compile(function(text), "used", "exec", dont_inherit=True)
        return {n: repr(plainly(code, n)) for n in DOMAIN}
    uses_sink.take()
    body = "n = dpor.choose(range(10))\nuses_sink.keep(n, repr(use(n)))"
    check(folder, f"import uses_sink\n{model(text, body)}")
    # Of several results the last in order: a time-out that has not been reached.
    return dict(sorted(uses_sink.take()))


def condition(name: str, folder: Path) -> str:
    """What is true of the result if n is 7, and of no other number."""
    found = results(name, folder)
    assert [n for n in DOMAIN if found.get(n) == found[SEVEN]] == [SEVEN], found
    try:
        ast.literal_eval(found[SEVEN])
    except (ValueError, SyntaxError):
        return f"repr(result) == {found[SEVEN]!r}"
    return f"result == {found[SEVEN]}"


def ways(name: str) -> list[tuple[str, str, str]]:
    number = list(USES).index(name)
    if THOROUGH:
        return WAYS
    algorithms = ("optimal", "concolic") if number % 2 else ("concolic", "optimal")
    return [("assumed", "asserted", algorithms[0]), ("shared", "asserted", algorithms[1])]


@pytest.mark.share(8)
@pytest.mark.filterwarnings("ignore:.*is.*with.*literal:SyntaxWarning")
@pytest.mark.parametrize("name", USES)
def test_a_symbolic_number_is_used_as_each_number_that_it_can_be(name: str, tmp_path: Path) -> None:
    found = condition(name, tmp_path)
    for origin, kind, algorithm in ways(name):
        end = "assert not same" if kind == "asserted" else "if same:\n    pass"
        body = f"{ORIGINS[origin].strip()}\nresult = use(n)\nsame = {found}\n{end}"
        way = (name, origin, kind, algorithm)
        if name in REFUSED and origin == "assumed":
            with pytest.raises(DporError) as refused:
                check(tmp_path, model(USES[name], body), algorithm=algorithm)
            assert refused.value.code.value == REFUSED[name]
            assert refused.value.span is not None
            continue
        result = check(tmp_path, model(USES[name], body), algorithm=algorithm)
        assert result.redundant == 0, way
        if kind == "free":
            assert result.verdict is Verdict.VERIFIED, (way, result.violations)
            continue
        assert result.verdict is Verdict.VIOLATED, (way, result.reason)
        domain = DOMAIN if origin == "shared" else range(-3, 15)
        for violation in result.violations:
            assert violation.kind is ViolationKind.ASSERTION, (way, violation.message)
            assert dict(violation.values) == {"n": SEVEN}, way
            path = violation.path_condition
            satisfying = [n for n in domain if all(eval(one, {"n": n}) for one in path)]
            assert satisfying == [SEVEN], (way, path)
