"""Threads started without `threading`, what acts on threads from outside, and which ones `threading` knows."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.replay import replay_model
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict

HEAD = """
import _thread
import threading
import time
import dpor

STARTER = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"

def nothing():
    pass

def starts_one():
    inner = threading.Thread(target=nothing)
    inner.start()
    inner.join()

@dpor.model
def model():
"""

HAS_HANDLES = pytest.mark.skipif(
    not hasattr(threading, "_start_joinable_thread"), reason="this Python has no handles of threads"
)


def check(tmp_path: Path, body: str, **options: object) -> ModelResult:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    (tmp_path / "model.py").write_text(HEAD + lines)
    return check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))


def verified(tmp_path: Path, body: str) -> None:
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED, result


def refusal(tmp_path: Path, body: str) -> str:
    with pytest.raises(DporError) as caught:
        check(tmp_path, body)
    assert caught.value.code is Code.UNCONTROLLED
    return caught.value.message


def test_threading_knows_a_bare_thread_once_it_asks_for_itself(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
asked = threading.Event()
seen = []
def work():
    own = _thread.get_ident()
    assert own not in threading._active
    me = threading.current_thread()
    assert me is threading.current_thread() is threading._active[own]
    assert isinstance(me, threading._DummyThread) and me.name == "Dummy-1", me
    assert me.ident == own and me.is_alive() and me.daemon and me in threading.enumerate()
    seen.append(me)
    asked.set()
number = _thread.start_new_thread(work, ())
asked.wait()
assert seen[0].ident == number
assert repr(seen[0]).startswith("<_DummyThread(Dummy-1, ")
try:
    seen[0].join()
except (AssertionError, RuntimeError) as error:
    assert str(error) == "cannot join a dummy thread"
else:
    raise Exception("joined")
""",
    )


def test_a_bare_thread_takes_no_number_of_the_others(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
_thread.start_new_thread(nothing, ())
assert threading.Thread(target=nothing).name == "Thread-1 (nothing)"
assert threading.active_count() == 1
""",
    )


def test_the_threads_that_run_are_known_by_their_numbers(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
go = threading.Event()
thread = threading.Thread(target=go.wait)
assert list(threading._active) == [threading.get_ident()]
thread.start()
assert dict(threading._active) == {threading.get_ident(): threading.current_thread(), thread.ident: thread}
assert threading._active.get(12) is None and not threading._limbo
go.set()
thread.join()
assert len(threading._active) == 1
""",
    )


@pytest.mark.parametrize(
    "asking", ["threading.active_count()", "len(threading._active)", "_thread._count() + 1"]
)
@pytest.mark.parametrize("number", [1, 2, 3])
def test_asking_which_threads_there_are_comes_before_and_after_a_start_in_another(
    tmp_path: Path, asking: str, number: int
) -> None:
    body = f"""
thread = threading.Thread(target=starts_one)
thread.start()
assert {asking} != {number}
thread.join()
"""
    assert check(tmp_path, body).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("algorithm", ["optimal", "source", "unfolding", "parsimonious", "graph", "concolic"])
def test_every_algorithm_orders_starts_and_who_asks_for_them(tmp_path: Path, algorithm: str) -> None:
    body = """
threads = [threading.Thread(target=starts_one) for _ in range(2)]
for thread in threads:
    thread.start()
threading.enumerate()
for thread in threads:
    thread.join()
"""
    result = check(tmp_path, body, algorithm=algorithm)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 53)


def test_a_schedule_in_which_threads_are_asked_for_can_be_followed(tmp_path: Path) -> None:
    body = """
thread = threading.Thread(target=starts_one)
thread.start()
assert threading.active_count() != 3
thread.join()
"""
    schedule = check(tmp_path, body).violations[0].schedule or ""
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), schedule))
    assert replayed.violation is not None
    assert not replayed.divergence


