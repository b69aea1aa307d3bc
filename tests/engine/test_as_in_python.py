"""What a program can see of threads, primitives and thread-local data is the same as a model and in plain Python.

The plain program runs in a process of its own: other tests of this one leave threads behind.
"""

from __future__ import annotations

import queue
import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import ModuleType

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult

HEADER = """
import _queue, _thread, copy, os, pickle, queue, select, threading, time, warnings

def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def in_thread(function, *arguments):
    found = []
    thread = threading.Thread(target=lambda: found.append(attempt(function, *arguments)))
    thread.start()
    thread.join()
    return found[0]

def warned(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = attempt(function)
    return found, [(one.category.__name__, str(one.message)) for one in caught]

def holding(condition, function, *arguments):
    with condition:
        return attempt(function, *arguments)

class Own(Exception):
    pass
"""

SAME = {
    "values that a semaphore does not take": """
        made = threading.Semaphore, threading.BoundedSemaphore
        return [attempt(one, value) for one in made for value in (None, "x", [], -1)]
    """,
    "what says whether to wait for a lock": """
        made = threading.Lock, threading.RLock
        return [attempt(one().acquire, value) for one in made for value in ("x", None, 1.5, 2, True)]
    """,
    "a cache of what cannot be called": """
        import functools
        return attempt(functools.cache, 3), attempt(functools.lru_cache(maxsize=2), "x")
    """,
    "the attributes that a queue shows": """
        own = queue.Queue()
        return [(name, hasattr(own, name)) for name in ("maxsize", "unfinished_tasks", "is_shutdown", "shutdown")]
    """,
    "a task of nothing": """
        import asyncio

        async def inside():
            return [attempt(asyncio.Task, value) for value in (None, "x", 3)]
        return asyncio.run(inside())
    """,
    "a local of _thread": """
        local = _thread._local()
        local.x = 1
        return in_thread(hasattr, local, "x"), threading.local is _thread._local, type(local)
    """,
    "a class derived from _thread._local": """
        class Local(_thread._local):
            def __init__(self, size):
                self.items = [size]
        local = Local(3)
        local.items.append(4)
        return in_thread(lambda: (local.items, vars(local))), local.items
    """,
    "a local of _threading_local": """
        import _threading_local
        local = _threading_local.local()
        local.x = 1
        return in_thread(hasattr, local, "x")
    """,
    "errors of a local": """
        local = threading.local()
        return (
            attempt(lambda: local.x), attempt(delattr, local, "x"), attempt(setattr, local, "__dict__", {}),
            attempt(copy.copy, local), attempt(threading.local, 1),
        )
    """,
    "a local of a module of the library": """
        import asyncio.events
        return in_thread(lambda: asyncio._get_running_loop())
    """,
    "reentrant locks under private names": """
        found = []
        for make in (_thread.RLock, threading._CRLock, threading._RLock, threading._PyRLock):
            lock = make()
            lock.acquire(), lock.acquire()
            found.append((in_thread(lock.acquire, False), in_thread(lock.release), lock._is_owned()))
        return found
    """,
    "what a condition does to a reentrant lock": """
        lock = threading.RLock()
        lock.acquire(), lock.acquire()
        saved = lock._release_save()
        free = in_thread(lambda: (lock.acquire(False), lock.release()))
        lock._acquire_restore(saved)
        return free, lock._is_owned(), lock._recursion_count(), in_thread(lock._recursion_count)
    """,
    "old names of a lock's methods": """
        lock = threading.Lock()
        return lock.acquire_lock(), lock.locked_lock(), lock.release_lock(), lock.locked()
    """,
    "types and names": """
        made = (
            threading.Lock(), threading.RLock(), threading.Event(), threading.Condition(), threading.Semaphore(),
            threading.BoundedSemaphore(), threading.Barrier(1), threading.Thread(), threading.local(), queue.Queue(),
            queue.SimpleQueue(), threading.current_thread(), threading.Timer(1, print),
        )
        return [(type(one), type(one).__module__, type(one).__qualname__) for one in made], repr(threading.Event)
    """,
    "limits of time that are too long": """
        long = threading.TIMEOUT_MAX * 2
        waits = (
            threading.Lock().acquire, threading.RLock().acquire, threading.Semaphore(0).acquire,
            queue.Queue().get, queue.SimpleQueue().get,
        )
        held = threading.Condition()
        event = threading.Event()
        thread = threading.Thread(target=event.wait)
        thread.start()
        found = [
            [attempt(wait, True, long) for wait in waits],
            attempt(event.wait, long), attempt(thread.join, long), attempt(time.sleep, long),
            holding(held, held.wait, long), holding(held, held.wait_for, lambda: False, long),
            attempt(threading.Barrier(2).wait, long),
        ]
        event.set()
        thread.join()
        return found
    """,
    "limits of time that are none": """
        lock = threading.Lock()
        return [
            attempt(lock.acquire, *arguments)
            for arguments in ((True, -2), (False, 1), (True, "a"), (True, None), (True, float("nan")))
        ], attempt(time.sleep, -1), attempt(time.sleep, "a"), lock.acquire(True, threading.TIMEOUT_MAX)
    """,
    "private attributes": """
        bounded = threading.BoundedSemaphore(3)
        bounded.acquire()
        event = threading.Event()
        event.set()
        condition = threading.Condition()
        return bounded._value, bounded._initial_value, event._flag, condition._waiters, len(condition._waiters)
    """,
    "private attributes that are set": """
        semaphore, event = threading.Semaphore(0), threading.Event()
        semaphore._value += 1
        event._flag = True
        return semaphore.acquire(False), semaphore._value, event.is_set()
    """,
    "how many threads wait": """
        condition, ready = threading.Condition(), []
        def wait():
            with condition:
                ready.append(1)
                condition.notify_all()
                condition.wait()
        thread = threading.Thread(target=wait)
        thread.start()
        with condition:
            while not ready:
                condition.wait()
            waiting = len(condition._waiters)
            condition.notify_all()
        thread.join()
        return waiting
    """,
    "classes derived from primitives": """
        class Named:
            def __init__(self, name, *arguments):
                super().__init__(*arguments)
                self.name = name
        class OwnSemaphore(Named, threading.Semaphore): pass
        class OwnBounded(Named, threading.BoundedSemaphore): pass
        class OwnEvent(Named, threading.Event): pass
        class OwnCondition(Named, threading.Condition): pass
        semaphore, bounded, event = OwnSemaphore("a", 2), OwnBounded("b", 1), OwnEvent("c")
        condition = OwnCondition("d", threading.Lock())
        def work():
            with condition:
                event.set()
                condition.notify()
            with semaphore:
                return semaphore._value
        found = []
        thread = threading.Thread(target=lambda: found.append(work()))
        with condition:
            thread.start()
            while not event.is_set():
                condition.wait()
        thread.join()
        return found, attempt(bounded.release), [one.name for one in (semaphore, bounded, event, condition)]
    """,
    "a primitive that was not initialised": """
        class Bare(threading.Event):
            def __init__(self): pass
        return attempt(Bare().is_set), attempt(Bare().set)
    """,
    "arguments of semaphores": """
        return [attempt(threading.Semaphore, value) for value in (-1, "a", None)][:2], attempt(threading.Event, 1)[:9]
    """,
    "copies": """
        makers = (
            threading.Event, threading.Semaphore, threading.BoundedSemaphore, threading.Condition, threading.Lock,
            threading.RLock, queue.Queue, queue.SimpleQueue, lambda: threading.Barrier(2),
        )
        return [
            [str(attempt(lambda: type(how(make())))) for make in makers]
            for how in (copy.copy, copy.deepcopy, pickle.dumps)
        ]
    """,
    "the state of copies": """
        event, semaphore, items = threading.Event(), threading.Semaphore(3), queue.Queue(3)
        items.put(1)
        others = copy.copy(event), copy.copy(semaphore), copy.copy(items)
        event.set(), semaphore.acquire(), items.put(2)
        return others[0].is_set(), others[1]._value, others[2].unfinished_tasks, others[2].maxsize
    """,
    "a copy of a condition": """
        condition = threading.Condition()
        other = copy.copy(condition)
        with condition:
            return other._lock is condition._lock, in_thread(other.acquire, False), attempt(other.notify)
    """,
    "deprecated names": """
        condition, thread = threading.Condition(), threading.Thread(name="a")
        return (
            holding(condition, warned, condition.notifyAll), warned(threading.Event().isSet), warned(thread.getName),
            warned(lambda: threading.currentThread().name), warned(threading.activeCount),
        )
    """,
    "how many threads run": """
        before = _thread._count()
        return in_thread(_thread._count) - before, in_thread(threading.active_count) - threading.active_count()
    """,
    "a thread": """
        thread = threading.Thread(target=int, name="a", daemon=True)
        before = repr(thread), thread._started.is_set(), thread._ident
        thread.start()
        thread.join()
        ident = str(thread.ident)
        after = repr(thread).replace(ident, "N"), thread._started.is_set(), thread._ident == thread.ident
        return before, after, thread._name, attempt(lambda: thread.other)
    """,
    "the main thread": """
        main = threading.current_thread()
        return repr(main).replace(str(main.ident), "N"), type(main).__name__, main is threading.main_thread()
    """,
    "attributes of the checker": """
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        return [name for name in vars(thread) if "dpor" in name], [name for name in vars(threading.local())]
    """,
    "waiting for a condition without time": """
        condition, seen = threading.Condition(), []
        def look():
            with condition:
                seen.append(1)
        with condition:
            return condition.wait_for(lambda: False, 0), condition.wait_for(lambda: True, "a")
    """,
    "the simple queue of its own module": """
        items = _queue.SimpleQueue()
        thread = threading.Thread(target=items.put, args=(1,))
        thread.start()
        found = items.get()
        thread.join()
        return found, items.empty()
    """,
    "calls that never wait": """
        return attempt(os.waitpid, -1, os.WNOHANG), select.select([], [], [], 0)
    """,
}
REFUSED = {
    "the condition of an event": ("threading.Event()._cond", "_cond of a threading.Event"),
    "the condition of a semaphore": ("threading.Semaphore()._cond", "_cond of a threading.Semaphore"),
    "the attributes of an event": ("vars(threading.Event())", "__dict__ of a threading.Event"),
    "the attributes of a queue": ("vars(queue.Queue())['maxsize']", "__dict__ of a queue.Queue"),
    "an event that has a copy": (
        "[copy.copy(event).clear() or event.wait(1) for event in [threading.Event()]]",
        "of which there is a copy",
    ),
    "a real lock": ("made_before.lock.acquire()", "acquire of a _thread.lock that was made before"),
    "a real reentrant lock": ("made_before.reentrant.__enter__()", "a _thread.RLock that was made before"),
    "a real queue": ("made_before.queue.get()", "get of a _queue.SimpleQueue that was made before"),
    "real thread-local data": (
        "setattr(made_before.local, 'x', 1)",
        "x of a _thread._local that was made before",
    ),
    "data of a class derived from it": ("made_before.own.x", "x of a {0}.Own that was made before"),
    "a process that is waited for": ("os.waitpid(-1, 0)", "waits for a process"),
    "files that are waited for": ("select.select([], [], [], 1)", "waits for files or sockets"),
}


