"""What the interpreter calls in C on behalf of a property, a method or an instance is seen as a call of the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

HEADER = """
import functools, operator, types, weakref

class Point:
    x_now = property(operator.attrgetter("x"), lambda self, value: setattr(self, "x", value))
    size = classmethod(functools.partial(lambda kept, cls: len(kept), []))

    def __init__(self):
        self.x = 1

class Narrow(Point):
    @property
    def x_now(self):
        return super().x_now

class Lenient(Point):
    missing = property(operator.attrgetter("nothing"))

    def __getattr__(self, name):
        return self.x

class First(list):
    first = property(operator.itemgetter(0))

class Metered(type):
    size = property(operator.attrgetter("kept"))

class Settings(metaclass=Metered):
    kept = 1

class Counted:
    kept = [1]
    __call__ = staticmethod(functools.partial(len, kept))

class Fields(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

class Bare(dict):
    __slots__ = ()
    __getattr__ = dict.__getitem__

def kept_by(method):
    return method.__func__.args[0]
"""
CALLS = {
    "a property of a getter": ("Point()", "setattr(s, 'x', 2)", "s.x_now"),
    "a store to such a property": ("Point()", "setattr(s, 'x_now', 2)", "s.x"),
    "such a property of a base": ("Narrow()", "setattr(s, 'x', 2)", "s.x_now"),
    "a fallback for such a property": ("Lenient()", "setattr(s, 'x', 2)", "s.missing"),
    "a property of an item": ("First([1])", "s.__setitem__(0, 2)", "s.first"),
    "such a property of a metaclass": ("Settings", "setattr(s, 'kept', 2)", "s.size"),
    "a class method of a partial": ("Point", "kept_by(s.size).append(1)", "s.size()"),
    "a method of a built-in function": ("[1]", "s.append(2)", "types.MethodType(len, s)()"),
    "a method of a method in C": ("[1]", "s.append(1)", "types.MethodType(list.count, s)(1)"),
    "such a method for another function": (
        "[1]",
        "s.append(1)",
        "list(map(types.MethodType(list.count, s), [1]))",
    ),
    "a static method": ("[1]", "s.append(2)", "staticmethod(functools.partial(len, s))()"),
    "an item as an attribute": ("Fields(x=1)", "s.update(x=2)", "s.x"),
    "an item as an attribute of an object without any": ("Bare(x=1)", "s.update(x=2)", "s.x"),
    "a store of an item as an attribute": ("Fields()", "setattr(s, 'x', 1)", "len(s)"),
    "a deletion of an item as an attribute": ("Fields(x=1)", "delattr(s, 'x')", "list(s)"),
    "an instance": ("Counted()", "s.kept.append(2)", "s()"),
    "a comparison of weak references": (
        "(First([1]), First([1]))",
        "s[0].append(2)",
        "weakref.ref(s[0]) == weakref.ref(s[1])",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_thread_can_come_before_and_after(tmp_path: Path, name: str) -> None:
    EitherOrder(HEADER, tmp_path).require_both(*CALLS[name])


@pytest.mark.parametrize(
    ("method", "named"),
    [
        ("__len__ = staticmethod(KEPT.__len__)", "builtins.__len__ as Own.__len__"),
        ("__iter__ = functools.partial(iter, KEPT)", "functools.partial as Own.__iter__"),
        ("__eq__ = list.__contains__", "builtins.__contains__ as Own.__eq__"),
        ("__missing__ = classmethod(KEPT.count)", "builtins.count as Own.__missing__"),
    ],
)
def test_a_special_method_in_c_of_something_else_is_an_assumption(
    tmp_path: Path, method: str, named: str
) -> None:
    result = _checked(tmp_path, method)
    assert result.verdict is Verdict.VERIFIED
    assert {(one.kind, one.subject) for one in result.assumptions} == {(AssumptionKind.UNSEEN_CODE, named)}
    assert "what it documents" in result.assumptions[0].fix


@pytest.mark.parametrize(
    "method",
    [
        "__hash__ = list.__hash__",
        "__repr__ = list.__repr__",
        "__len__ = lambda self: 1",
        "__eq__ = staticmethod(lambda one, other: True)",
        "__str__ = Callable()",
        "__slots__ = ()",
        "__class_getitem__ = classmethod(types.GenericAlias)",
    ],
)
def test_a_special_method_that_is_seen_is_none(tmp_path: Path, method: str) -> None:
    assert _checked(tmp_path, method).assumptions == ()


def test_an_enumeration_of_numbers_rests_on_no_assumption(tmp_path: Path) -> None:
    result = _check(
        tmp_path,
        """
class Level(enum.IntEnum):
    LOW = 1

@dpor.model
def model():
    threads = [dpor.spawn(str, Level.LOW) for _ in range(2)]
    for thread in threads:
        thread.join()
    assert Level.LOW < 2 and f"{Level.LOW}" == "1"
""",
    )
    assert result.verdict is Verdict.VERIFIED
    assert result.assumptions == ()


def _checked(folder: Path, method: str) -> ModelResult:
    return _check(
        folder,
        f"""
KEPT = [1]

class Callable:
    def __call__(self):
        return "called"

class Own(list):
    {method}

@dpor.model
def model():
    shared = Own()
    threads = [dpor.spawn(shared.append, number) for number in range(2)]
    for thread in threads:
        thread.join()
""",
    )


def _check(folder: Path, text: str) -> ModelResult:
    path = folder / "model.py"
    path.write_text(f"import enum, functools, types\n\nimport dpor\n{text}")
    return check_model(CheckRequest(str(path), "model", str(folder)))


def test_comparing_methods_in_c_reads_nothing_of_their_receivers(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import dpor

@dpor.model
def model():
    items = []
    kept = [items.append, iter(items).__next__]
    thread = dpor.spawn(lambda: items.append(1))
    assert kept == [items.append, kept[1]] and "built-in method append" in str(kept)
    thread.join()
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1), result.violations


COMPILED = """
import threading
from numpy.random._generator import default_rng
import dpor

class Maker:
    make = staticmethod(default_rng)

@dpor.model
def model():
    assert default_rng.__globals__ is not None
    found = []
    def work():
        found.append({call} is not None)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True, True]
"""


@pytest.mark.parametrize(
    "call", ["default_rng(3)", "Maker.make(3)", "list(map(default_rng, [3]))[0]", "default_rng.__call__(3)"]
)
def test_a_compiled_function_is_one_of_its_package(tmp_path: Path, call: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(COMPILED.format(call=call), encoding="utf-8")
    result = check_model(CheckRequest(str(file), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    unseen = {one.subject for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE}
    assert unseen == {"numpy"}
    # Who appends first.
    assert result.executions == 2
