"""A model whose body nobody runs is refused, and a thread that is given such a function is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import Assumption, AssumptionKind, CheckRequest, ModelResult, Verdict

HEAD = """
import asyncio
import contextlib
import functools
import threading

import dpor

def passed(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)
    return call

def driven(function):
    @functools.wraps(function)
    def call(*arguments):
        for _ in function(*arguments):
            pass
    return call

def steps():
    yield 1

async def work():
    assert False

class Waits:
    def __await__(self):
        yield

class Stepping(threading.Thread):
    def run(self):
        assert False
        yield
"""

UNRUN = {
    "a generator": "@dpor.model\ndef model():\n    assert False\n    yield",
    "an async generator": "@dpor.model\nasync def model():\n    assert False\n    yield",
    "a lambda with yield": "model = dpor.model(lambda: (yield))\n@dpor.model\ndef model():\n    yield from ()",
    "a wrapped generator": "@dpor.model\n@passed\ndef model():\n    assert False\n    yield",
    "a generator under a wrapper": "@passed\n@dpor.model\ndef model():\n    assert False\n    yield",
    "a context manager": "@dpor.model\n@contextlib.contextmanager\ndef model():\n    assert False\n    yield",
    "a returned generator": "@dpor.model\ndef model():\n    return (1 / 0 for _ in range(3))",
    "a returned map": "@dpor.model\ndef model():\n    return map(print, [1])",
    "a returned awaitable": "@dpor.model\ndef model():\n    return Waits()",
    "a coroutine of a coroutine": "@dpor.model\nasync def model():\n    return work()",
    "a task that is left": "@dpor.model\ndef model():\n    return asyncio.new_event_loop().create_future()",
}

METHODS = ["", "@staticmethod", "@classmethod"]

RUN = {
    "a coroutine function": "@dpor.model\nasync def model():\n    assert True",
    "a returned coroutine": "@dpor.model\ndef model():\n    async def inner(): pass\n    return inner()",
    "a driven generator": "@driven\n@dpor.model\ndef model():\n    yield",
    "an exhausted generator": "@dpor.model\ndef model():\n    all = steps()\n    list(all)\n    return all",
    "an inner generator": "@dpor.model\ndef model():\n    for _ in steps(): pass",
    "a value": "@dpor.model\ndef model():\n    return [1]",
    "a done future": (
        "@dpor.model\nasync def model():\n    done = asyncio.get_running_loop().create_future()\n"
        "    done.set_result(1)\n    return done"
    ),
}


def check(folder: Path, text: str, name: str = "model") -> ModelResult:
    file = folder / "model.py"
    file.write_text(HEAD + text + "\n", encoding="utf-8")
    return check_model(CheckRequest(str(file), name, str(folder)))


@pytest.mark.parametrize("text", UNRUN.values(), ids=UNRUN)
def test_a_model_whose_body_nobody_runs_is_refused_at_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(DporError) as refused:
        check(tmp_path, text)
    assert refused.value.code is Code.UNRUN
    assert refused.value.fix
    assert refused.value.span is not None
    line = (tmp_path / "model.py").read_text(encoding="utf-8").splitlines()[refused.value.span.line - 1]
    assert "def model" in line


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize("decorator", METHODS)
def test_a_method_whose_body_nobody_runs_is_refused(tmp_path: Path, decorator: str, kind: str) -> None:
    own = {"": "self", "@classmethod": "cls"}.get(decorator, "")
    head = f"class Case:\n    {decorator}\n    @dpor.model\n    {kind} model({own}):\n"
    text = f"{head}        assert False\n        yield"
    with pytest.raises(DporError) as refused:
        check(tmp_path, text, "Case.model")
    assert refused.value.code is Code.UNRUN


@pytest.mark.parametrize("text", RUN.values(), ids=RUN)
def test_a_model_that_is_run_is_checked(tmp_path: Path, text: str) -> None:
    assert check(tmp_path, text).verdict is Verdict.VERIFIED


def assumptions(folder: Path, statement: str) -> tuple[Assumption, ...]:
    result = check(folder, f"@dpor.model\ndef model():\n    {statement}")
    assert result.verdict is Verdict.VERIFIED
    return result.assumptions


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("dpor.spawn(steps)", "steps"),
        ("dpor.spawn(lambda: steps())", "lambda"),
        ("dpor.spawn(work).join()", "work"),
        ("threading.Thread(target=steps).start()", "steps"),
        ("threading.Thread(target=passed(steps)).start()", "steps"),
        ("threading.Timer(1, steps).start()", "steps"),
        ("Stepping().start()", "Stepping.run"),
        ("dpor.spawn(map, print, [1])", "map"),
    ],
)
def test_a_thread_that_runs_nothing_of_its_function_is_told_of(
    tmp_path: Path, statement: str, named: str
) -> None:
    (told,) = assumptions(tmp_path, statement)
    assert told.kind is AssumptionKind.UNRUN_GENERATOR
    assert named in told.subject
    assert "never runs" in told.message
    assert told.location is not None


def test_a_thread_that_runs_its_function_is_not_told_of(tmp_path: Path) -> None:
    assert not assumptions(tmp_path, "dpor.spawn(lambda: list(steps()))")
