"""Kinds of state that a module can keep."""

import abc
import array
import collections
import contextvars
import dataclasses
import enum
import functools
import io
import itertools
import logging
import queue
import random
import re
import string
import threading
import types
import weakref

import dpor


def counter():
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    return inc


INC = counter()


def deleter():
    x = 1

    def go():
        nonlocal x
        try:
            x
        except NameError:
            return False
        del x
        return True

    return go


DEL = deleter()


class Slotted:
    __slots__ = ("a", "b", "items")

    def __init__(self):
        self.a = 1
        self.items = []


SLOTTED = Slotted()


class Plain:
    shared = []
    number = 0

    def __init__(self):
        self.x = 1
        self.y = 2
        self.log = []

    def method(self):
        return 1


PLAIN = Plain()


@dataclasses.dataclass
class Data:
    a: int = 0
    l: list = dataclasses.field(default_factory=list)


DATA = Data()


@dataclasses.dataclass(slots=True)
class DataSlots:
    a: int = 0
    l: list = dataclasses.field(default_factory=list)


DATAS = DataSlots()


class Meta(type):
    registry = {}

    def __new__(m, name, bases, ns):
        cls = super().__new__(m, name, bases, ns)
        m.registry[name] = cls
        return cls

    def __setattr__(cls, name, value):
        super().__setattr__(name, (value,))


class Based(metaclass=Meta):
    pass


class Single:
    instance = None

    def __new__(cls):
        if cls.instance is None:
            cls.instance = super().__new__(cls)
            cls.instance.count = 0
        return cls.instance


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Bits(enum.Flag):
    A = 1
    B = 2


class Typed:
    def __set_name__(self, owner, name):
        self.name = name
        self.store = {}
        self.sets = 0

    def __get__(self, obj, owner=None):
        return self if obj is None else self.store.get(id(obj))

    def __set__(self, obj, value):
        self.sets += 1
        self.store[id(obj)] = value


class Described:
    d = Typed()


DESCRIBED = Described()
DEQUE = collections.deque([1, 2], 5)
COUNTER = collections.Counter("aab")
ORDERED = collections.OrderedDict(a=1, b=2)
DEFAULT = collections.defaultdict(list)
CHAIN = collections.ChainMap({}, {"a": 1})
USERDICT = collections.UserDict(a=1)
USERLIST = collections.UserList([1])
COUNT = itertools.count(5)
STEPS = itertools.count(5, 2)
CYCLE = itertools.cycle([1, 2])
LISTITER = iter([1, 2, 3])
ARRAY = array.array("i", [1])
BYTES = bytearray(b"a")
IO = io.StringIO()
RANDOM = random.Random(1)
VAR = contextvars.ContextVar("v", default=0)
WEAKD = weakref.WeakValueDictionary()
WEAKK = weakref.WeakKeyDictionary()
WEAKS = weakref.WeakSet()
NS = types.SimpleNamespace(a=1)
LOCK = threading.Lock()
RLOCK = threading.RLock()
EVENT = threading.Event()
SEM = threading.Semaphore(2)
COND = threading.Condition()
QUEUE = queue.Queue()
SQ = queue.SimpleQueue()
LOCAL = threading.local()
LOG = logging.getLogger("leaktest")
ATOMIC = dpor.Atomic(0)
EXC = ValueError("x")


class OwnDict(dict):
    extra = 0


OWND = OwnDict(a=1)


class OwnList(list):
    pass


OWNL = OwnList([1])


class OwnDeque(collections.deque):
    pass


OWNQ = OwnDeque([1])


class OwnExc(Exception):
    pass


OEXC = OwnExc("x")


def default(x, seen=[], *, kw={}):
    seen.append(x)
    kw[len(kw)] = x
    return len(seen) + len(kw)


def func():
    pass


func.attr = 1


def gen():
    yield 1
    yield 2


GEN = gen()


@functools.lru_cache(None)
def cached(x, made=[]):
    made.append(x)
    return [x]


@functools.singledispatch
def disp(x):
    return "base"


PART = functools.partial(default, 1)
BOUND = PLAIN.log.append
TUP = ([], {}, Plain())
FROZ = frozenset([Single()])
Single.instance = None


class Node:
    def __init__(self):
        self.kids = []
        self.up = None


ROOT = Node()
ROOT.kids.append(Node())
ROOT.kids[0].up = ROOT


class Hidden:
    def __init__(self):
        self.__dict__["z"] = 1

    def __setattr__(self, n, v):
        self.__dict__[n] = v


HIDDEN = Hidden()


class Props:
    def __init__(self):
        self._p = 0

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, v):
        self._p = v

    @functools.cached_property
    def c(self):
        self._p += 1
        return self._p


PROPS = Props()


class Abstract(abc.ABC):
    pass


class Later:
    pass


STACK = [Plain()]
MAPS = {"k": Plain(), "d": collections.deque()}
INDEQUE = collections.deque([Plain()])
SLOTHOLD = Slotted()
SLOTHOLD.b = Plain()


def closure_holder():
    kept = Plain()

    def get():
        return kept

    return get


GET = closure_holder()


def closure_deque():
    kept = collections.deque()

    def get():
        return kept

    return get


GETD = closure_deque()
TMPL = string.Template("$a")
RE = re.compile("a")
NT = collections.namedtuple("NT", "a b")
NTV = NT([], {})


def swap_code():
    return 1


EMPTY_ATTRS = Plain()
EMPTY_ATTRS.__dict__.clear()
ITEMPROXY = types.MappingProxyType({"a": []})
FIRST = random.Random(1).random()


def inc_locked():
    with LOCK:
        PLAIN.x += 1

VIEWED = memoryview(bytearray(1))


def annotated(x: int):
    pass
