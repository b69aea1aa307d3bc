"""What turns access: all of it is told, or turns are no events."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from joined.compare import Answer

from turns.compare import compared, explored

_HEADER = """import asyncio
import contextlib
import contextvars
import copy
import functools
import inspect
import itertools
import json
import re
import threading

import dpor

LOCK, EVENT, QUEUE, SEM = asyncio.Lock(), asyncio.Event(), asyncio.Queue(), asyncio.Semaphore(1)
LOCAL = threading.local()
VAR = contextvars.ContextVar("var", default=0)


class Box:
    pass


@dpor.model
async def model():
"""

TOLD = {
    "a list in what json has made": """
        box = Box(); box.v = json.loads("[[1],[2]]"); seen=[]
        async def w(i):
            await asyncio.sleep(0.1)
            box.v[0].append(i)
            await asyncio.sleep(0.1)
        await asyncio.gather(w(1), w(2), w(3))
        return box.v
        """,
    "what a task is given by a future": """
        fut = asyncio.get_running_loop().create_future(); seen=[None]*3
        async def m():
            await asyncio.sleep(0.1)
            fut.set_result(json.loads('{"a": [0]}'))
        async def w(i):
            d = await fut
            await asyncio.sleep(0.1)
            d["a"].append(i)
            d["k"] = i
            await asyncio.sleep(0.1)
            seen[i] = list(d["a"])
        await asyncio.gather(m(), w(1), w(2))
        return seen, fut.result()
        """,
    "an attribute that is exchanged for another": """
        box = Box(); box.a = json.loads("[]"); box.b = json.loads("[]"); seen = [None]*4
        async def s():
            await asyncio.sleep(0.1)
            box.a, box.b = box.b, box.a
        async def w(i):
            await asyncio.sleep(0.1)
            box.a.append(i)
            await asyncio.sleep(0.1)
            seen[i] = len(box.b)
        await asyncio.gather(s(), w(0), w(1))
        return seen, box.a, box.b
        """,
    "a lock of the module": """
        seen = [[], [], []]
        n = [0]
        async def w(i):
            await asyncio.sleep(0.1)
            async with LOCK:
                await asyncio.sleep(0.1)
            seen[i].append(LOCK.locked())
        await asyncio.gather(w(0), w(1), w(2))
        return seen
        """,
    "an event of the module": """
        seen = [None]*3
        EVENT.clear()
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = EVENT.is_set()
        async def s():
            await asyncio.sleep(0.1)
            EVENT.set()
        await asyncio.gather(w(0), s(), w(1))
        return seen
        """,
    "a queue of the module": """
        seen = [None]*3
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = await QUEUE.get()
        async def s(i):
            await asyncio.sleep(0.1)
            QUEUE.put_nowait(i)
        await asyncio.gather(w(0), s(5), w(1), s(6))
        return seen
        """,
    "a semaphore of the module": """
        seen = [[],[],[]]
        async def w(i):
            await asyncio.sleep(0.1)
            async with SEM:
                seen[i].append(SEM.locked())
                await asyncio.sleep(0.1)
            seen[i].append(SEM.locked())
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "data of the thread": """
        seen = [None]*3
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = getattr(LOCAL, "x", None)
            LOCAL.x = i
        LOCAL.x = -1
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "a context in which two callbacks run": """
        ctx = contextvars.copy_context()
        def add():
            VAR.set(VAR.get() * 2 + 1)
        def two():
            VAR.set(VAR.get() * 3)
        async def w(i):
            await asyncio.sleep(0.1)
            ctx.run((add, two)[i])
        await asyncio.gather(w(0), w(1))
        return ctx.get(VAR)
        """,
    "a stream reader that is fed": """
        seen = [None]*3
        r = asyncio.StreamReader()
        async def feed(i):
            await asyncio.sleep(0.1)
            r.feed_data(b"ab"[i:i+1])
        async def w():
            seen[2] = await r.readexactly(2)
        await asyncio.gather(feed(0), feed(1), w())
        return seen
        """,
    "a stream reader at its end": """
        seen = [None]*3
        r = asyncio.StreamReader()
        async def feed(i):
            await asyncio.sleep(0.1)
            r.feed_data(b"ab")
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = r.at_eof()
        async def eof():
            await asyncio.sleep(0.1)
            r.feed_eof()
        await asyncio.gather(eof(), w(1))
        return seen
        """,
    "which tasks have not ended": """
        seen = [None]*3
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = len(asyncio.all_tasks())
        ts = [asyncio.create_task(w(i)) for i in range(3)]
        await asyncio.sleep(0.1)
        for t in ts: await t
        return seen
        """,
    "a counter": """
        seen = [None]*3
        c = itertools.count()
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = next(c)
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "iterators that share what they have taken": """
        seen = [[], [], []]
        a, b = itertools.tee(iter([1, 2, 3]))
        box = Box(); box.it = a
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i].append(next(box.it, None))
            await asyncio.sleep(0.1)
            seen[i].append(next(box.it, None))
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "an iterator over matches": """
        seen = [[], [], []]
        box = Box(); box.it = re.finditer("a", "aaaaa")
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i].append(next(box.it).start())
            await asyncio.sleep(0.1)
            seen[i].append(next(box.it).start())
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "a cache": """
        calls = []
        @functools.lru_cache
        def f(x):
            calls.append(x)
            return x
        seen = [None]*3
        async def w(i):
            await asyncio.sleep(0.1)
            f(0)
            seen[i] = f.cache_info().hits
        await asyncio.gather(w(0), w(1))
        return seen, calls
        """,
    "a copy of all that is in a dict": """
        seen = [None]*3
        d = {"a": [0]}
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = copy.deepcopy(d)
            await asyncio.sleep(0.1)
            d["a"].append(i)
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "notes of an exception": """
        seen = [None]*3
        box = Box(); box.e = ValueError(1)
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = getattr(box.e, "__notes__", None) and list(box.e.__notes__)
            box.e.add_note(str(i))
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "who waits at a barrier": """
        seen = [None]*3
        b = asyncio.Barrier(2)
        async def w(i):
            await asyncio.sleep(0.1)
            await b.wait()
        async def l():
            await asyncio.sleep(0.1)
            seen[0] = b.n_waiting
        await asyncio.gather(w(0), w(1), l())
        return seen
        """,
    "a priority queue": """
        seen = [None]*3
        q = asyncio.PriorityQueue()
        async def w(i):
            await asyncio.sleep(0.1)
            q.put_nowait(3 - i)
        async def g(i):
            await asyncio.sleep(0.1)
            seen[i] = await q.get()
        await asyncio.gather(w(0), w(1), g(0), g(1))
        return seen
        """,
    "groups that have a task in common": """
        seen = []
        ts = [asyncio.create_task(asyncio.sleep(0.1, i)) for i in range(3)]
        async def w(n, *t):
            seen.append((n, await asyncio.gather(*t)))
        await asyncio.gather(w(0, ts[0], ts[1]), w(1, ts[1], ts[2]))
        return seen
        """,
    "ended tasks by whoever asks": """
        seen = [None]*3
        it = iter(asyncio.as_completed([asyncio.sleep(0.1, i) for i in range(2)]))
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = await next(it)
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "requests for a cancellation": """
        seen = [None]*3
        async def w(i):
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                seen[i] = asyncio.current_task().uncancel()
        ts = [asyncio.create_task(w(i)) for i in range(2)]
        async def c():
            await asyncio.sleep(0.1)
            ts[0].cancel(); ts[1].cancel()
        await asyncio.gather(*ts, c(), return_exceptions=True)
        return seen
        """,
    "callbacks of a future": """
        seen = []
        f = asyncio.get_running_loop().create_future()
        async def w(i):
            await asyncio.sleep(0.1)
            f.add_done_callback(lambda _: seen.append(i))
        async def s():
            await asyncio.sleep(0.1)
            f.set_result(1)
        await asyncio.gather(w(0), w(1), s())
        await asyncio.sleep(0.1)
        return seen
        """,
    "an attribute of a task": """
        seen = [None]*3
        t = asyncio.current_task()
        async def a():
            await asyncio.sleep(0.1)
            t.extra = 1
        async def b():
            await asyncio.sleep(0.1)
            seen[0] = hasattr(t, "extra")
        await asyncio.gather(a(), b())
        return seen
        """,
    "the name of a task": """
        seen = [None]*3
        t = asyncio.current_task()
        async def a():
            await asyncio.sleep(0.1)
            t.set_name("x")
        async def b():
            await asyncio.sleep(0.1)
            seen[0] = t.get_name()
        await asyncio.gather(a(), b())
        return seen
        """,
    "a set of tasks": """
        tasks = set(); log = []
        async def w(i):
            await asyncio.sleep(0.1)
            log.append(len(tasks))
        for i in range(3):
            t = asyncio.create_task(w(i)); tasks.add(t); t.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
        return log
        """,
    "what is shielded": """
        seen = []
        async def inner():
            await asyncio.sleep(0.1)
            seen.append("inner")
        async def outer():
            try:
                await asyncio.shield(inner())
            except asyncio.CancelledError:
                seen.append("cancelled")
        t = asyncio.create_task(outer())
        await asyncio.sleep(0.1)
        t.cancel()
        await asyncio.sleep(0.1)
        await asyncio.wait([t])
        return seen
        """,
    "an asynchronous context manager each": """
        log = []
        @contextlib.asynccontextmanager
        async def cm(i):
            await asyncio.sleep(0.1)
            log.append(i)
            yield
            log.append(-i)
        async def w(i):
            async with cm(i):
                await asyncio.sleep(0.1)
        await asyncio.gather(w(0), w(1))
        return log
        """,
}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_turn_accesses_by_this_is_told(tmp_path: Path, name: str) -> None:
    comparison = compared(_program(tmp_path, TOLD[name]), 20.0)
    assert comparison.joined.outcomes == comparison.single.outcomes
    assert comparison.answer is Answer.SAME
    assert comparison.joined.is_joined
    assert comparison.joined.executions <= comparison.single.executions


LEFT = {
    "a context of done callbacks": """
        seen = []
        ctx = contextvars.copy_context()
        def add(_):
            VAR.set(VAR.get() * 2 + 1)
        def two(_):
            VAR.set(VAR.get() * 3)
        async def w(i):
            f = asyncio.get_running_loop().create_future()
            f.add_done_callback((add, two)[i], context=ctx)
            await asyncio.sleep(0.1)
            f.set_result(1)
            await asyncio.sleep(0.1)
        await asyncio.gather(w(0), w(1))
        return ctx.get(VAR)
        """,
    "a coroutine that two tasks await": """
        seen = [None]*3
        async def c():
            await asyncio.sleep(0.1)
            return 1
        one = c()
        async def w(i):
            await asyncio.sleep(0.1)
            try:
                seen[i] = await one
            except RuntimeError as e:
                seen[i] = str(e)
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "the state of a coroutine": """
        seen = [None]*3
        async def c():
            await asyncio.sleep(0.1)
            return 1
        one = c()
        async def w(i):
            await asyncio.sleep(0.1)
            if i: seen[i] = inspect.getcoroutinestate(one)
            else: seen[i] = await one
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "the frame of a coroutine": """
        seen = [None]*3
        async def c():
            await asyncio.sleep(0.1)
            return 1
        one = c()
        async def w(i):
            await asyncio.sleep(0.1)
            if i: seen[i] = one.cr_frame is None
            else: seen[i] = await one
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "the coroutine of a task": """
        seen = [None]*3
        async def c():
            await asyncio.sleep(0.1)
            return 1
        t = asyncio.create_task(c())
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = t.get_coro().cr_frame is None
        await asyncio.gather(w(0), t)
        return seen
        """,
    "the text of a task group": """
        seen = [None]*3
        async with asyncio.TaskGroup() as g:
            async def c():
                await asyncio.sleep(0.1)
            async def w(i):
                await asyncio.sleep(0.1)
                seen[i] = "tasks=1" in repr(g)
            g.create_task(c())
            g.create_task(w(0))
        return seen
        """,
    "what a task group keeps": """
        seen = [None]*3
        async with asyncio.TaskGroup() as g:
            async def c():
                await asyncio.sleep(0.1)
            async def w(i):
                await asyncio.sleep(0.1)
                seen[i] = len(g._tasks)
            g.create_task(c())
            g.create_task(w(0))
        return seen
        """,
    "what a time limit keeps": """
        seen = [None]*3
        t = asyncio.timeout(1)
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = t._state.name
        async def l():
            async with t:
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.1)
        await asyncio.gather(w(0), l(), return_exceptions=True)
        return seen
        """,
    "what a loop has ready": """
        seen = [None]*3
        loop = asyncio.get_running_loop()
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = len(loop._ready)
        async def l():
            await asyncio.sleep(0.1)
            f = loop.create_future()
            loop.call_soon(f.set_result, 1)
            await f
            await asyncio.sleep(0.1)
        await asyncio.gather(w(0), l(), w(1))
        return seen
        """,
    "all that a loop keeps": """
        seen = [None]*3
        loop = asyncio.get_running_loop()
        async def w(i):
            await asyncio.sleep(0.1)
            seen[i] = len(vars(loop)["_scheduled"])
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "the context of an exception": """
        seen = [None]*3
        err = ValueError()
        async def w(i):
            await asyncio.sleep(0.1)
            try:
                try:
                    raise KeyError(i)
                except KeyError:
                    raise err
            except ValueError as e:
                await asyncio.sleep(0.1)
                seen[i] = repr(e.__context__)
        await asyncio.gather(w(0), w(1))
        return seen
        """,
    "a queue that keeps its items in another way": """
        seen = [None]*3
        class Q(asyncio.Queue):
            def _put(self, x): self._queue.appendleft(x)
        q = Q()
        async def w(i):
            await asyncio.sleep(0.1)
            q.put_nowait(i)
        async def g(i):
            await asyncio.sleep(0.1)
            seen[i] = await q.get()
        await asyncio.gather(w(0), w(1), g(0), g(1))
        return seen
        """,
    "a factory of tasks": """
        seen = []
        loop = asyncio.get_running_loop()
        def fac(loop, coro, **k):
            seen.append(1); return asyncio.Task(coro, loop=loop, **k)
        async def a():
            await asyncio.sleep(0.1)
            loop.set_task_factory(fac)
        async def b():
            await asyncio.sleep(0.1)
            await asyncio.create_task(asyncio.sleep(0.1))
        await asyncio.gather(a(), b())
        return len(seen)
        """,
    "an attribute of a loop": """
        seen = [None]*3
        loop = asyncio.get_running_loop()
        async def a():
            await asyncio.sleep(0.1)
            loop.extra = 1
        async def b():
            await asyncio.sleep(0.1)
            seen[0] = hasattr(loop, "extra")
        await asyncio.gather(a(), b())
        return seen
        """,
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_told_ends_that_turns_are_events(tmp_path: Path, name: str) -> None:
    program = _program(tmp_path, LEFT[name])
    turns, drawn = explored(program, True, 20.0), explored(program, False, 20.0)
    assert not turns.is_joined
    assert replace(turns, assumptions=drawn.assumptions) == drawn
    assert turns.assumptions >= drawn.assumptions
    assert len(turns.outcomes) > 1


def _program(folder: Path, body: str) -> Path:
    program = folder / "program.py"
    program.write_text(
        _HEADER + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n", encoding="utf-8"
    )
    return program
