"""What the programs use: classes with an operator for everything, a decorator and a generator."""

from __future__ import annotations

PRELUDE = """
import dataclasses

class Manager:
    def __init__(self, swallows):
        self.swallows = swallows
    def __enter__(self):
        show("enter")
        return self.swallows
    def __exit__(self, kind, error, trace):
        show(("exit", kind and kind.__name__))
        return self.swallows

class Reverse:
    def __get__(self, instance, owner):
        return ("got", instance is None)
    def __set__(self, instance, value):
        instance.__dict__["kept"] = value

class Box:
    limit = 3
    descriptor = Reverse()
    def __init__(self, x=1):
        self.x = x
    def __repr__(self):
        return f"Box({self.x!r})"
    def __eq__(self, other):
        return self.x == other.x if isinstance(other, Box) else NotImplemented
    def __hash__(self):
        return 7
    def __add__(self, other):
        return Box((self.x, "+", other))
    def __radd__(self, other):
        return Box((other, "r+", self.x))
    def __iadd__(self, other):
        self.x = (self.x, "+=", other)
        return self
    def __lt__(self, other):
        return "less"
    def __bool__(self):
        return self.x != 0
    def __len__(self):
        return 2
    def __getitem__(self, key):
        if isinstance(key, int) and key > 2:
            raise IndexError("past the end")
        return (self.x, key)
    def __setitem__(self, key, value):
        self.x = (key, value)
    def __delitem__(self, key):
        self.x = ("deleted", key)
    def __contains__(self, key):
        return key == self.x
    def __call__(self, *positional, **named):
        return (positional, named)
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return f"made {name}"
    def __index__(self):
        return 1
    def __format__(self, spec):
        return f"<{spec}>"
    @property
    def half(self):
        return self.x / 2
    @half.setter
    def half(self, value):
        self.x = value * 2
    @classmethod
    def made(cls, *positional):
        return cls(*positional[:1])
    @staticmethod
    def plain(value=None):
        return [value]

class Child(Box):
    __slots__ = ("extra",)
    def __init__(self, x=2):
        super().__init__(x)
        self.extra = x
    def __neg__(self):
        return "negated"

@dataclasses.dataclass(order=True)
class Point:
    x: int = 0
    y: object = None

def counted(function):
    def inner(*positional, **named):
        show(function.__name__)
        return function(*positional, **named)
    return inner

def numbers(limit=3):
    for number in range(limit):
        got = yield number
        if got is not None:
            show(("sent", got))
    return "end"
"""
