"""Objects of the standard library that two threads use: what C code keeps in them, what others of their class read of
them, and what stand-ins keep.

Plain Python says what two expressions give in either order. A check must find both.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, Verdict

HEADER = """
import asyncio, collections, concurrent.futures, csv, functools, http.cookies, io, ipaddress, os, pickle, queue
import sqlite3, struct, threading, types, unittest.mock, dpor
import xml.etree.ElementTree as ET

class Named(dict):
    def rename(self, name):
        self.name = name

class Plain:
    pass

class Failure(ValueError):
    def __init__(self, text):
        super().__init__(text)

lock = threading.Lock()

def locked(function):
    with lock:
        return function()

def text():
    return io.TextIOWrapper(io.BytesIO(b"a"))

def file():
    with open("f", "w") as made:
        made.write("a")
    return open("f")

class Returning(threading.Thread):
    _result = None

    def __init__(self, target, *args):
        super().__init__(target=target, args=args)

    def run(self):
        self._result = self._target(*self._args)

async def in_executor():
    return await asyncio.get_running_loop().run_in_executor(None, pow, 2, 2)

async def from_a_thread():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    threading.Thread(target=loop.call_soon_threadsafe, args=(future.set_result, 4)).start()
    return await future

async def by_a_thread():
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    async def work():
        done.set()
    thread = threading.Thread(target=lambda: asyncio.run_coroutine_threadsafe(work(), loop))
    thread.start()
    await done.wait()
    thread.join()
    return 4

class Own(types.SimpleNamespace):
    pass

class Connection(sqlite3.Connection):
    def execute(self, *args):
        return super().execute(*args)

def database(factory=sqlite3.Connection):
    made = sqlite3.connect(":memory:", check_same_thread=False, factory=factory)
    made.execute("create table t(a)")
    return made

def count(database, cursor=sqlite3.Cursor):
    return database.cursor(cursor).execute("select count(*) from t").fetchone()[0]

def add(database):
    database.execute("insert into t values(1)")

def parser():
    made = collections.namedtuple("Parser", "parser events")(ET.XMLParser(target=ET.TreeBuilder()), collections.deque())
    made.parser._setevents(made.events, ("end",))
    return made

def attempt(function):
    try:
        return function()
    except (TypeError, ValueError, RuntimeError, sqlite3.Error) as error:
        return type(error).__name__

def both(*functions):
    threads = [dpor.spawn(function) for function in functions]
    for thread in threads:
        thread.join()
