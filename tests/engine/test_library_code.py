"""Code of the standard library that is written in Python is explored step by step, and leaves nothing behind."""

from __future__ import annotations

import collections
import copy
import dataclasses
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

HEADER = """
import collections, contextlib, copy, dataclasses, enum, functools, io, json, logging, os, random, weakref

import dpor


@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0


class Color(enum.Enum):
    RED = 1


@functools.singledispatch
def shown(value):
    return "other"


@contextlib.contextmanager
def counted(point):
    point.x += 1
    yield
    point.x -= 1


def numbers():
    yield from range(99)


NUMBERS = numbers()
FINALIZED = next(weakref.finalize._index_iter)
KEPT = logging.getLogger("kept")


def together(*functions):
    for thread in [dpor.spawn(function) for function in functions]:
        thread.join()


def both(point):
    point.x = 1
    point.y = 1


def logged(stream):
    logger = logging.Logger("x")
    logger.addHandler(logging.StreamHandler(stream))
    return logger
"""

# An operation, in the middle of which another thread can run, and what then is: before, operation, other, after.
INTERRUPTED = {
    "equality of dataclasses": (
        "p = Point()",
        "seen.append(p == Point(0, 1))",
        "both(p)",
        "True not in seen",
    ),
    "text of dataclasses": (
        "p = Point()",
        "seen.append(repr(p))",
        "both(p)",
        "'Point(x=0, y=1)' not in seen",
    ),
    "asdict": (
        "p = Point()",
        "seen.append(dataclasses.asdict(p))",
        "both(p)",
        "{'x': 0, 'y': 1} not in seen",
    ),
    "deepcopy": (
        "p = [Point(), Point()]",
        "seen.append(copy.deepcopy(p))",
        "p[0].x = p[1].x = 1",
        "[Point(0), Point(1)] not in seen",
    ),
    "json": (
        "p = {'a': 0, 'b': 0}",
        "seen.append(json.dumps(p, indent=1))",
        "p.update(a=1); p.update(b=1)",
        "not seen or json.loads(seen[0]) != {'a': 0, 'b': 1}",
    ),
    "context managers": (
        "p = Point()",
        "with counted(p): pass",
        "with counted(p): pass",
        "p.x == 0",
    ),
    "user lists": (
        "p = collections.UserList([0])",
        "p[0] += 1",
        "p[0] += 1",
        "p == [2]",
    ),
    "chain maps": (
        "p = collections.ChainMap({'a': 0})",
        "p['a'] += 1",
        "p['a'] += 1",
        "p['a'] == 2",
    ),
    "weak proxies": (
        "p = Point(); q = weakref.proxy(p)",
        "q.x += 1",
        "p.x += 1",
        "p.x == 2",
    ),
    "log handlers": (
        "p = io.StringIO(); q = logged(p)",
        "q.warning('a')",
        "q.warning('b')",
        "p.getvalue() != 'b\\na\\n'",
    ),
    "singledispatch": (
        "shown._clear_cache()",
        "seen.append(shown(1))",
        "shown.register(int, lambda value: 'number')",
        "'other' not in seen",
    ),
    "what a factory is": (
        "p = collections.defaultdict(int)",
        "seen.append(p['x'])",
        "p.default_factory = list",
        "0 not in seen",
    ),
    "contexts": (
        "import contextvars; v = contextvars.ContextVar('v'); p = contextvars.copy_context()",
        "seen.append(p.get(v))",
        "p.run(v.set, 1)",
        "None not in seen",
    ),
    "members of enumerations": (
        "p = Color.RED; p.hits = 0",
        "p.hits += 1",
        "p.hits += 1",
        "p.hits == 2",
    ),
}


@pytest.mark.parametrize("name", INTERRUPTED)
def test_other_threads_run_in_the_middle(tmp_path: Path, name: str) -> None:
    before, operation, other, after = INTERRUPTED[name]
    body = f"""
    seen = []
    {before}
    def one():
        {operation}
    def two():
        {other}
    together(one, two)
    assert {after}"""
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VIOLATED


