"""Programs of which an order was lost, because no access told of what two turns do to each other."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from joined.compare import Answer

from turns.compare import compared

PROGRAMS = {
    "a context of tasks that are made before the loop runs": """
        import asyncio, contextvars
        import dpor
        VAR = contextvars.ContextVar("var", default=0)

        @dpor.model
        def model():
            loop = asyncio.new_event_loop()
            ctx = contextvars.copy_context()
            seen = [None, None]
            async def w(i):
                await asyncio.sleep(0.1)
                seen[i] = VAR.get()
                VAR.set(i + 1)
            tasks = [loop.create_task(w(i), context=ctx) for i in range(2)]
            async def run():
                await asyncio.gather(*tasks)
            loop.run_until_complete(run())
            loop.close()
            return seen
        """,
    "the precision of decimals": """
        import asyncio, decimal
        import dpor

        @dpor.model
        async def model():
            decimal.getcontext().prec = 10
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                decimal.getcontext().prec = 3
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = str(decimal.Decimal(1) / decimal.Decimal(3))
            await asyncio.gather(a(), b())
            return seen
        """,
    "a coroutine that an asynchronous context manager gives": """
        import asyncio
        import dpor

        class Shared:
            def __aenter__(self):
                return self.coroutine
            async def __aexit__(self, *_):
                pass

        @dpor.model
        async def model():
            async def c():
                await asyncio.sleep(0.1)
                return 5
            shared = Shared()
            shared.coroutine = c()
            seen = [None, None]
            async def w(i):
                await asyncio.sleep(0.1)
                try:
                    async with shared as x:
                        seen[i] = x
                except RuntimeError as e:
                    seen[i] = str(e)
            await asyncio.gather(w(0), w(1))
            return seen
        """,
    "a generator that an asynchronous iterable gives": """
        import asyncio
        import dpor

        class Feed:
            def __aiter__(self):
                return self.numbers

        @dpor.model
        async def model():
            async def generate():
                yield 1
                yield 2
            feed = Feed()
            feed.numbers = generate()
            seen = [None, None]
            async def w(i):
                await asyncio.sleep(0.1)
                async for x in feed:
                    seen[i] = x
                    break
            await asyncio.gather(w(0), w(1))
            return seen
        """,
    "an iterator that an awaitable gives": """
        import asyncio
        import dpor

        class Pause:
            def __await__(self):
                return self.steps

        @dpor.model
        async def model():
            pause = Pause()
            pause.steps = iter([None, None])
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                await pause
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = len(list(pause.steps))
            await asyncio.gather(a(), b())
            return seen
        """,
    "lists in a priority queue": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            queue = asyncio.PriorityQueue()
            first, second = [1], [2]
            queue.put_nowait((0, first))
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                first[0] = 3
            async def b():
                await asyncio.sleep(0.1)
                await queue.put((0, second))
                seen[0] = queue.get_nowait()[1] is first
            await asyncio.gather(a(), b())
            return seen
        """,
    "a list of what is waited for later": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            async def one():
                return 1
            tasks = [asyncio.create_task(one()) for _ in range(2)]
            await asyncio.gather(*tasks)
            waited, began = tasks[:1], [False]
            seen = [None, None]
            async def a():
                await asyncio.sleep(0.1)
                seen[0] = began[0]
                waited.append(tasks[1])
            async def b():
                await asyncio.sleep(0.1)
                began[0] = True
                done, _ = await asyncio.create_task(asyncio.wait(waited))
                seen[1] = len(done)
            await asyncio.gather(a(), b())
            return seen
        """,
    "a buffer that a reader is fed": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            reader, buffer = asyncio.StreamReader(), bytearray(b"a")
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                buffer[0] = 98
            async def b():
                await asyncio.sleep(0.1)
                reader.feed_data(buffer)
                seen[0] = await reader.read(1)
            await asyncio.gather(a(), b())
            return seen
        """,
    "a container that a queue and the model have": """
        import asyncio, collections
        import dpor

        class Logged(asyncio.Queue):
            def _init(self, maxsize):
                self._queue = self.items = collections.deque()

        @dpor.model
        async def model():
            queue = Logged()
            items = queue.items
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                queue.put_nowait(1)
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = len(items)
            await asyncio.gather(a(), b())
            return seen
        """,
    "the attributes of an event as a dict": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            event = asyncio.Event()
            kept = vars(event)
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                event.set()
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = kept["_value"]
            await asyncio.gather(a(), b())
            return seen
        """,
    "the text of a list as the name of a task": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            name = [1]
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                name.append(2)
            async def b():
                await asyncio.sleep(0.1)
                asyncio.current_task().set_name(name)
                seen[0] = asyncio.current_task().get_name()
            await asyncio.gather(a(), b())
            return seen
        """,
    "whether an object is a future": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            class F:
                pass
            f = F()
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                F._asyncio_future_blocking = True
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = asyncio.isfuture(f)
            await asyncio.gather(a(), b())
            return seen
        """,
    "how many weak references there are": """
        import asyncio, weakref
        import dpor

        class Box:
            pass

        @dpor.model
        async def model():
            o, box = Box(), Box()
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                box.r = weakref.ref(o)
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = weakref.getweakrefcount(o)
            await asyncio.gather(a(), b())
            return seen
        """,
    "whether a function is marked as one of coroutines": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            def f():
                pass
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                f._is_coroutine = asyncio.coroutines._is_coroutine
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = asyncio.iscoroutinefunction(f)
            await asyncio.gather(a(), b())
            return seen
        """,
    "a coroutine that an asynchronous iterator gives": """
        import asyncio
        import dpor

        class Feed:
            def __aiter__(self):
                return self
            def __anext__(self):
                return self.next

        @dpor.model
        async def model():
            async def c():
                await asyncio.sleep(0.1)
                return 5
            feed = Feed()
            feed.next = c()
            seen = [None]
            async def a():
                await asyncio.sleep(0.1)
                async for _ in feed:
                    break
            async def b():
                await asyncio.sleep(0.1)
                seen[0] = feed.next.cr_frame is None
            await asyncio.gather(a(), b())
            return seen
        """,
    "what a task group keeps, taken before the first timer": """
        import asyncio
        import dpor

        @dpor.model
        async def model():
            seen = [None]
            async def c():
                await asyncio.sleep(0.1)
            async with asyncio.TaskGroup() as group:
                kept = group._tasks
                async def w():
                    await asyncio.sleep(0.1)
                    seen[0] = len(kept)
                group.create_task(c())
                group.create_task(w())
            return seen
        """,
}

