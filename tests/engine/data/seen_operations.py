"""Classes and functions that the models of test_seen_operations.py are made of."""

import array
import bisect
import collections
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import operator
import pickle
import queue
import random
import re
import string
import struct
import sys
import threading
import time
import types
import typing
import weakref
import xml.etree.ElementTree as ET

import dpor

G = 0


@dataclasses.dataclass
class Signed:
    x: int

    def __neg__(self):
        return Signed(-self.x)

    def __abs__(self):
        return Signed(abs(self.x))


def set_global():
    global G
    G = 1


def me():
    return sys.modules[__name__]


def cell_of_a_function():
    c = 0

    def store():
        nonlocal c
        c = 1

    def load():
        return c

    return store, load


def reset():
    global G
    G = 0


Pair = collections.namedtuple("Pair", "first second")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0


@dataclasses.dataclass(order=True)
class Ordered:
    x: int = 0


class Slot:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Num:
    def __init__(self, v):
        self.v = v

    def __int__(self):
        return self.v

    def __add__(self, o):
        return self.v + o


class Desc:
    def __get__(self, o, t):
        return vars(o).get("_d", 0)

    def __set__(self, o, v):
        vars(o)["_d"] = v


class MyList(list):
    pass


class MyDict(dict):
    def __getattr__(self, n):
        return self[n]

    def __setattr__(self, n, v):
        self[n] = v


class Sized:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __contains__(self, x):
        return x in self.items

    def __iter__(self):
        return iter(self.items)

    def __call__(self):
        return list(self.items)


@functools.lru_cache
def lru(s):
    return s.v


class Shared:
    flag = 0
    d = Desc()

    def __init__(self, **f):
        self.n = 0
        for k, v in f.items():
            setattr(self, k, v)

    @property
    def value(self):
        return self._v

    @functools.cached_property
    def cached(self):
        return self.v


def func():
    return 0


func.n = 0


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    n = 0


class Key:
    def __init__(self, k):
        self.k = k

    def __eq__(self, o):
        return self.k == o.k

    def __hash__(self):
        return 1

    def __lt__(self, o):
        return self.k < o.k


class Cls:
    items = []

    @classmethod
    def add(cls, x):
        cls.items = cls.items + [x]

    @staticmethod
    def put(x):
        Cls.items.append(x)


class Base:
    def __init__(self):
        self.v = 0


class Derived(Base):
    def __init__(self):
        super().__init__()

    def set(self):
        self.v = 1


class Dyn:
    def __getattr__(self, n):
        return vars(self).get("_" + n, 0)

    def __setattr__(self, n, v):
        vars(self)["_" + n] = v


class GA:
    def __init__(self):
        object.__setattr__(self, "v", 0)

    def __getattribute__(self, n):
        return object.__getattribute__(self, n)


class Ctx:
    def __init__(self, s):
        self.s = s

    def __enter__(self):
        return self.s.n

    def __exit__(self, *a):
        self.s.n += 1


def gen_(s):
    yield s.n
    yield s.n


class Slots2:
    __slots__ = ("a", "__dict__")


class NT(typing.NamedTuple):
    a: list


def deco(f):
    f.calls = 0

    @functools.wraps(f)
    def w(*a):
        w.calls += 1
        return f(*a)

    w.calls = 0
    return w


class Desc2:
    def __set_name__(self, o, n):
        self.n = "_" + n

    def __get__(self, o, t):
        return self if o is None else getattr(o, self.n, 0)

    def __set__(self, o, v):
        setattr(o, self.n, v)


class HasDesc:
    d = Desc2()


class Frozen:
    pass


Frozen = dataclasses.dataclass(frozen=True)(type("Frozen", (), {"__annotations__": {"x": int}, "x": 0}))


class Point2:
    pass


@dataclasses.dataclass(unsafe_hash=True)
class HashDC:
    x: int = 0


class StrObj:
    v = 0

    def __str__(self):
        return str(self.v)


class Idx:
    v = 0

    def __index__(self):
        return self.v


class StrSub(str):
    def __new__(cls, v):
        return super().__new__(cls, v)