# What one execution changes and the next begins without.
LEFT = {
    "attributes of members": "hits = getattr(Color.RED, 'hits', 0); Color.RED.hits = hits + 1; assert not hits",
    "generators": "assert next(NUMBERS) == 0",
    "counts": "weakref.finalize(p, print); assert next(weakref.finalize._index_iter) == FINALIZED + 2",
    "loggers": "assert 'new' not in logging.root.manager.loggerDict; logging.getLogger('new')",
    "handlers": "assert not KEPT.handlers; KEPT.addHandler(logging.NullHandler())",
    "levels": "assert logging.root.level == logging.WARNING; logging.root.setLevel(1)",
    "the environment": "assert 'DPOR_NEW' not in os.environ; os.environ['DPOR_NEW'] = '1'",
    "variables": "assert not logging._srcfile.endswith('!'); logging._srcfile += '!'",
    "variables of modules that are not used": "assert not hasattr(json, 'new'); json.new = 1",
    "classes": "assert not hasattr(collections.UserDict, 'new'); collections.UserDict.new = 1",
}


@pytest.mark.parametrize("name", LEFT)
def test_executions_begin_with_what_the_first_one_found(tmp_path: Path, name: str) -> None:
    body = f"""
    p = Point()
    together(lambda: both(p), lambda: both(p))
    collections.UserDict(a=1)
    logging.root.isEnabledFor(1)
    {LEFT[name]}"""
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED
    assert result.executions > 1


def test_locks_of_the_library_exclude(tmp_path: Path) -> None:
    body = """
    stream = io.StringIO()
    logger = logged(stream)
    together(lambda: logger.warning("a"), lambda: logger.warning("b"))
    assert sorted(stream.getvalue().split()) == ["a", "b"]"""
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_the_library_is_as_before_when_a_check_has_ended(tmp_path: Path) -> None:
    functions: list[Any] = [
        vars(collections.UserDict)["__init__"],
        copy.deepcopy,
        dataclasses.asdict,
        logging.warning,
    ]
    before = [function.__code__ for function in functions]
    check(tmp_path, "    logging.getLogger('x').info(copy.deepcopy(collections.UserDict(a=Point())))")
    assert [function.__code__ for function in functions] == before
    assert "exec" not in vars(dataclasses)


def test_the_library_holds_what_it_held_before_when_a_check_has_ended(tmp_path: Path) -> None:
    before = logging.root.level
    check(tmp_path, "    logging.root.setLevel(7)")
    assert logging.root.level == before


