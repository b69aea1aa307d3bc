"""How deep a model's calls can be nested: as deep as without the checker."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult

# What an execution and its hooks take at the bottom.
BASE = 25
SHAPES = """
import bisect, collections, contextlib, copy, functools, itertools, json, operator, re

reached = 0

def mark(number):
    global reached
    reached = number
    return number + 1

@functools.cache
def cached(n): return cached(mark(n))

@functools.lru_cache(maxsize=10)
def cached_in_order(n): return cached_in_order(mark(n))

class Base:
    def __init__(self, n): self.n = n

class Deep(Base):
    def next(self):
        self.n = mark(self.n)
        return self

    def __add__(self, other): return self.next() + other
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return getattr(self, "a" * mark(len(name)))
    def __getitem__(self, n): return self[mark(n)]
    def __contains__(self, n): return mark(n) in self
    def __call__(self, n): return self(mark(n))
    def __eq__(self, other): return self == mark(other)
    def __bool__(self): return bool(self.next())
    def __int__(self): return int(self.next())
    def __repr__(self): return repr(self.next())
    def __str__(self): return f"{self.next()}"
    def __hash__(self): return hash(self.next())
    def __iter__(self): return iter(self.next())
    @property
    def attribute(self): return self.next().attribute
    @functools.cached_property
    def kept(self): return Deep(mark(self.n)).kept
    def method(self): return self.next().method()
    def __setattr__(self, name, value):
        if name == "deep": self.deep = mark(value)
        else: object.__setattr__(self, name, value)
    def __deepcopy__(self, memo): return copy.deepcopy(self.next(), memo)

class Made(Base):
    def __init__(self, n):
        super().__init__(n)
        Made(mark(n))

class Missing(dict):
    def __missing__(self, n): return self[mark(n)]

def plain(n): return plain(mark(n))
def by_key(n): return max([mark(n)], key=by_key)
def by_sorting(n): return sorted([mark(n)], key=by_sorting)
def mapped(n): return list(map(mapped, [mark(n)]))
def reduced(a, n): return functools.reduce(reduced, [a, mark(n)])
def partial(n): return functools.partial(partial, mark(n))()
def delegating(n): yield from delegating(mark(n))
def running_over(n):
    for item in running_over(mark(n)): yield item
def comprehension(n): return [comprehension(m) for m in (mark(n),)]
def through_lambda(n): return (lambda: through_lambda(mark(n)))()
def starred(*a): return starred(*(mark(a[0]),))
def replaced(n): return re.sub("a", lambda match: replaced(mark(n)), "a")
def by_default(n): return collections.defaultdict(lambda: by_default(mark(n)))[0]
def to_json(n): return json.dumps(object(), default=lambda value: to_json(mark(n)))
def searched(n): return bisect.bisect([mark(n)], 0, key=searched)
def joined(n): return "".join(joined(m) for m in [mark(n)])
def accumulated(n): return list(itertools.accumulate([1, mark(n)], lambda a, b: accumulated(b)))
async def awaiting(n): return await awaiting(mark(n))

@contextlib.contextmanager
def manager(n):
    with manager(mark(n)): yield

@functools.singledispatch
def dispatched(n): return dispatched(mark(n))

ways = {
    "a cached function": lambda: cached(1),
    "a cached function that keeps the order": lambda: cached_in_order(1),
    "an operator": lambda: Deep(1) + 1,
    "a missing attribute": lambda: Deep(1).a,
    "an item": lambda: Deep(1)[1],
    "a test of membership": lambda: 1 in Deep(1),
    "an object that is called": lambda: Deep(1)(1),
    "a comparison": lambda: Deep(1) == 1,
    "a truth value": lambda: bool(Deep(1)),
    "a conversion": lambda: int(Deep(1)),
    "a representation": lambda: repr(Deep(1)),
    "a formatted text": lambda: str(Deep(1)),
    "a hash": lambda: hash(Deep(1)),
    "an iterator that is made": lambda: iter(Deep(1)),
    "a property": lambda: Deep(1).attribute,
    "a cached property": lambda: Deep(1).kept,
    "a method": lambda: Deep(1).method(),
    "an attribute that is set": lambda: setattr(Deep(1), "deep", 1),
    "a deep copy": lambda: copy.deepcopy(Deep(1)),
    "an object that is made": lambda: Made(1),
    "a missing item": lambda: Missing()[1],
    "a function": lambda: plain(1),
    "a key of max": lambda: by_key(1),
    "a key of sorted": lambda: by_sorting(1),
    "map": lambda: mapped(1),
    "reduce": lambda: reduced(1, 1),
    "partial": lambda: partial(1),
    "a generator that delegates": lambda: list(delegating(1)),
    "a generator in a loop": lambda: list(running_over(1)),
    "a comprehension": lambda: comprehension(1),
    "a lambda": lambda: through_lambda(1),
    "starred arguments": lambda: starred(1),
    "what a pattern is replaced by": lambda: replaced(1),
    "a factory of defaults": lambda: by_default(1),
    "a conversion to JSON": lambda: to_json(1),
    "a key of bisect": lambda: searched(1),
    "items that are joined": lambda: joined(1),
    "accumulate": lambda: accumulated(1),
    "a coroutine": lambda: awaiting(1).send(None),
    "a context manager": lambda: manager(1).__enter__(),
    "a function that dispatches": lambda: dispatched(1),
}

