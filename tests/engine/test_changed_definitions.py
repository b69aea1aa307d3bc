"""A change of what an object is (its class, a class's bases, a function's code) is kept to its execution.

The report names it where other threads could use the object meanwhile.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
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


KEYS = """
import dpor

class Key:
    def __init__(self, number):
        self.number = number
    def __eq__(self, other):
        return self.number == other.number
    def __hash__(self):
        return self.number

@dpor.model
def model():
    apart = dpor.choose({choices})
    if apart:
        Key.__hash__ = object.__hash__
        Key.__eq__ = object.__eq__
    first, second = Key(1), Key(1)
    counts = {{first: 0, second: 0}}
    def count(key):
        counts[key] = counts[key] + 1
    dpor.spawn(count, first)
    dpor.spawn(count, second)
    dpor.join_all()
    assert counts[first] == (1 if apart else 2)
"""


@pytest.mark.parametrize("choices", ["[True, False]", "[False, True]"])
def test_what_follows_from_a_changed_class_does_not_outlive_the_execution(
    tmp_path: Path, choices: str
) -> None:
    (tmp_path / "model.py").write_text(KEYS.format(choices=choices), encoding="utf-8")
    result = check_model(CheckRequest(str(tmp_path / "model.py"), "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("what", ["made", "f"])
def test_a_dict_of_attributes_that_is_replaced_beside_other_threads_is_refused(
    tmp_path: Path, what: str
) -> None:
    with pytest.raises(DporError, match="__dict__") as caught:
        check(tmp_path, BESIDE, (f"{what}.__dict__ = {{}}", "1", 1, 1, ""))
    assert caught.value.code is Code.UNCONTROLLED


REFUSED = ["(5).__class__ = str", "int.__add__ = None", "f.__closure__ = None", "A.__mro__ = ()"]


@pytest.mark.parametrize("change", REFUSED)
def test_a_change_that_python_refuses_is_no_error_of_the_check(tmp_path: Path, change: str) -> None:
    case = (f"try: {change}\n        except (AttributeError, TypeError): pass", "f()", 2, 2, "")
    assert check(tmp_path, ALONE, case).verdict is Verdict.VERIFIED
    assert check(tmp_path, BESIDE, case).verdict is Verdict.VERIFIED


MADE_BY_CODE = """
import dpor

class Table:
    def __init__(self):
        self.__dict__["table"] = {{"x": 1}}
    def __getattr__(self, name):
        return self.__dict__["table"][name]

class Other(Table):
    pass

class Given:
    def __get__(self, instance, owner=None):
        return hash

class Plain:
    x = 1

@dpor.model
def table():
    shared = Table()
    def change():
        shared.__class__ = Other
    dpor.spawn(change)
    dpor.join_all()
    assert shared.x == 1

@dpor.model
def descriptor():
    shared = Plain()
    assert shared.x == 1
    Plain.__hash__ = Given()
    assert shared.x == 1
"""


@pytest.mark.parametrize("name", ["table", "descriptor"])
def test_no_code_of_the_model_runs_to_learn_of_a_class(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.py").write_text(MADE_BY_CODE.format(), encoding="utf-8")
    result = check_model(CheckRequest(str(tmp_path / "model.py"), name, str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