def test_the_main_thread_is_known_for_ever(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
main = threading.current_thread()
def work():
    assert main in threading.enumerate() and main in threading._active.values()
threading.Thread(target=work).start()
""",
    )


def test_a_thread_that_dpor_spawns_is_known_while_it_is_started(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
def work():
    dpor.spawn(nothing).join()
one = dpor.spawn(work)
assert set(threading._active) >= {threading.get_ident()}
dpor.join_all()
""",
    )


def test_a_thread_is_known_in_the_order_of_starts(tmp_path: Path) -> None:
    body = """
names = []
def start(name):
    wait = threading.Thread(target=end.wait, name=name)
    wait.start()
end = threading.Event()
starting = [threading.Thread(target=start, args=(name,)) for name in "ab"]
for thread in starting:
    thread.start()
for thread in starting:
    thread.join()
names = [thread.name for thread in threading.enumerate()]
end.set()
assert names != ["MainThread", "b", "a"]
"""
    assert check(tmp_path, body).verdict is Verdict.VIOLATED


def test_taking_a_thread_from_those_that_run_is_refused(tmp_path: Path) -> None:
    assert "threading._active" in refusal(tmp_path, "del threading._active[threading.get_ident()]")


def test_a_function_that_a_program_puts_in_place_starts_threads_or_fails(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
real = getattr(threading, STARTER)
def fail(*arguments, **options):
    raise threading.ThreadError("no more")
def through(*arguments, **options):
    started.append(arguments)
    return real(*arguments, **options)
started = []
thread = threading.Thread(target=nothing)
setattr(threading, STARTER, fail)
try:
    thread.start()
except threading.ThreadError as error:
    assert str(error) == "no more"
else:
    raise Exception("started")
assert thread not in threading._limbo and thread not in threading.enumerate()
assert not thread.is_alive() and thread.ident is None
setattr(threading, STARTER, through)
thread.start()
thread.join()
assert len(started) == 1
setattr(threading, STARTER, real)
""",
    )


def test_a_function_in_place_is_refused_beside_others_that_ask_for_threads(tmp_path: Path) -> None:
    body = """
real = getattr(threading, STARTER)
other = threading.Thread(target=threading.active_count)
other.start()
setattr(threading, STARTER, lambda *arguments, **options: real(*arguments, **options))
threading.Thread(target=nothing).start()
"""
    assert "started by another function" in refusal(tmp_path, body)


@pytest.mark.parametrize(
    "starting",
    [
        "lambda *arguments, **options: None",
        "lambda run, *rest, **options: real(lambda: run(), *rest, **options)",
    ],
)
def test_a_function_that_starts_something_else_is_refused(tmp_path: Path, starting: str) -> None:
    body = f"""
real = getattr(threading, STARTER)
setattr(threading, STARTER, {starting})
threading.Thread(target=nothing).start()
"""
    assert "threading.Thread" in refusal(tmp_path, body)


def test_the_hook_of_threads_names_the_number_of_the_model(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
import contextlib, io
shown = io.StringIO()
try:
    raise ValueError("wrong")
except ValueError as error:
    with contextlib.redirect_stderr(shown):
        threading.__excepthook__(threading.ExceptHookArgs((ValueError, error, None, None)))
assert f"Exception in thread {threading.get_ident()}:" in shown.getvalue(), shown.getvalue()
""",
    )


def test_the_class_of_a_lock_makes_locks_where_it_does_in_cpython(tmp_path: Path) -> None:
    kind = type(threading.Lock())
    try:
        kind()
        expected = ""
    except TypeError as error:
        expected = str(error)
    verified(
        tmp_path,
        f"""
kind = type(threading.Lock())
assert isinstance(threading.Lock(), kind) and (kind.__module__, kind.__name__) == ("_thread", "lock")
try:
    kind()
    told = ""
except TypeError as error:
    told = str(error)
assert told == {expected!r}, told
""",
    )