class Prop:
    def __init__(self):
        self._v = 0

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, x):
        self._v = x


GL = []
GD = {}


def mut(x=None, acc=[]):
    if x is not None:
        acc.append(x)
    return acc


class L2(list):
    def __getitem__(self, i):
        return super().__getitem__(i)

    def append(self, x):
        super().append(x)


class D2(dict):
    def __missing__(self, k):
        return 0

    def __setitem__(self, k, v):
        super().__setitem__(k, v)


class Seq(collections.abc.Sequence):
    def __init__(self, d):
        self.d = d

    def __getitem__(self, i):
        return self.d[i]

    def __len__(self):
        return len(self.d)


class Map(collections.abc.MutableMapping):
    def __init__(self, **items):
        self.d = items

    def __getitem__(self, k):
        return self.d[k]

    def __setitem__(self, k, v):
        self.d[k] = v

    def __delitem__(self, k):
        del self.d[k]

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


class It:
    def __init__(self, s):
        self.s = s

    def __iter__(self):
        return self

    def __next__(self):
        if self.s.n > 0:
            raise StopIteration
        self.s.k += 1
        if self.s.k > 2:
            raise StopIteration
        return self.s.k


@contextlib.contextmanager
def cm(s):
    yield s.n


class Meta2(type):
    @property
    def total(cls):
        return cls._t


class WM(metaclass=Meta2):
    _t = 0


class PBase:
    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, x):
        self._v = x


class PSub(PBase):
    def __init__(self):
        self._v = 0

    @property
    def v(self):
        return super().v

    @v.setter
    def v(self, x):
        PBase.v.fset(self, x)


class Mix1:
    def f(self):
        return self.z


class Mix2(Mix1):
    z = 0


class Node:
    __slots__ = ("val", "next")

    def __init__(self, v, n=None):
        self.val, self.next = v, n


class Inner:
    class Deep:
        n = 0


@dataclasses.dataclass
class Nested:
    p: object
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class WithCV:
    total: typing.ClassVar[int] = 0
    x: int = 0


@dataclasses.dataclass
class Initvar:
    x: int = 0
    y: dataclasses.InitVar[int] = 0

    def __post_init__(self, y):
        self.z = y


@functools.total_ordering
class TO:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


class LenOnly:
    def __init__(self):
        self.items = []

    def __len__(self):
        return len(self.items)


class Num2:
    def __init__(self, v):
        self.v = v

    def __radd__(self, o):
        return o + self.v

    def __mul__(self, o):
        return self.v * o

    def __float__(self):
        return float(self.v)

    def __abs__(self):
        return abs(self.v)

    def __neg__(self):
        return -self.v

    def __round__(self, n=None):
        return round(self.v)

    def __hash__(self):
        return hash(self.v)

    def __eq__(self, o):
        return self.v == o

    def __format__(self, spec):
        return format(self.v, spec)

    def __bytes__(self):
        return bytes([self.v])

    def __enter__(self):
        return self.v

    def __exit__(self, *a):
        pass

    def __reversed__(self):
        return iter([self.v])

    def __divmod__(self, o):
        return divmod(self.v, o)

    def __iadd__(self, o):
        self.v += o
        return self

    def __getitem__(self, k):
        return self.v

    def __contains__(self, k):
        return self.v == k

    def __dir__(self):
        return [str(self.v)]

    def __copy__(self):
        return Num2(self.v)

    def __call__(self):
        return self.v


def counter():
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    def get():
        return n

    return inc, get


def deep(n, s):
    return s.n if n == 0 else deep(n - 1, s)


class Singleton:
    _i = None

    def __new__(cls):
        if cls._i is None:
            cls._i = super().__new__(cls)
        return cls._i


class Reg:
    subs = []

    def __init_subclass__(cls, **k):
        Reg.subs.append(cls)


class Lazy:
    def __init__(self):
        self.n = 0

    @functools.cached_property
    def val(self):
        self.n += 1
        return self.n


class LRU:
    def __init__(self):
        self.n = 0

    @functools.lru_cache(maxsize=None)
    def get(self, k):
        return self.n


GG = [0]


def bump():
    GG[0] += 1
