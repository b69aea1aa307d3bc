"""A change of what an object is (its class, a class's bases, a function's code) is kept to its execution.

The report names it where other threads could use the object meanwhile.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

MODEL = """
import dpor
import string

class A:
    def name(self):
        return "a"

class B:
    def name(self):
        return "b"

class C(A):
    pass

def f(x=1, *, y=1):
    return x + y

def outcome(act):
    try:
        return act()
    except Exception as error:
        return type(error).__name__

MADE = A()

@dpor.model
def model():
    made = A()
    def change():
        {change}
    def use():
        assert outcome(lambda: {use}) in ({before!r}, {after!r})
    assert outcome(lambda: {use}) == {before!r}
{run}
    dpor.choose(range(2))
    assert outcome(lambda: {use}) == {after!r}
"""

BESIDE = """
    dpor.spawn(change)
    dpor.spawn(use)
    dpor.join_all()
"""

ALONE = """
    change()
    dpor.spawn(use)
    dpor.spawn(use)
    dpor.join_all()
"""

CHANGES = [
    ("made.__class__ = B", "made.name()", "a", "b", "__class__ of an object of class A"),
    ("MADE.__class__ = B", "MADE.name()", "a", "b", "__class__ of an object of class A"),
    ("C.__bases__ = (B,)", "C().name()", "a", "b", "__bases__ of C"),
    ("C.__len__ = lambda self: 4", "len(C())", "TypeError", 4, "__len__ of C"),
    ("C.__eq__ = lambda self, other: 4", "C() == 1", False, 4, "__eq__ of C"),
    ("setattr(C, '__bool__', lambda self: False)", "bool(C())", True, False, "__bool__ of C"),
    ("f.__defaults__ = (5,)", "f()", 2, 6, "__defaults__ of f"),
    ("f.__defaults__ = None", "f()", 2, "TypeError", "__defaults__ of f"),
    ("del f.__defaults__", "f()", 2, "TypeError", "__defaults__ of f"),
    ("f.__kwdefaults__ = {'y': 5}", "f()", 2, 6, "__kwdefaults__ of f"),
    ("f.__code__ = (lambda: 'new').__code__", "f()", 2, "new", "__code__ of f"),
    (
        "string.capwords.__defaults__ = ('b',)",
        "string.capwords('abc')",
        "Abc",
        "AbC",
        "__defaults__ of capwords",
    ),
]


def check(
    folder: Path, run: str, case: tuple[str, str, object, object, str], **options: object
) -> ModelResult:
    change, use, before, after, _ = case
    text = MODEL.format(change=change, use=use, before=before, after=after, run=run)
    (folder / "model.py").write_text(text, encoding="utf-8")
    return check_model(CheckRequest(str(folder / "model.py"), "model", str(folder), options=options))


@pytest.mark.parametrize("case", CHANGES, ids=[case[0] for case in CHANGES])
def test_a_change_beside_other_threads_is_an_assumption(
    tmp_path: Path, case: tuple[str, str, object, object, str]
) -> None:
    result = check(tmp_path, BESIDE, case)
    assert result.verdict is Verdict.VERIFIED, result
    told = [one for one in result.assumptions if one.kind is AssumptionKind.CHANGED_DEFINITION]
    assert [one.subject for one in told] == [case[4]]
    assert told[0].location is not None
    assert MODEL.splitlines()[told[0].location.line - 1] == "        {change}"


@pytest.mark.parametrize("case", CHANGES, ids=[case[0] for case in CHANGES])
def test_a_change_by_a_thread_that_is_alone_is_none_and_ends_with_the_execution(
    tmp_path: Path, case: tuple[str, str, object, object, str]
) -> None:
    result = check(tmp_path, ALONE, case)
    assert result.verdict is Verdict.VERIFIED, result
    assert result.executions >= 2
    assert [one for one in result.assumptions if one.kind is AssumptionKind.CHANGED_DEFINITION] == []


def test_strict_accepts_no_such_change(tmp_path: Path) -> None:
    assert check(tmp_path, BESIDE, CHANGES[0], strict=True).verdict is Verdict.ERROR