@HAS_HANDLES
def test_a_thread_is_joined_by_its_handle(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
seen = []
def work():
    seen.append(_thread.get_ident())
handle = _thread.start_joinable_thread(work)
handle.join()
handle.join()
assert seen == [handle.ident] and handle.is_done()
assert repr(handle) == f"<_thread._ThreadHandle object: ident={handle.ident}>"
assert type(handle) is _thread._ThreadHandle
""",
    )


@HAS_HANDLES
def test_a_handle_that_is_not_waited_for_may_be_done_or_not(tmp_path: Path) -> None:
    for wrong in ("handle.is_done()", "not handle.is_done()"):
        body = f"handle = _thread.start_joinable_thread(nothing, daemon=False)\nassert {wrong}"
        assert check(tmp_path, body).verdict is Verdict.VIOLATED


@HAS_HANDLES
def test_a_join_by_a_handle_with_a_time_limit_may_give_up(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
lock = threading.Lock()
lock.acquire()
handle = _thread.start_joinable_thread(lock.acquire)
handle.join(0.1)
assert not handle.is_done()
lock.release()
handle.join(-1)
assert handle.is_done()
""",
    )


@HAS_HANDLES
@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("_thread._ThreadHandle().join()", "RuntimeError('thread not started')"),
        ("_thread._ThreadHandle()._set_done()", "RuntimeError('thread not started')"),
        ("_thread.start_joinable_thread(nothing, handle=used)", "RuntimeError('thread already started')"),
        ("_thread.start_joinable_thread(1)", "TypeError('thread function must be callable')"),
        ("_thread.start_joinable_thread(nothing, 3)", "TypeError(\"'handle' must be a _ThreadHandle\")"),
        (
            "used.ident = 2",
            "AttributeError(\"attribute 'ident' of '_thread._ThreadHandle' objects is not writable\")",
        ),
    ],
)
def test_a_handle_raises_what_the_librarys_does(tmp_path: Path, statement: str, error: str) -> None:
    verified(
        tmp_path,
        f"""
used = _thread._ThreadHandle()
assert used.ident == 0 and not used.is_done()
assert _thread.start_joinable_thread(nothing, used) is used
used.join()
try:
    {statement}
except Exception as error:
    assert repr(error) == {error!r}, error
else:
    raise Exception("nothing raised")
""",
    )


@HAS_HANDLES
def test_a_thread_does_not_join_itself_by_its_handle(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
known = threading.Event()
told = []
def work():
    known.wait()
    try:
        handle.join()
    except RuntimeError as error:
        told.append(str(error))
handle = _thread.start_joinable_thread(work)
known.set()
handle.join()
assert told == ["Cannot join current thread"]
""",
    )


@HAS_HANDLES
def test_a_handle_that_is_said_to_be_done_is_waited_for_no_longer(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
lock = threading.Lock()
lock.acquire()
handle = _thread.start_joinable_thread(lock.acquire)
handle._set_done()
handle.join()
assert handle.is_done()
lock.release()
""",
    )


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("import ctypes\nctypes.pythonapi.PyThreadState_SetAsyncExc", "ctypes: PyThreadState_SetAsyncExc"),
        ("import ctypes\nctypes.pythonapi.PyEval_SaveThread()", "ctypes: PyEval_SaveThread"),
        ("threading.Thread(target=_thread.interrupt_main).start()", "_thread.interrupt_main"),
    ],
)
def test_what_acts_on_another_thread_is_refused(tmp_path: Path, body: str, named: str) -> None:
    assert named in refusal(tmp_path, body)


@pytest.fixture
def interrupts_raise() -> Iterator[None]:
    """Have an interrupt raise KeyboardInterrupt, also in a process that was told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts_raise")
def test_the_main_thread_interrupts_itself(tmp_path: Path) -> None:
    verified(
        tmp_path,
        """
try:
    _thread.interrupt_main()
    raise Exception("went on")
except KeyboardInterrupt:
    pass
""",
    )
