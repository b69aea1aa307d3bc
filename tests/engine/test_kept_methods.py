"""A method of a container that is kept is what it is in Python, and whoever calls it is followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

HEADER = """
import asyncio, collections, concurrent.futures, contextlib, functools, itertools, json, logging, operator, re, string
import sqlite3, sys, threading, types, weakref, xml.parsers.expat

def after(call, s):
    call()
    return [item if isinstance(item, int) else "?" for item in s]

def begin(thread):
    thread.start()
    thread.join()

def pooled(use, **options):
    with concurrent.futures.ThreadPoolExecutor(1, **options) as pool:
        use(pool)

def done(method):
    future = concurrent.futures.Future()
    future.add_done_callback(method)
    future.set_result(1)

def in_loop(use):
    async def main():
        await use(asyncio.get_running_loop())
        await asyncio.sleep(0.1)
    asyncio.run(main())

async def soon(loop, method):
    loop.call_soon(method, 1)

async def later(loop, method):
    loop.call_later(0.01, method, 1)

async def finished(loop, method):
    future = loop.create_future()
    future.add_done_callback(method)
    future.set_result(1)

async def waits(method):
    condition = asyncio.Condition()
    async with condition:
        return await condition.wait_for(method)

def waits_in_thread(method):
    condition = threading.Condition()
    with condition:
        return condition.wait_for(method)

def stacked(method):
    with contextlib.ExitStack() as stack:
        stack.callback(method, 1)

def of_class(method):
    class Own:
        kept = method
    Own.kept(1)

def cached(method):
    class Own:
        value = functools.cached_property(method)
    Own().value

def handled(method):
    class Handler(logging.Handler):
        emit = method
    logger = logging.Logger("own")
    logger.addHandler(Handler())
    logger.error("text")

def parsed(method):
    parser = xml.parsers.expat.ParserCreate()
    parser.CharacterDataHandler = method
    parser.Parse("<a>text</a>", True)

def queried(method):
    connection = sqlite3.connect(":memory:")
    connection.create_function("own", 1, method)
    connection.execute("select own(1)").fetchall()

def missing(method):
    return collections.defaultdict(functools.partial(method, 1))
"""
CALLS = {
    "a variable": "(lambda kept: kept(1))(s.append)",
    "getattr": "getattr(s, 'append')(1)",
    "a partial": "functools.partial(s.append)(1)",
    "map": "list(map(s.append, [1]))",
    "a sort": "sorted([1], key=s.append)",
    "a static method": "of_class(staticmethod(s.append))",
    "a class": "of_class(s.append)",
    "an instance": "types.SimpleNamespace(kept=s.append).kept(1)",
    "a named tuple": "collections.namedtuple('One', 'kept')(s.append).kept(1)",
    "a bound method": "types.MethodType(s.append, 1)()",
    "a thread": "begin(threading.Thread(target=s.append, args=(1,)))",
    "a timer": "begin(threading.Timer(0.1, s.append, (1,)))",
    "a barrier": "threading.Barrier(1, functools.partial(s.append, 1)).wait()",
    "a pool": "pooled(lambda pool: pool.submit(s.append, 1))",
    "an initializer of a pool": "pooled(lambda pool: pool.submit(int), initializer=s.append, initargs=(1,))",
    "a future": "done(s.append)",
    "a loop": "in_loop(lambda loop: soon(loop, s.append))",
    "a timer of a loop": "in_loop(lambda loop: later(loop, s.append))",
    "a future of a loop": "in_loop(lambda loop: finished(loop, s.append))",
    "a stack of exits": "stacked(s.append)",
    "a finalizer": "weakref.finalize(after, s.append, 1)()",
    "json": "json.loads('{}', object_hook=s.append)",
    "json's encoder": "json.dumps({1: after}, default=s.append)",
    "a pattern": "re.sub('a', s.append, 'a')",
    "a cache": "functools.lru_cache(s.append)(1)",
    "a cached property": "cached(s.append)",
    "a handler of logging": "handled(s.append)",
    "a parser": "parsed(s.append)",
    "a database": "queried(s.append)",
    "a factory": "missing(s.append)[3]",
    "a factory, by a method": "missing(s.append).__getitem__(3)",
    "a factory, by __missing__": "missing(s.append).__missing__(3)",
    "a factory, by a kept method": "list(map(missing(s.append).__getitem__, [3]))",
    "a factory, by formatting": "'%(a)s' % missing(s.append)",
    "a factory, by a template": "string.Template('$a').substitute(missing(s.append))",
}
READS = {
    "a lookup": ("{1: 1}", "list(map(s.get, [1]))", "s.update({1: 2})"),
    "a length": ("[1]", "(lambda kept: kept())(s.__len__)", "s.append(2)"),
    "a filter": ("{1}", "list(filter(s.__contains__, [1, 2]))", "s.add(2)"),
    "a step": ("iter([1, 2])", "(lambda kept: kept())(s.__next__)", "next(s)"),
    "a factory": ("[1, 2]", "collections.defaultdict(s.pop)[3]", "s.pop()"),
    "a factory, by a method": ("[1, 2]", "collections.defaultdict(s.pop).__getitem__(3)", "s.pop()"),
    "a factory, replaced": (
        "collections.defaultdict(list)",
        "s.__missing__(3)",
        "setattr(s, 'default_factory', sys.getrecursionlimit)",
    ),
    "a factory, replaced by a class": (
        "collections.defaultdict(sys.getrecursionlimit)",
        "s.__missing__(3)",
        "setattr(s, 'default_factory', list)",
    ),
    "a factory, replaced by a new beginning": (
        "collections.defaultdict(list)",
        "s.__missing__(3)",
        "s.__init__(sys.getrecursionlimit)",
    ),
    "a name of a cached function": ("functools.lru_cache(len)", "s.__name__", "setattr(s, '__name__', 7)"),
    "a condition": ("[1, 2]", "waits_in_thread(s.pop)", "s.pop()"),
    "a condition of asyncio": ("[1, 2]", "asyncio.run(waits(s.pop))", "s.pop()"),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_thread_can_come_before_and_after_the_call(tmp_path: Path, name: str) -> None:
    EitherOrder(HEADER, tmp_path).require_both("[]", f"after(lambda: {CALLS[name]}, s)", "s.append(2)")


@pytest.mark.parametrize("name", READS)
def test_another_thread_can_change_what_the_call_gives(tmp_path: Path, name: str) -> None:
    EitherOrder(HEADER, tmp_path).require_both(*READS[name])


def test_nobody_comes_into_the_call_of_a_factory_in_c(tmp_path: Path) -> None:
    result = EitherOrder("import collections, itertools", tmp_path).check(
        "collections.defaultdict(itertools.count().__next__)", "s['a']", "s['a']", "[0, 1]"
    )
    assert result.verdict is Verdict.VERIFIED


def test_a_kept_method_is_a_predicate(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import dpor

@dpor.model
def model():
    items = []
    dpor.spawn(items.append, 1)
    dpor.wait_until(items.__len__)
    assert items == [1]
""")
    assert check_model(CheckRequest(str(path), "model", str(tmp_path))).verdict is Verdict.VERIFIED