def deepest(way):
    try:
        ways[way]()
    except RecursionError:
        return reached
"""
MODEL = """
import dpor, shapes

@dpor.model(max_steps=1_000_000)
def model(way="", depth=0):
    assert shapes.deepest(way) >= depth
"""
WAYS = [line.split('"')[1] for line in SHAPES.splitlines() if line.startswith('    "')]


def on_a_large_stack(check: Callable[[], ModelResult]) -> ModelResult:
    """As in a worker: `sorted` alone takes 4 KiB of the stack."""
    before = threading.stack_size(64 << 20)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(check).result()
    finally:
        threading.stack_size(before)


@pytest.fixture(scope="module")
def plain_depths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What each way reaches in a process of its own."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "shapes.py").write_text(SHAPES)
    code = "import shapes\nfor way in shapes.ways: shapes.reached = 0; print(shapes.deepest(way))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return dict(zip(WAYS, map(int, done.stdout.split()), strict=True))


@pytest.mark.parametrize("way", WAYS)
def test_calls_nest_as_deep_as_without_the_checker(
    way: str, plain_depths: dict[str, int], tmp_path: Path
) -> None:
    depth = plain_depths[way]
    assert depth > 100
    if sys.version_info >= (3, 12) and plain_depths["a key of sorted"] < 900:
        # The first releases of 3.12 let 1,500 calls in C be nested, and make none where they call methods in Python.
        depth = depth * 7 // 10
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "model.py").write_text(MODEL)
    parameters = {"way": way, "depth": depth - BASE}
    result = on_a_large_stack(
        lambda: check_model(CheckRequest("model.py", "model", str(tmp_path), parameters))
    )
    assert (result.verdict.value, result.reason) == ("verified", None)


DEEP = """
@dpor.model
def model():
    assert max([300], key=nested) == 300
"""
LIMITS = """
import dpor, functools, sys

seen = []

@functools.cache
def change(limit):
    seen.append(sys.getrecursionlimit())
    sys.setrecursionlimit(limit)
    return sys.getrecursionlimit()

@dpor.model
def model():
    first = sys.getrecursionlimit()
    assert max([2000, 3000], key=change) == 3000
    assert (sys.getrecursionlimit(), seen) == (3000, [first, 2000])
    assert first < 2000
    seen.clear()
    dpor.choose([1, 2])
    try:
        max([0], key=change.__wrapped__)
    except ValueError:
        return
    assert False
"""


def test_the_limit_is_the_one_that_the_model_sets(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(LIMITS)
    before = sys.getrecursionlimit()
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert (result.verdict.value, result.executions) == ("verified", 2)
    assert sys.getrecursionlimit() == before


HIGHEST = """
import dpor, functools, operator, sys

@functools.cache
def nested(number): return number and nested(number - 1)

class Limit:
    def __index__(self): return 4000

def told(*args):
    try:
        sys.setrecursionlimit(*args)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

@dpor.model
def model(texts=()):
    assert tuple(told(*args) for args in ((), (1, 2), ("a",), (0,), (2**31,))) == tuple(texts)
    for limit, number in ((2**31 - 1, 2**31 - 1), (Limit(), 4000)):
        sys.setrecursionlimit(limit)
        assert max([300], key=nested) == 300
        assert max([0], key=lambda key: sys.getrecursionlimit()) == 0
        assert sys.getrecursionlimit() == number
"""


def test_any_limit_that_python_takes_is_taken(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HIGHEST)
    texts: list[str] = []
    for args in ((), (1, 2), ("a",), (0,), (2**31,)):
        with pytest.raises((TypeError, ValueError, OverflowError)) as error:
            sys.setrecursionlimit(*args)  # type: ignore[call-overload]
        texts.append(f"{error.typename}: {error.value}")
    request = CheckRequest("model.py", "model", str(tmp_path), {"texts": texts})
    assert check_model(request).verdict.value == "verified"


def test_the_highest_limit_of_the_process_stays(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(HIGHEST.replace("def model(texts=()):", "def other(texts=()):") + DEEP)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(2**31 - 1)
    try:
        result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
        assert (result.verdict.value, sys.getrecursionlimit()) == ("verified", 2**31 - 1)
    finally:
        sys.setrecursionlimit(before)


STRAY = """
import dpor, threading

class Item:
    def __lt__(self, other):
        dpor.assume(False)

@dpor.model
def model():
    lock = threading.Lock()
    def work():
        sorted([Item(), Item()], key=lambda item: lock.acquire() and item)
    dpor.spawn(work)
    dpor.spawn(work)
"""


def test_executions_that_are_given_up_inside_of_callbacks_leave_the_limit_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(STRAY)
    before = sys.getrecursionlimit()
    check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert sys.getrecursionlimit() == before
