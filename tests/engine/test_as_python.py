"""What a program of one thread sees of itself is what it sees in plain Python, where each program runs too."""

from __future__ import annotations

import textwrap

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, Verdict

PROGRAMS = {
    "the module of each value of a namespace": """
        for value in list(globals().values()):
            if isinstance(value, type(len)):
                assert not getattr(value, "__module__", "").startswith("somewhere.")
    """,
    "what gather gives": """
        import asyncio
        async def main():
            gathered = asyncio.gather(asyncio.sleep(0), asyncio.sleep(1))
            assert isinstance(gathered, asyncio.Future) and asyncio.isfuture(gathered)
            assert type(gathered).__name__ == "_GatheringFuture" and type(gathered).__module__ == "asyncio.tasks"
            gathered.cancel()
            try:
                await gathered
            except asyncio.CancelledError:
                return isinstance(gathered.exception(), asyncio.CancelledError)
        assert asyncio.run(main())
    """,
    "a task of the class that asyncio has in Python": """
        import asyncio
        async def work():
            await asyncio.sleep(0.1)
            return 5
        async def main():
            return await asyncio.tasks._PyTask(work(), loop=asyncio.get_running_loop())
        assert asyncio.run(main()) == 5
    """,
    "an operator in place, of a class with code for it": """
        class Updated:
            def __init__(self): self.parts = []
            def __imod__(self, other): return "imod"
            def __iadd__(self, other): return "iadd"
            def __getitem__(self, key): return 5
        for operand in 5, [5], Updated():
            updated = Updated()
            updated %= operand
            assert updated == "imod"
            updated = Updated()
            updated += operand
            assert updated == "iadd"
        text = "%s"
        text %= [1]
        assert text == "[1]"
    """,
    "an object that has one like it for __call__": """
        class Endless: pass
        Endless.__call__ = Endless()
        try:
            Endless()()
        except RecursionError as error:
            assert "maximum recursion depth exceeded" in str(error)
        else:
            raise AssertionError("it ended")
    """,
    "a metaclass whose mro() looks at the class that is being made": """
        looked = []
        class Meta(type):
            def mro(cls):
                looked.append(getattr(cls, "kind", None))
                looked.append([base.__name__ for base in cls.__bases__])
                looked.append(cls.__mro__)
                return super().mro()
        class Base:
            kind = "base"
        class Made(Base, metaclass=Meta):
            pass
        assert looked == [None, ["Base"], None], looked
    """,
    "keys that code of the program compares": """
        asked = []
        class Key(int):
            def __eq__(self, other):
                asked.append(int(other))
                return NotImplemented
            def __hash__(self):
                return 3
        found, group = {Key(4): "value"}, {Key(4)}
        assert 3 not in found and asked == [3], asked
        found[3] = 1
        found.setdefault(3, 2)
        assert found[3] == 1 and len(asked) == 4, asked
        del found[3], asked[:]
        assert 3 not in group and asked == [3], asked
        group.add(3)
        assert len(group) == 2 and asked == [3, 3], asked
        class Clearing(Key):
            __hash__ = Key.__hash__
            def __eq__(self, other):
                cleared.clear()
                return NotImplemented
        cleared = {Clearing(4): 1}
        assert 3 not in cleared and not cleared
    """,
    "a class whose namespace has a key that code compares": """
        class Key:
            def __hash__(self):
                return hash("mykey")
            def __eq__(self, other):
                Made.__bases__ = (Other,)
        class Base:
            mykey = "of Base"
        class Other:
            mykey = "of Other"
        Made = type("Made", (Base,), {Key(): 5})
        assert Made.mykey == "of Base" and Made.__bases__ == (Other,)
    """,
    "a metaclass that is asked for each attribute of its classes": """
        asked = []
        class Meta(type):
            def __getattribute__(cls, name):
                asked.append(name)
                return super().__getattribute__(name)
            __dict__ = property(lambda cls: asked.append("dict"))
        class Made(metaclass=Meta):
            size = 1
            def method(self):
                return self.size
        made = Made()
        made.size = 2
        assert made.method() == 2 and {made: 1}[made] == 1 and asked == [], asked
        assert Made.size == 1 and asked == ["size"], asked
    """,
    "a generator that the object of a `yield from` gives": """
        class Box:
            def __iter__(self):
                got = yield 1
                return ("end", got)
        class Once:
            def __iter__(self):
                return self
            def __next__(self):
                raise StopIteration("value")
        def run():
            found = yield from Box()
            yield found, (yield from Once())
        running = run()
        assert next(running) == 1
        assert running.send(5) == (("end", 5), "value")
        import asyncio
        loop = asyncio.new_event_loop()
        future = asyncio.Future(loop=loop)
        def wait():
            yield (yield from future)
        waiting = wait()
        next(waiting)
        future.set_result(42)
        assert next(waiting) == 42
        loop.close()
    """,
    "a manager whose methods a descriptor binds": """
        bound = []
        class Binding:
            def __init__(self, result):
                self.result = result
            def __get__(self, owner, kind):
                bound.append(self.result)
                return lambda *leaving: self.result
        class Manager:
            __enter__ = Binding(1)
            __exit__ = Binding(True)
        with Manager() as found:
            assert found == 1 and bound == [1, True], bound
            raise ValueError
        assert bound == [1, True]
    """,
    "an iterator of a class that the interpreter fills in late": """
        import inspect, itertools, sys
        def work():
            return 1
        position = next(itertools.islice(work.__code__.co_positions(), 1, None))
        assert len(position) == 4 and inspect.getframeinfo(sys._getframe()).positions is not None
    """,
    "where a future and a task were made": """
        import asyncio, sys
        def made_at(item):
            return item._source_traceback[-1].lineno
        async def task():
            asyncio.get_running_loop().set_debug(True)
            future, line = asyncio.Future(), sys._getframe().f_lineno
            assert made_at(future) == line
            coroutine = asyncio.sleep(0)
            made, line = asyncio.Task(coroutine), sys._getframe().f_lineno
            assert made_at(made) == line
            await made
        asyncio.run(task())
    """,
    "modules of a class that has its own way with attributes": """
        import types
        asked = []
        class Module(types.ModuleType):
            def __getattribute__(self, name):
                asked.append(("get", name))
                return super().__getattribute__(name)
            def __setattr__(self, name, value):
                asked.append(("set", name))
                super().__setattr__(name, value)
            def __delattr__(self, name):
                asked.append(("delete", name))
                super().__delattr__(name)
        module = Module("a")
        module.size = 1
        module.size
        del module.size
        assert asked == [("set", "size"), ("get", "size"), ("delete", "size")], asked
        unnamed = types.ModuleType.__new__(types.ModuleType)
        assert not hasattr(unnamed, "__name__") and not unnamed.__dict__
        unnamed.size = 1
        assert unnamed.__dict__ == {"size": 1}
        class Shown(types.ModuleType):
            __dict__ = property(lambda self: "no dict")
        shown = Shown("shown")
        shown.size = 2
        assert shown.__dict__ == "no dict" and shown.size == 2
    """,
    "an expression that is evaluated from text": """
        import collections
        value = collections.deque([{"a": 1}, (2, None), "x"])
        assert eval(repr(value.copy())[len("deque("):-1]) == list(value)
        deque = collections.deque
        assert eval(repr(value)) == value
        assert eval(" 1 + 1") == 2 and eval(b"'x'") == "x"
        assert eval("dpor.model.__name__", globals()) == "model"
        def counted(value=value):
            count = 1
            def add():
                nonlocal count
                count += 1
                return count
            add()
            return eval("[add(), value[1]]")
        assert counted() == [3, (2, None)]
        class Made:
            size = 3
            double = eval("size * 2")
        assert Made.double == 6
        assert eval("[n + 1 for n in range(3) if n != 1]") == [1, 3]
        assert "__dpor_0__" not in locals()
        for wrong in "1 +", "nothing_of_that_name", "(lambda: value)()", "x\\0":
            try:
                eval(wrong)
            except (SyntaxError, NameError, ValueError) as error:
                assert type(error).__name__ in ("SyntaxError", "NameError", "ValueError")
            else:
                raise AssertionError(wrong)
    """,
    "a value that is sent to a generator which delegates": """
        class Steps:
            def __iter__(self): return self
            def __next__(self): return "next"
            def send(self, value): return ("sent", value)
            def throw(self, error): return ("thrown", str(error))
        def through(source):
            yield from source
        taking = through(Steps())
        assert [next(taking), taking.send(1), taking.throw(ValueError("x"))] == ["next", ("sent", 1), ("thrown", "x")]
        for source, name in ("ab", "str_ascii_iterator"), ([1, 2], "list_iterator"), ({1: 2}, "dict_keyiterator"):
            taking = through(source)
            next(taking)
            try:
                taking.send(1)
            except AttributeError as error:
                assert str(error) == f"'{name}' object has no attribute 'send'", error
            else:
                raise AssertionError(name)
            taking = through(source)
            next(taking)
            try:
                taking.throw(ValueError("x"))
            except ValueError as error:
                assert str(error) == "x"
            else:
                raise AssertionError(name)
    """,
    "what a class finds asked of its objects where dir() is": """
        asked = []
        class Base:
            def __getattribute__(self, name):
                asked.append(name)
                return object.__getattribute__(self, name)
        class Listed(Base):
            def __dir__(self): return []
        assert dir(Listed()) == [] and not asked, asked
        dir(Base())
        assert asked == ["__dict__", "__class__"], asked
    """,
    "stores to views that only show": """
        import dataclasses
        @dataclasses.dataclass
        class Data:
            field: int
        # One object for all fields without metadata.
        metadata = dataclasses.fields(Data)[0].metadata
        for view in metadata, vars(Data), {1: 2}.keys():
            try:
                view["key"] = 1
            except TypeError as error:
                assert str(error).startswith(f"'{type(view).__name__}' object")
            else:
                raise AssertionError("it took the item")
            try:
                del view["key"]
            except TypeError as error:
                assert str(error).startswith(f"'{type(view).__name__}' object")
            else:
                raise AssertionError("it lost the item")
        shown = bytearray(2)
        memoryview(shown)[1] = 3
        assert shown == bytes([0, 3])
    """,
    "the frames of an exception that a task ends with": """
        import asyncio, traceback
        async def fail(error):
            await asyncio.sleep(0)
            raise error
        async def frames(error):
            task = asyncio.ensure_future(fail(error))
            await asyncio.wait([task])
            return [frame.name for frame in traceback.extract_tb(task.exception().__traceback__)]
        assert asyncio.run(frames(KeyError())) == ["fail"]
    """,
    "a recursion without end in loops": """
        def call(depth):
            turn = 0
            while turn < 3:
                turn += 1
                if turn == 3:
                    call(depth + 1)
        try:
            call(0)
        except RecursionError as error:
            assert "maximum recursion depth exceeded" in str(error)
        else:
            raise AssertionError("it ended")
    """,
    "classes of locks that take no arguments and have no subclasses": """
        import sys, threading, types, warnings
        def raised(call):
            try:
                call()
            except TypeError as error:
                return str(error)
        def derive():
            class Derived(threading.Lock): pass
        assert "argument" in raised(lambda: threading.Lock(1))
        assert raised(derive)
        assert raised(lambda: threading.RLock | None)
        lock = threading.Lock()
        if sys.version_info >= (3, 13):
            assert isinstance(threading.Lock | None, types.UnionType)
            assert isinstance(lock, threading.Lock | int)
        else:
            assert raised(lambda: threading.Lock | None)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with threading.RLock(1):
                pass
        assert len(told) == (sys.version_info >= (3, 13)), told
    """,
    "the names of functions of the library": """
        import os, threading, time
        for function, module, name in (
            (threading.current_thread, "threading", "current_thread"),
            (threading.get_ident, "_thread", "get_ident"),
            (threading.enumerate, "threading", "enumerate"),
            (threading.stack_size, "_thread", "stack_size"),
            (time.sleep, "time", "sleep"),
            (time.perf_counter, "time", "perf_counter"),
            (os.getcwd, os.name if os.name == "posix" else "nt", "getcwd"),
        ):
            shown = function.__module__, function.__name__, function.__qualname__
            assert shown == (module, name, name), shown
    """,
    "what a condition does with its lock while it waits": """
        import threading
        class Waiting(threading.Condition):
            def wait(self, timeout=None):
                state = self._release_save()
                self._acquire_restore(state)
                return state
        for lock in threading.RLock(), threading.Lock():
            with Waiting(lock) as taken:
                pass
            waiting = Waiting(lock)
            with waiting:
                assert (waiting.wait() is None) == (lock is waiting._lock and not hasattr(lock, "_release_save"))
                assert waiting._is_owned()
            try:
                waiting._release_save()
            except RuntimeError:
                continue
            raise AssertionError("it released a lock that nobody has")
    """,
    "a descriptor of the own process, where the system has them": """
        import os
        if hasattr(os, "pidfd_open"):
            try:
                descriptor = os.pidfd_open(os.getpid(), 0)
            except PermissionError:
                pass
            else:
                os.fstat(descriptor)
                os.close(descriptor)
                try:
                    os.close(descriptor)
                except OSError:
                    pass
                else:
                    raise AssertionError("it was closed twice")
    """,
    "what is run as it completes is asked for when the first is": """
        import asyncio, inspect, sys
        async def answer(): return 42
        async def ask():
            return [await one for one in asyncio.as_completed([answer()])]
        assert asyncio.run(ask()) == [42]
        assert inspect.isgeneratorfunction(asyncio.as_completed) == (sys.version_info < (3, 13))
        coroutine = answer()
        try:
            list(asyncio.as_completed([coroutine]))
        except RuntimeError as error:
            assert "event loop" in str(error)
        else:
            raise AssertionError("it found a loop")
        coroutine.close()
    """,
    "tasks that are registered by the functions in C": """
        import _asyncio, asyncio
        from asyncio import tasks
        class TaskLike:
            def get_loop(self): return loop
            def done(self): return False
        loop, task = object(), TaskLike()
        for module in tasks, _asyncio:
            module._register_task(task)
            assert tasks.all_tasks(loop) == {task}
            module._unregister_task(task)
            assert tasks.all_tasks(loop) == set()
        assert tasks._c_register_task in (tasks._register_task, _asyncio._register_task)
    """,
    "tasks that begin at once": """
        import asyncio
        seen = []
        async def child():
            seen.append(len(asyncio.all_tasks()))
            await asyncio.sleep(0)
            seen.append(asyncio.current_task() in asyncio.all_tasks())
        async def parent():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            task = asyncio.create_task(child())
            assert type(task) is asyncio.Task
            seen.append(len(asyncio.all_tasks()))
            await task
        if hasattr(asyncio, "eager_task_factory"):
            asyncio.run(parent())
            assert seen == [2, 2, True], seen
    """,
    "numbers in the names of threads that it gives itself": """
        import threading
        from unittest import mock
        def work(): pass
        number = int(threading.Thread().name.removeprefix("Thread-"))
        with mock.patch.object(threading, "_counter", return_value=70):
            assert threading.Thread().name == "Thread-70"
            assert threading.Thread(target=work).name == "Thread-70 (work)"
        assert threading.Thread().name == f"Thread-{number + 1}"
    """,
}