HEADER = """import asyncio
import contextvars
import ctypes
import gc
import importlib
import inspect
import linecache
import re
import sys
import tokenize

import dpor

VAR = contextvars.ContextVar("var", default=0)


class Box:
    pass


@dpor.model
async def model():
"""
_LAMBDA = "class P: __await__ = lambda self: self.it\np = P(); p.it = iter([None, None])"

# What comes first, what one task does, and what another one sees.
PAIRS = {
    "the context of a done callback": (
        "ctx = contextvars.copy_context(); f = asyncio.Future()\n"
        "f.add_done_callback(lambda _: VAR.set(5), context=ctx)",
        "f.set_result(1); await asyncio.sleep(0.1)",
        "ctx.get(VAR)",
    ),
    "what gather awaits": (_LAMBDA, "await asyncio.gather(p)", "len(list(p.it))"),
    "what wait_for awaits": (_LAMBDA, "await asyncio.wait_for(p, None)", "len(list(p.it))"),
    "what shield awaits": (_LAMBDA, "await asyncio.shield(p)", "len(list(p.it))"),
    "the next one, by default": (
        "class F: __anext__ = lambda self: self.c\nasync def c(): await asyncio.sleep(0.1)\nf = F(); f.c = c()",
        "await anext(f, None)",
        "f.c.cr_frame is None",
    ),
    "a method that is assigned later": (
        "class P:\n    def __await__(self): return iter(())\np = P(); p.it = iter([None, None]); await p\n"
        "P.__await__ = lambda self: self.it",
        "await p",
        "len(list(p.it))",
    ),
    "an iterator over another one": (
        "class P:\n    def __await__(self): return map(lambda x: x, self.base)\n"
        "p = P(); p.base = iter([None, None])",
        "await p",
        "len(list(p.base))",
    ),
    "an event that is made again": (
        "q = asyncio.Event(); q.set()",
        "asyncio.Event.__init__(q)",
        "q.is_set()",
    ),
    "an item that a method of its own takes": (
        "class Q(asyncio.Queue):\n    def steal(self): return super()._get()\nq = Q(); q.put_nowait(1)",
        "q.steal()",
        "q.qsize()",
    ),
    "a part that inspect has got": (
        "q = asyncio.Queue(); k = inspect.getattr_static(q, '_queue')",
        "q.put_nowait(1)",
        "len(k)",
    ),
    "lists with an order in a priority queue": (
        "class L(list):\n    def __lt__(self, o): return self is not X\n"
        "X, Y = L([1]), L([2]); q = asyncio.PriorityQueue(); q.put_nowait((X, 1))",
        "X[0] = 2",
        "(q.put_nowait((Y, 2)), q.get_nowait()[0] is X)[1]",
    ),
    "callbacks that are compared": (
        "class CB(list):\n    def __call__(self, _): pass\n    __hash__ = object.__hash__\n"
        "x = CB([1]); f = asyncio.Future(); f.add_done_callback(x)",
        "x.append(2)",
        "f.remove_done_callback(CB([1]))",
    ),
    "a module that is loaded": (
        "sys.modules.pop('colorsys', None)",
        "importlib.import_module('colorsys')",
        "'colorsys' in sys.modules",
    ),
    "the lines that linecache has": (
        "linecache.clearcache()",
        "linecache.getline(re.__file__, 1)",
        "re.__file__ in linecache.cache",
    ),
    "the patterns that re has": ("re.purge()", "re.compile('abc')", "len(re._cache)"),
    "memory of C": ("h = ctypes.c_int(1); p = ctypes.pointer(h)", "p[0] = 2", "h.value"),
    "a generator that reads lines": (
        r"l = iter(['a\n', 'b\n']); g = tokenize.generate_tokens(l.__next__)",
        "next(g)",
        "next(l)",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_no_order_of_two_turns_is_lost(tmp_path: Path, name: str) -> None:
    setup, one, other = PAIRS[name]
    body = f"""seen = [None]
{setup}
async def a():
    await asyncio.sleep(0.1)
    {one}
async def b():
    await asyncio.sleep(0.1)
    seen[0] = {other}
await asyncio.gather(a(), b(), return_exceptions=True)
return seen
"""
    assert_no_order_is_lost(tmp_path, HEADER + textwrap.indent(body, "    "))


def test_the_exception_of_a_cancelled_task_is_given_away_once(tmp_path: Path) -> None:
    body = """seen = [None, None]
async def c():
    await asyncio.sleep(0.1)
t = asyncio.create_task(c())
t.cancel("bye")
await asyncio.wait([t])
async def w(i):
    await asyncio.sleep(0.1)
    try:
        await t
    except asyncio.CancelledError as e:
        seen[i] = e.args
await asyncio.gather(w(0), w(1))
return seen
"""
    assert_no_order_is_lost(tmp_path, HEADER + textwrap.indent(body, "    "))


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_order_is_lost(tmp_path: Path, name: str) -> None:
    assert_no_order_is_lost(tmp_path, textwrap.dedent(PROGRAMS[name]))


def assert_no_order_is_lost(folder: Path, text: str) -> None:
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    comparison = compared(program, 20.0)
    assert comparison.joined.outcomes == comparison.single.outcomes
    assert len(comparison.single.outcomes) > 1
    assert comparison.answer is Answer.SAME