def test_code_that_nobody_looks_into_is_named_wherever_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "strange_decorators.py").write_text(
        "def cached(function):\n    def call(*values):\n        return function(*values)\n    return call\n",
        encoding="utf-8",
    )
    (folder / "strange_numbers.py").write_text(
        "class Money:\n    def __add__(self, other):\n        return self\nONE = Money()\n", encoding="utf-8"
    )
    (folder / "strange_idle.py").write_text("def never():\n    pass\nnever()\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    text = """
import strange_decorators, strange_idle, strange_numbers


@strange_decorators.cached
def called():
    pass


@dpor.model
def model():
    called()
    strange_numbers.ONE + strange_numbers.ONE
"""
    try:
        result = check(tmp_path, "", text)
    finally:
        for name in ("strange_decorators", "strange_idle", "strange_numbers"):
            sys.modules.pop(name, None)
    assert result.verdict is Verdict.VERIFIED
    told = {one.subject for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE}
    assert told == {"strange_decorators", "strange_numbers"}
    assert [one for one in result.assumptions if one.location is None] == []


# What runs that was compiled from text, and what the report calls it.
COMPILED = {
    "timeit.timeit('pass', number=1)": "<timeit-src>",
    "timeit.timeit('p.x += 1', number=1, globals={'p': p})": "<timeit-src>",
    "code.InteractiveInterpreter({'p': p}).runsource('p.x += 1')": "<input>",
    "code.InteractiveInterpreter({'p': p}).runsource('p.x += 1', 'typed.py')": "typed.py",
    "trace.Trace(count=0, trace=0).runctx('p.x += 1', {'p': p}, {})": "<string>",
    "typing.get_type_hints(lambda: 0, {'p': p}) or typing.ForwardRef('p.x')._evaluate({'p': p}, {}, frozenset())": (
        "<string>"
    ),
    "types.FunctionType(compile('p.x += 1', '<own>', 'exec'), {'p': p})()": "<own>",
    "types.FunctionType(compile('p.x += 1', '<own>', 'exec'), globals() | {'p': p})()": "<own>",
    "both.__code__ = compile('Point()', '<own>', 'exec'); both()": "<own>",
}


@pytest.mark.parametrize("body", COMPILED)
def test_code_that_is_compiled_from_text_is_named(tmp_path: Path, body: str) -> None:
    imports = "import code, timeit, trace, types, typing"
    result = check(tmp_path, f"\n    {imports}\n    p = Point()\n    {body}\n    dpor.choose(range(3))")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 3)
    unseen = [one for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE]
    assert {one.subject for one in unseen} == {COMPILED[body]}
    assert all("instrument" not in one.fix for one in unseen)


def test_what_is_no_code_is_refused_as_ever_without_being_asked(tmp_path: Path) -> None:
    body = """
    class Asked:
        def __getattr__(self, name):
            both.asked = name
            raise AttributeError(name)
    try:
        both.__code__ = Asked()
    except TypeError:
        assert not hasattr(both, "asked")
    else:
        assert False
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_script_that_is_run_is_named(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("p.x += 1\n", encoding="utf-8")
    body = f"\n    import runpy\n    runpy.run_path({str(script)!r}, init_globals={{'p': Point()}})"
    result = check(tmp_path, body)
    unseen = {one.subject for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE}
    assert unseen == {str(script)}


# Functions of the model whose code is another object than the one that was compiled.
COPIED = {
    "a coroutine": "types.coroutine(inc)",
    "another name": "types.FunctionType(inc.__code__.replace(co_name='other'), globals(), '', None, inc.__closure__)",
}


@pytest.mark.parametrize("name", COPIED)
def test_copies_of_code_of_the_model_are_explored(tmp_path: Path, name: str) -> None:
    result = check(
        tmp_path,
        f"""
    import types
    p = Point()
    def inc():
        p.x += 1
        return
        yield
    def go():
        for _ in copied(): pass
    copied = {COPIED[name]}
    together(go, go)
    assert p.x == 2
    """,
    )
    assert result.verdict is Verdict.VIOLATED
    assert not result.assumptions


def test_a_function_that_is_timed_is_explored(tmp_path: Path) -> None:
    result = check(
        tmp_path,
        """
    import timeit
    p = Point()
    def inc():
        p.x += 1
    together(*[lambda: timeit.timeit(inc, number=1)] * 2)
    assert p.x == 2
    """,
    )
    assert result.verdict is Verdict.VIOLATED


def check(folder: Path, body: str, text: str | None = None) -> ModelResult:
    file = folder / "model.py"
    model = f"\n\n@dpor.model\ndef model():{body}\n" if text is None else text
    file.write_text(HEADER + model, encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder)))


def test_a_module_that_each_execution_imports_anew_is_instrumented_each_time(tmp_path):
    result = check(
        tmp_path,
        """
    import sys
    del sys.modules["reprlib"]
    import reprlib
    shown = reprlib.Repr()
    seen = []
    together(lambda: seen.append(shown.repr([1])), lambda: setattr(shown, "maxlist", 0))
    assert seen == ["[1]"]
    """,
    )
    assert result.verdict is Verdict.VIOLATED


def test_locks_of_a_module_that_an_execution_imports_anew_are_controlled(tmp_path):
    result = check(
        tmp_path,
        """
    import sys
    del sys.modules["logging"]
    import logging
    p = Point()
    def inc():
        with logging._lock:
            p.x += 1
    together(inc, inc)
    assert p.x == 2
    """,
    )
    assert result.verdict is Verdict.VERIFIED
