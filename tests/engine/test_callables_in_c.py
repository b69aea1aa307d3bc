"""What the interpreter calls in C on behalf of a property, a method or an instance is seen as a call of the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

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