def normal(text: str) -> str:
    return re.sub("0x[0-9a-f]+|owner=[0-9]+", "", text)


def check(folder: Path, body: str) -> ModelResult:
    path = folder / "model.py"
    path.write_text(f"{HEADER}\nimport dpor\n{body}", encoding="utf-8")
    return check_model(CheckRequest(str(path), "model", str(folder), all_violations=True))


def program(body: str) -> str:
    return "def program():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")


@pytest.mark.parametrize("name", SAME)
def test_a_model_sees_what_a_program_sees(name: str, tmp_path: Path) -> None:
    code = program(SAME[name])
    plain = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{HEADER}\n{code}\n__name__ = 'model'\nprint(program())"],
        capture_output=True,
        text=True,
        check=True,
    )
    result = check(tmp_path, f"{code}\n@dpor.model\ndef model():\n    raise Own(str(program()))\n")
    assert [normal(one.message) for one in result.violations] == [f"Own: {normal(plain.stdout.rstrip())}"], (
        result
    )


@pytest.fixture
def made_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module whose objects belong to threads of the interpreter."""

    class Own(threading.local):
        x = 1

    Own.__qualname__ = "Own"
    module = ModuleType("made_before")
    vars(module).update(
        lock=threading.Lock(),
        reentrant=threading.RLock(),
        queue=queue.SimpleQueue(),
        local=threading.local(),
        own=Own(),
    )
    monkeypatch.setitem(sys.modules, "made_before", module)


@pytest.mark.usefixtures("made_before")
@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_be_what_it_is_in_python_is_refused(name: str, tmp_path: Path) -> None:
    expression, message = REFUSED[name]
    with pytest.raises(DporError) as caught:
        check(tmp_path, f"import made_before\n@dpor.model\ndef model():\n    {expression}\n")
    assert caught.value.code is Code.UNCONTROLLED
    assert message.format(__name__) in str(caught.value)


@pytest.mark.parametrize("made", ["_thread._local()", "threading.local()", "vars(_thread)['_local']()"])
def test_threads_share_no_thread_local_data(made: str, tmp_path: Path) -> None:
    result = check(
        tmp_path,
        f"""
@dpor.model
def model():
    local, seen = {made}, []
    def work():
        seen.append(hasattr(local, "x"))
        local.x = 1
    threads = [dpor.spawn(work) for _ in range(2)]
    dpor.join_all()
    assert seen == [False, False] and not hasattr(local, "x")
""",
    )
    assert result.verdict.value == "verified"


def test_waiting_for_a_condition_without_time_gives_the_lock_back(tmp_path: Path) -> None:
    result = check(
        tmp_path,
        """
@dpor.model
def model():
    condition, seen = threading.Condition(), []
    def change():
        with condition:
            seen.append(1)
    with condition:
        dpor.spawn(change)
        assert not condition.wait_for(lambda: bool(seen), 0)
""",
    )
    assert "assertion failed" in str(result.violations)