def model(program: str) -> str:
    return f"import dpor\n\n\n@dpor.model\ndef model():\n{textwrap.indent(textwrap.dedent(program), '    ')}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_sees_what_it_sees_in_plain_python(name, tmp_path):
    text = model(PROGRAMS[name])
    plain: dict[str, object] = {}
    exec(compile(text, "plain.py", "exec"), plain)
    plain["model"]()
    file = tmp_path / "model.py"
    file.write_text(text, encoding="utf-8")
    result = check_model(CheckRequest(str(file), "model", str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1), result.violations


def test_modules_that_are_loaded_afresh_may_run_code_from_text(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        textwrap.dedent(
            """
            import dpor

            class State:
                count = 0

            made = {}
            exec("def added(x):\\n    return x + 1", made)
            number = eval("1 + 1")

            @dpor.model
            def model():
                State.count += number
                assert made["added"](State.count) == 3
                threads = [dpor.spawn(lambda: setattr(State, "count", 0)) for _ in range(2)]
                for thread in threads:
                    thread.join()
            """
        ),
        encoding="utf-8",
    )
    assert check_model(CheckRequest(str(file), "model", str(tmp_path))).verdict is Verdict.VERIFIED


EVALUATED = """
import dpor

total = 0

class Box:
    content = 0

box = Box()


def store():
    box.content = 1


@dpor.model
def attributes():
    seen = []
    threads = [dpor.spawn(store), dpor.spawn(lambda: seen.append(eval("box.content")))]
    for thread in threads:
        thread.join()
    assert seen == [0]


def rebind():
    global total
    total = 1


@dpor.model
def variables():
    seen = []
    threads = [dpor.spawn(rebind), dpor.spawn(lambda: seen.append(eval("total", globals())))]
    for thread in threads:
        thread.join()
    assert seen == [0]


@dpor.model
def items():
    seen, found = [0], []
    def change():
        seen[0] = 1
    def look():
        here = seen
        found.append(eval("(lambda: 0)() + here[0]"))
    threads = [dpor.spawn(change), dpor.spawn(look)]
    for thread in threads:
        thread.join()
    assert found == [0]
"""


@pytest.mark.parametrize("name", ["attributes", "variables", "items"])
def test_what_an_expression_from_text_reads_is_seen(name, tmp_path):
    file = tmp_path / "model.py"
    file.write_text(EVALUATED, encoding="utf-8")
    assert check_model(CheckRequest(str(file), name, str(tmp_path))).verdict is Verdict.VIOLATED


SHARED = """
count = 1
read = lambda: count
count = 2
eval("count")
"""


@pytest.mark.parametrize(
    "evaluated",
    ['eval("x", {"x": 1})', 'eval("x", globals(), {"x": 1})', 'eval("(y := 1)")', 'exec("x = 1")', SHARED],
)
def test_text_whose_variables_cannot_be_seen_is_refused(evaluated, tmp_path):
    file = tmp_path / "model.py"
    file.write_text(model(evaluated), encoding="utf-8")
    with pytest.raises(DporError) as raised:
        check_model(CheckRequest(str(file), "model", str(tmp_path)))
    assert raised.value.code is Code.UNCONTROLLED
