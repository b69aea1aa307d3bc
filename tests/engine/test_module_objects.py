"""Objects of the library that a module makes when it is imported: each execution finds them as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import asyncio, collections, concurrent.futures, contextlib, contextvars, functools, io, itertools, queue, random, sched
import threading, time, types, weakref, dpor

LOG = []

class Plain:
    @functools.cached_property
    def computed(self):
        LOG.append("computed")
        return 1

@contextlib.contextmanager
def entered():
    LOG.append("in")
    yield
    LOG.append("out")

@functools.lru_cache(maxsize=2)
def cached(x):
    LOG.append(x)
    return x

MADE = {made}

@dpor.model
def model():
    dpor.choose(range(2))
    {body}
"""
CASES = {
    "a pool": (
        "concurrent.futures.ThreadPoolExecutor(2)",
        "assert list(MADE.map(abs, [1])) == [1]\n    MADE.shutdown()",
    ),
    "a future": ("concurrent.futures.Future()", "assert not MADE.done()\n    MADE.set_result(1)"),
    "a queue": ("queue.Queue(2)", "assert MADE.empty()\n    MADE.put(1)"),
    "a simple queue": ("queue.SimpleQueue()", "assert MADE.empty()\n    MADE.put(1)"),
    "a barrier": ("threading.Barrier(1)", "MADE.wait()\n    assert not MADE.broken\n    MADE.abort()"),
    "a thread": (
        "threading.Thread(target=LOG.append, args=(1,))",
        "MADE.start()\n    MADE.join()\n    assert LOG == [1]",
    ),
    "a timer": (
        "threading.Timer(1, LOG.append, (1,))",
        "MADE.start()\n    MADE.join()\n    assert LOG == [1]",
    ),
    "data of threads": ("threading.local()", "assert not hasattr(MADE, 'x')\n    MADE.x = 1"),
    "a semaphore": ("threading.BoundedSemaphore(2)", "assert MADE._value == 2\n    MADE.acquire()"),
    "a lock": ("threading.Lock()", "assert MADE.acquire(False)"),
    "a lock that is held": (
        "threading.Lock()\nMADE.acquire()",
        "assert not MADE.acquire(False)\n    MADE.release()",
    ),
    "a condition": (
        "threading.Condition()",
        "assert not MADE._is_owned()\n    MADE.acquire()\n    MADE.notify_all()",
    ),
    "an event": ("threading.Event()\nMADE.set()", "assert MADE.is_set()\n    MADE.clear()"),
    "a lock of asyncio": (
        "asyncio.Lock()",
        "assert not MADE.locked()\n    asyncio.run(MADE.acquire())",
    ),
    "a queue of asyncio": ("asyncio.Queue()", "assert MADE.empty()\n    MADE.put_nowait(1)"),
    "an event of asyncio": ("asyncio.Event()", "assert not MADE.is_set()\n    MADE.set()"),
    "a context variable": (
        "contextvars.ContextVar('made', default=[])",
        "assert MADE.get() == []\n    MADE.get().append(1)\n    MADE.set([2])",
    ),
    "random numbers": ("random.Random(3)", "assert MADE.random() == random.Random(3).random()"),
    "a count": ("itertools.count()", "assert next(MADE) == 0"),
    "an atomic": ("dpor.Atomic(0)", "assert MADE.load() == 0\n    MADE.store(1)"),
    "weak values": (
        "weakref.WeakValueDictionary()",
        "assert not len(MADE)\n    kept = MADE['a'] = Plain()\n    assert kept in MADE.values()",
    ),
    "a scheduler": (
        "sched.scheduler(time.monotonic, time.sleep)",
        "assert MADE.empty()\n    MADE.enter(1, 1, LOG.append, (1,))\n    assert not LOG",
    ),
    "a cache": ("cached", "MADE(1)\n    MADE(1)\n    assert LOG == [1] and MADE.cache_info().misses == 1"),
    "a cached property": ("Plain()", "MADE.computed\n    MADE.computed\n    assert LOG == ['computed']"),
    "a stream": ("io.StringIO()", "assert not MADE.getvalue()\n    MADE.write('a')"),
    "a stack of exits": (
        "contextlib.ExitStack()",
        "assert not MADE._exit_callbacks\n    MADE.callback(LOG.append, 1)",
    ),
    "a context manager": ("entered()", "with MADE:\n        pass\n    assert LOG == ['in', 'out']"),
    "a generator": ("(number for number in range(3))", "assert next(MADE) == 0"),
    "dicts in a row": ("collections.ChainMap({})", "assert not MADE\n    MADE['a'] = 1"),
    "a function for each type": (
        "functools.singledispatch(lambda x: 0)",
        "assert MADE(1) == 0\n    MADE.register(int, lambda x: 1)\n    assert MADE(1) == 1 and len(MADE.registry) == 2",
    ),
    "a method": (
        "types.MethodType(lambda self: self.append(1), [])",
        "MADE()\n    assert len(MADE.__self__) == 1",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_object_of_the_library_is_as_it_was_made(tmp_path: Path, name: str) -> None:
    made, body = CASES[name]
    (tmp_path / "model.py").write_text(MODEL.format(made=made, body=body), encoding="utf-8")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions >= 2