"""
# What is shared, and what two threads do with it.
CASES = {
    "text of an object in C": ("types.SimpleNamespace(a=1)", "s.__str__()", "setattr(s, 'a', 2)"),
    "format of an object in C": ("types.SimpleNamespace(a=1)", "s.__format__('')", "setattr(s, 'a', 2)"),
    "text by object": ("Own(a=1)", "object.__str__(s)", "setattr(s, 'b', 2)"),
    "text by a function of the library": ("collections.ChainMap({'a': 1})", "s.__str__()", "s.pop('a')"),
    "a writer": (
        "(lambda o: (csv.writer(o), o))(io.StringIO())",
        "s[1].getvalue()",
        "s[0].writerow('a') and None",
    ),
    "a pickler": ("(lambda o: (pickle.Pickler(o), o))(io.BytesIO())", "len(s[1].getvalue())", "s[0].dump(1)"),
    "a parser": ("parser()", "len(s.events)", "s.parser.feed('<a/>')"),
    "a pulling parser": ("ET.XMLPullParser()", "len(list(s.read_events()))", "s.feed('<a/>')"),
    "a view of bytes": ("memoryview(b'ab')", "attempt(lambda: s.nbytes)", "s.release()"),
    "a view of a bytearray": ("memoryview(bytearray(b'ab'))", "attempt(s.tobytes)", "s.__exit__()"),
    "the dict of a dict": ("Named()", "dict(s.__dict__)", "s.rename(1)"),
    "an item of the dict of a dict": ("Named()", "getattr(s, 'name', 0)", "vars(s).update(name=1)"),
    "a cookie": ("http.cookies.Morsel()", "s.copy().key", "s.set('c', 'd', 'e')"),
    "an exception that is made anew": ("ValueError('a')", "s.args", "s.__init__('b')"),
    "an exception of a class that is made anew": ("Failure('a')", "s.args", "s.__init__('b')"),
    "an exception that gets a state": ("ValueError('a')", "getattr(s, 'b', 0)", "s.__setstate__({'b': 1})"),
    "an attribute of a method's function": (
        "Named()",
        "getattr(s.rename, 'calls', 0)",
        "setattr(Named.rename, 'calls', 1)",
    ),
    "the name of a function": ("(lambda: None)", "'new' in repr(s)", "setattr(s, '__qualname__', 'new')"),
    "the name of a method": (
        "Named()",
        "'new' in str([s.rename])",
        "setattr(Named.rename, '__qualname__', 'new')",
    ),
    "the name of a class": ("Plain()", "'new' in f'{s}'", "setattr(Plain, '__qualname__', 'new')"),
    "the dict of an exception": ("ValueError('a')", "len(s.__reduce__())", "vars(s)"),
    "the dict of a partial": ("functools.partial(int)", "s.__reduce__()[2][3]", "s.__dict__ and None"),
    "a class without functions": ("unittest.mock.Mock(return_value=1)", "s.called", "s()"),
    "an object that is set once": (
        "ipaddress.ip_network('1.2.3.0/30')",
        "attempt(lambda: int(s[1]))",
        "setattr(s, 'network_address', ipaddress.ip_address('4.0.0.0'))",
    ),
    "an attribute that is computed once": (
        "ipaddress.ip_network('1.2.3.0/30')",
        "'hostmask' in vars(s)",
        "s.hostmask and None",
    ),
    "a statement of a connection that is closed": (
        "database()",
        "attempt(lambda: s.executemany('a', 'b'))",
        "s.close()",
    ),
    "a limit": ("database()", "s.getlimit(1)", "s.setlimit(1, 2) and None"),
    "a count of changes": ("database()", "s.total_changes", "add(s)"),
    "a factory of rows": ("database()", "s.row_factory is len", "setattr(s, 'row_factory', len)"),
    "the size of a cursor": ("database().cursor()", "s.arraysize", "setattr(s, 'arraysize', 7)"),
    "a connection of a class": ("database(Connection)", "count(s)", "add(s)"),
    "a cursor of a connection": (
        "database()",
        "sqlite3.Cursor(s).execute('select * from t').fetchall()",
        "add(s)",
    ),
    "a copy": (
        "(lambda one, other: (add(one), one.commit(), (one, other))[2])(database(), database())",
        "count(s[1])",
        "attempt(lambda: s[0].backup(target=s[1]))",
    ),
    "an attribute of a file": ("open('f', 'w')", "hasattr(s, 'mine')", "setattr(s, 'mine', 7)"),
    "a text that is detached": ("text()", "attempt(lambda: s.seek(0))", "s.detach() and None"),
    "the mode of a file": ("open('f', 'w')", "s.mode", "setattr(s, 'mode', 'q')"),
    "the buffering of a file": (
        "open('f', 'w')",
        "s.line_buffering",
        "s.reconfigure(line_buffering=True)",
    ),
    "the newlines of a file": (
        "(open('f', 'w').write('a\\n'), open('f'))[1]",
        "s.newlines is None",
        "s.read() and None",
    ),
    "the buffer of a file": ("open('f', 'w')", "attempt(lambda: s.name)", "s.detach() and None"),
    "entries of a folder": ("(open('f', 'w'), os.scandir('.'))[1]", "len(list(s))", "s.close()"),
    "a name": ("threading.Thread(target=len, args=('a',))", "s.name == 'x'", "setattr(s, 'name', 'x')"),
    "a daemon": ("threading.Thread(target=len, args=('a',))", "s.daemon", "setattr(s, 'daemon', True)"),
    "a daemon that runs": (
        "threading.Thread(target=len, args=('a',))",
        "attempt(lambda: setattr(s, 'daemon', True))",
        "s.start()",
    ),
    "a queue that takes any time limit": ("queue.SimpleQueue()", "s.empty()", "s.put('c', 'd', 'e')"),
    "a number": ("threading.Thread(target=len, args=('a',))", "s.ident is None", "s.start()"),
    "a text": ("threading.Thread(target=len, args=('a',))", "'initial' in repr(s)", "s.start()"),
}
# Attributes that two threads make come in an order.
ORDERS = {
    "attributes": ("setattr(s, 'b', 1), list(vars(s))", "setattr(s, 'c', 1)"),
    "an attribute and an item": ("setattr(s, 'b', 1), list(vars(s))", "vars(s).update(c=1)"),
    "items": ("s.__dict__.__setitem__('b', 1), list(vars(s))", "s.__dict__.__setitem__('c', 1)"),
    "attributes as text": ("setattr(s, 'b', 1), repr(s)", "setattr(s, 'c', 1)"),
}
REFUSED = {
    "a property": ("property(len)", "s.__doc__", "setattr(s, '__doc__', 'x')"),
    "a key": ("functools.cmp_to_key(int)(5)", "s.obj", "setattr(s, 'obj', 7)"),
    "a class method": ("classmethod(len)", "s.__doc__", "setattr(s, 'mine', 7)"),
    "the dict of a file": ("open('f', 'w')", "hasattr(s, 'mine')", "s.__dict__.update(mine=1)"),
    "a method of a file": ("open('f', 'w')", "s.write('abcd')", "setattr(s, 'write', lambda text: 7)"),
    "a method of a cursor": ("database().cursor()", "s.close()", "setattr(s, 'close', len)"),
    "the dict of a connection": ("database()", "hasattr(s, 'mine')", "vars(s).update(mine=1)"),
    "a property that is made anew": ("property(len)", "s.fget", "s.__init__()"),
    "a structure that is made anew": ("struct.Struct('i')", "s.format", "s.__init__('b')"),
    "a part of a queue": ("queue.Queue()", "s.put(1)", "setattr(s, 'not_full', None)"),
    "a part of a barrier": ("threading.Barrier(1)", "s.wait()", "setattr(s, '_action', len)"),
    "the dict of an event": ("threading.Event()", "s.set()", "vars(s)"),
    "the state of a semaphore": ("threading.Semaphore()", "s.acquire()", "s.__getstate__()"),
    "a thread that is made anew": ("threading.Thread(name='a')", "s.name", "s.__init__(name='b')"),
    "a semaphore that is made anew": ("threading.Semaphore()", "s.acquire()", "s.__init__(2)"),
    "the environment": ("os.environ", "hasattr(s, 'mine')", "setattr(s, 'mine', 1)"),
    "a blob": ("database()", "s.total_changes", "s.blobopen('t', 'a', 1)"),
}
# Objects that one thread uses at a time, with what the assumption names.
BOUND = {
    "a queue": ("asyncio.Queue()", "s.qsize()", "s.put_nowait(1)", "asyncio.Queue"),
    "an event": ("asyncio.Event()", "s.is_set()", "s.set()", "asyncio.Event"),
    "the items of a queue": ("asyncio.Queue()", "len(s._queue)", "s.put_nowait(1)", "asyncio.Queue"),
    "the dict of a queue": ("asyncio.Queue()", "len(vars(s))", "s.put_nowait(1)", "asyncio.Queue"),
    "the text of a queue": ("asyncio.Queue()", "repr(s)", "s.put_nowait(1)", "asyncio.Queue"),
    "a property of a queue": ("asyncio.Queue()", "s.maxsize", "s.__init__(1)", "asyncio.Queue"),
    "text that is detached": (
        "text()",
        "attempt(lambda: s.seek(0))",
        "s.detach() and None",
        "io.TextIOWrapper",
    ),
    "a queue that is made anew": ("asyncio.Queue()", "s.__init__(1)", "s.put_nowait(1)", "asyncio.Queue"),
    "text that is read": ("text()", "s.readline()", "s.readline()", "io.TextIOWrapper"),
    "a text file that is read": ("file()", "s.readline()", "s.close()", "io.TextIOWrapper"),
    "a future": ("asyncio.new_event_loop().create_future()", "s.done()", "s.set_result(1)", "asyncio.Future"),
}


@pytest.fixture
def either(tmp_path: Path) -> EitherOrder:
    """Checks of two expressions on an object, with the names of this file's header."""
    return EitherOrder(HEADER, tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_a_check_finds_what_both_orders_give(either: EitherOrder, name: str) -> None:
    either.require_both(*CASES[name])


@pytest.mark.parametrize(
    "algorithm", ["optimal", "source", "parsimonious", "graph", "value-centric", "exhaustive"]
)
@pytest.mark.parametrize("name", ORDERS)
def test_attributes_that_threads_make_come_in_either_order(tmp_path: Path, name: str, algorithm: str) -> None:
    path = tmp_path / "model.py"
    for number, order in enumerate((["b", "c"], ["c", "b"])):
        first, second = ORDERS[name]
        path.write_text(f"""{HEADER}
@dpor.model
def model{number}():
    s = types.SimpleNamespace()
    def one():
        {first}
    def other():
        {second}
    both(one, other)
    assert list(vars(s)) != {order}
""")
        options = {"algorithm": algorithm}
        result = check_model(CheckRequest(str(path), f"model{number}", str(tmp_path), options=options))
        assert result.verdict is Verdict.VIOLATED


def test_a_thread_that_is_copied_may_end_meanwhile(either: EitherOrder) -> None:
    copied = "attempt(lambda: __import__('copy').deepcopy(s))"
    for unwanted in ("['RuntimeError', None]", "['TypeError', None]"):
        result = either.check("threading.Thread(target=len, args=('a',))", copied, "s.start()", unwanted)
        assert result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_sees_is_refused(either: EitherOrder, name: str) -> None:
    made, first, second = REFUSED[name]
    with pytest.raises(DporError) as caught:
        either.check(made, first, second)
    assert caught.value.code is Code.UNCONTROLLED


UNSEEN = {
    "the state of a future": ("concurrent.futures.Future()", "s._state", "s.set_result(1)"),
    "all of a future": ("concurrent.futures.Future()", "s.__getstate__()", "s.set_result(1)"),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_an_object_keeps_for_itself_makes_an_assumption(either: EitherOrder, name: str) -> None:
    found = {(one.kind, one.subject) for one in either.check(*UNSEEN[name]).assumptions}
    assert found == {(AssumptionKind.UNSEEN_CODE, "concurrent.futures")}


def test_the_dict_of_a_future_is_refused(either: EitherOrder) -> None:
    with pytest.raises(DporError, match="__dict__") as caught:
        either.check("concurrent.futures.Future()", "dict(vars(s))", "s.set_result(1)")
    assert caught.value.code is Code.UNCONTROLLED


def test_what_a_class_of_the_model_keeps_makes_no_assumption(either: EitherOrder) -> None:
    assert not either.check("Returning(len, 'a')", "s._result", "s.run()").assumptions


@pytest.mark.parametrize("name", BOUND)
def test_two_threads_that_use_what_is_made_for_one_make_an_assumption(either: EitherOrder, name: str) -> None:
    made, first, second, subject = BOUND[name]
    result = either.check(made, first, second)
    found = {(one.kind, one.subject) for one in result.assumptions}
    assert found == {(AssumptionKind.THREAD_UNSAFE, subject)}


GUARDED = {
    "a queue": ("asyncio.Queue()", "locked(s.qsize)", "locked(lambda: s.put_nowait(1))"),
    "a file": ("file()", "locked(s.readline)", "locked(s.readline)"),
    "a future as a key": ("concurrent.futures.Future()", "({s: 1}[s], str([s]))", "s.set_result(1)"),
    "a queue in a text": ("queue.Queue()", "str([s])", "s.put(1)"),
    "a file that is written": ("open('f', 'w')", "s.write('a')", "s.write('b')"),
}


@pytest.mark.parametrize("name", GUARDED)
def test_what_is_seen_or_guarded_leaves_nothing_to_assume(either: EitherOrder, name: str) -> None:
    assert not either.check(*GUARDED[name]).assumptions


def test_threads_that_each_have_a_loop_make_no_assumption(either: EitherOrder) -> None:
    run = "asyncio.run((lambda q: asyncio.wait_for(q.put(1), None))(asyncio.Queue()))"
    result = either.check("None", run, run)
    assert result.assumptions == ()
    assert result.verdict is Verdict.VERIFIED


HANDED_OVER = {
    "by a pool": "asyncio.run(asyncio.wait_for(asyncio.to_thread(pow, 2, 2), None))",
    "by an executor": "asyncio.run(in_executor())",
    "to a loop": "asyncio.run(from_a_thread())",
    "a coroutine": "asyncio.run(by_a_thread())",
}


@pytest.mark.parametrize("name", HANDED_OVER)
def test_what_is_handed_over_to_a_loop_makes_no_assumption(either: EitherOrder, name: str) -> None:
    result = either.check("None", HANDED_OVER[name], "None", "[5, None]")
    assert (result.verdict, result.assumptions) == (Verdict.VERIFIED, ())


def test_a_database_keeps_its_classes(either: EitherOrder) -> None:
    made = "database()"
    first = "(type(s) is sqlite3.Connection, isinstance(s.cursor(), sqlite3.Cursor), list(s.iterdump())[1])"
    unwanted = repr([(True, True, "CREATE TABLE t(a);"), None])
    assert ast.literal_eval(unwanted)
    assert either.check(made, first, "None", unwanted).verdict is Verdict.VIOLATED


def test_an_entry_of_a_folder_cannot_be_changed(either: EitherOrder) -> None:
    first = "attempt(lambda: setattr(s, 'name', 'x')) if False else s.name"
    result = either.check("(open('f', 'w'), next(os.scandir('.')))[1]", first, "setattr(s, 'name', 'x')", "")
    assert result.reason is None
    assert result.verdict is Verdict.VIOLATED


def test_what_runs_in_a_context_takes_no_more_executions(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("""
import contextvars, dpor

variable = contextvars.ContextVar("variable")

def model(run):
    shared = []
    variable.set(shared)
    def work(number):
        shared.append(number)
        shared.append(number)
    threads = [dpor.spawn(run(), work, number) for number in range(2)]
    for thread in threads:
        thread.join()
    assert len(shared) == 4

@dpor.model
def plain():
    model(lambda: lambda work, number: work(number))

@dpor.model
def in_contexts():
    model(lambda: contextvars.copy_context().run)
""")
    plain, own = (
        check_model(CheckRequest(str(path), name, str(tmp_path))) for name in ("plain", "in_contexts")
    )
    assert (own.verdict, own.executions) == (plain.verdict, plain.executions) == (Verdict.VERIFIED, 6)
