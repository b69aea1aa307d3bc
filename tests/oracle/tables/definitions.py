"""Classes and functions that operations name; each stands in front of a program that mentions it."""

from __future__ import annotations

DEFINITIONS: dict[str, str] = {
    "number_of": """def number_of(thread):
    return int(thread.name.partition('-')[2].split()[0]) if '-' in thread.name else 0
""",
    "K": """class K:
    made = 0
    def __init__(self, a=0, b=1):
        self.a = a
        self.b = b
    def bump(self):
        self.a += 1
        return self.a
    def __repr__(self):
        return f'K({self.a}, {self.b})'
""",
    "Generic": """class Generic:
    __class_getitem__ = classmethod(types.GenericAlias)
""",
    "Root": """class Root:
    x = 0
    items = []
    @classmethod
    def get(cls):
        return cls.x
    @classmethod
    def put(cls, x):
        cls.x = x
    def own(self):
        return type(self).x
class Middle(Root):
    pass
class Leaf(Middle, Generic):
    pass
""",
    "K2": """class K2(K):
    def bump(self):
        return 'k2'
""",
    "V": """class V:
    def __init__(self):
        self.l = []
    def __repr__(self):
        return f'V({self.l})'
""",
    "Slots": """class Slots:
    __slots__ = ('a', 'b')
    def __init__(self):
        self.a = 0
        self.b = 1
""",
    "Prop": """class Prop:
    def __init__(self):
        self._v = 0
        self.log = []
    @property
    def v(self):
        return self._v
    @v.setter
    def v(self, value):
        self.log.append(value)
        self._v = value
    @v.deleter
    def v(self):
        self._v = None
""",
    "Lazy": """class Lazy:
    def __init__(self, f):
        self.f = f
    def __set_name__(self, owner, n):
        self.n = n
    def __get__(self, obj, t=None):
        if obj is None:
            return self
        v = self.f(obj)
        obj.__dict__[self.n] = v
        return v
""",
    "LazyK": """class LazyK:
    @Lazy
    def v(self):
        return []
""",
    "Dynamic": """class Dynamic:
    def __init__(self):
        self.seen = []
    def __getattr__(self, name):
        if name.startswith('_'):
            raise AttributeError(name)
        self.seen.append(name)
        return len(self.seen)
""",
    "Watched": """class Watched:
    def __init__(self):
        object.__setattr__(self, 'log', [])
    def __setattr__(self, name, value):
        self.log.append((name, value))
        object.__setattr__(self, name, value)
""",
    "Key": """class Key:
    def __init__(self, n):
        self.n = n
    def __hash__(self):
        return 7
    def __eq__(self, other):
        return self.n == other.n
    def __repr__(self):
        return f'Key({self.n})'
""",
    "Less": """class Less:
    def __init__(self, n):
        self.n = n
    def __lt__(self, other):
        return self.n < other.n
    def __repr__(self):
        return f'L{self.n}'
""",
    "Total": """@functools.total_ordering
class Total:
    def __init__(self, n):
        self.n = n
    def __eq__(self, other):
        return self.n == other.n
    def __lt__(self, other):
        return self.n < other.n
""",
    "Data": """@dataclasses.dataclass
class Data:
    a: int = 0
    l: list = dataclasses.field(default_factory=list)
""",
    "Ordered": """@dataclasses.dataclass(order=True)
class Ordered:
    a: int = 0
    b: int = 1
""",
    "OwnList": """class OwnList(collections.UserList):
    def total(self):
        return sum(self)
""",
    "SubDict": """class SubDict(dict):
    def __missing__(self, key):
        self[key] = 0
        return 0
""",
    "SubList": """class SubList(list):
    def append(self, item):
        super().append(item)
        super().append(item)
""",
    "Bag": """class Bag:
    def __init__(self):
        self.d = [1, 2]
    def __len__(self):
        return len(self.d)
    def __getitem__(self, i):
        return self.d[i]
    def __setitem__(self, i, v):
        self.d[i] = v
    def __contains__(self, v):
        return v in self.d
    def __iter__(self):
        for x in self.d:
            yield x
    def __iadd__(self, v):
        self.d.append(v)
        return self
    def __bool__(self):
        return bool(self.d)
    def __call__(self, v):
        self.d.append(v)
    def __enter__(self):
        self.d.append('in')
        return self
    def __exit__(self, *e):
        self.d.append('out')
""",
    "Holds": """class Holds:
    def __init__(self, held):
        self.held = held
    def __iter__(self):
        return iter(self.held)
""",
    "Held": """class Held:
    def __init__(self, held):
        self.left = [held]
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop()
""",
    "OwnTuple": """class OwnTuple(tuple): pass
""",
    "Cached": """class Cached:
    def __init__(self):
        self.n = 0
    @functools.cached_property
    def v(self):
        self.n += 1
        return [self.n]
""",
    "count": """def count(n=3):
    for i in range(n):
        yield i
""",
    "echo": """def echo(l):
    while True:
        x = yield len(l)
        l.append(x)
""",
    "delegate": """def delegate(l):
    yield from l
""",
    "held": """@contextlib.contextmanager
def held(l):
    l.append('in')
    try:
        yield l
    finally:
        l.append('out')
""",
    "kind_of": """@functools.singledispatch
def kind_of(x):
    return 'object'
""",
    "tick": """def tick(x=0):
    return x + 1
""",
    "Color": """class Color(enum.Enum):
    RED = 1
    BLUE = 2
""",
    "G": """G = 0
L = [1]
def get_g():
    return G
def add_g():
    global G
    G += 1
def set_g(v):
    global G
    G = v
def add_l():
    global L
    L += [2]
""",
    "Meta": """class Meta(type):
    def __setattr__(cls, name, value):
        super().__setattr__(name, value)
        super().__setattr__('log', cls.__dict__.get('log', ()) + (name,))
class WithMeta(metaclass=Meta):
    a = 0
""",
    "Base": """class Base:
    def f(self):
        return 'base'
class Other:
    def f(self):
        return 'other'
class Derived(Base):
    pass
""",
    "Swapping": """class Swapping:
    def __init__(self, s):
        self.s = s
    def __lt__(self, other):
        self.s.append('lt')
        return False
""",
    "fill": """def fill(d, values):
    d['a'], d['b'] = values
    return d
""",
    "log": """def log(stream):
    logger = logging.Logger('x')
    logger.addHandler(logging.StreamHandler(stream))
    return logger
""",
    "number": """def number(path):
    path.write_text('1')
    return path
""",
    "clean": """def clean(environment):
    for name in list(environment):
        if name.startswith('ORACLE'):
            del environment[name]
    return environment
""",
    "Ends": """class Ends:
    def __init__(self, l):
        self.l = l
    def __del__(self):
        self.l.append('end')
    def __repr__(self):
        return 'Ends'
""",
    "Field": """class Field:
    def __set_name__(self, owner, name):
        self.name = '_' + name
    def __get__(self, obj, t=None):
        return self if obj is None else obj.__dict__.get(self.name, 0)
    def __set__(self, obj, value):
        obj.__dict__[self.name] = value
    def __delete__(self, obj):
        del obj.__dict__[self.name]
""",
    "Fielded": """class Fielded:
    f = Field()
    g = Field()
""",
    "Point": """@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int
""",
    "Lambda": """class Lambda:
    def __init__(self, n):
        self.n = n
    __hash__ = lambda self: 7
    __lt__ = lambda self, other: self.n < int(other)
    __repr__ = lambda self: f'~{self.n}'
    __int__ = lambda self: self.n
    __add__ = lambda self, other: self.n + int(other)
    __radd__ = lambda self, other: self.n + int(other)
def equal_numbers(one, other):
    return one.n == int(other)
Lambda.__eq__ = equal_numbers
""",
    "Computed": """class Computed:
    now = property(operator.attrgetter('x'), lambda self, value: setattr(self, 'x', value))
    first = property(lambda self: self.kept[0])
    __call__ = property(lambda self: functools.partial(len, self.kept))
    def __init__(self):
        self.x = 1
        self.kept = [1, 2]
""",
    "Fields": """class Fields(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__
""",
    "raised": """def raised(error, beside=None, cause=None):
    try:
        try:
            if beside is not None:
                raise beside
        except KeyError:
            raise error
        if cause is not None:
            raise error from cause
        raise error
    except ValueError:
        pass
""",
    "Zone": """class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        return datetime.timedelta(0)
    def dst(self, when):
        return None
""",
    "at": """def at(hour):
    return datetime.datetime(2020, 1, 1, hour, tzinfo=Zone())
""",
    "Sink": """class Sink:
    def __init__(self, kept):
        self.kept = kept
    write = lambda self, data: self.kept.append(data)
""",
    "Mapped": """class Mapped:
    def __init__(self, d):
        self.d = d
    keys = lambda self: list(self.d)
    __getitem__ = lambda self, key: self.d[key]
""",
    "Var": """Var = contextvars.ContextVar('Var', default=0)
""",
}

NEEDS = {
    "K2": ("K",),
    "LazyK": ("Lazy",),
    "Fielded": ("Field",),
    "at": ("Zone",),
    "WithMeta": ("Meta",),
    "Derived": ("Base",),
    "Other": ("Base",),
    "get_g": ("G",),
    "add_g": ("G",),
    "set_g": ("G",),
    "add_l": ("G",),
}
"""Which definitions a name needs besides, or instead of, one of its own."""

LOCALS: dict[str, str] = {
    "box": "box = [0]",
    "keep": "keep = [V(), V()]",
    "calls": "calls = []",
    "folder": "folder = tempfile.TemporaryDirectory()",
    "lock": "lock = threading.Lock()",
}
"""Further shared objects, made by a program that mentions them."""

SHOWN = ("keep", "box")
"""Which of them the final state shows, if no kind shows them."""

MODULES: dict[str, str] = {
    "second": """value = 0
items = []
def bump():
    global value
    value += 1
    return value
def total():
    return value + len(items)
def extend(them):
    items.extend(them)
""",
}
"""First-party modules that a program which names them imports."""
