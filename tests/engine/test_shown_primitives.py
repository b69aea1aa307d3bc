"""The texts of synchronisation primitives: those of CPython, whatever other threads do meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.codes import Code
from dpor.errors import DporError

HEADER = """
import re, threading

def shown(made):
    # Not where it lies, nor who holds it, nor the module of a class.
    return re.sub("0x[0-9a-f]+|owner=[0-9]+|[a-z]+[.]Own", "", repr(made))

def held_twice():
    made = threading.RLock()
    made.acquire()
    made.acquire()
    return made

def wait(condition, done):
    with condition:
        while not done:
            condition.wait()

def tell(condition, done):
    text = repr(condition)[-3:]
    with condition:
        done.append(1)
        condition.notify_all()
    return text

class Own(threading.Event):
    pass
"""
MADE = (
    "threading.Lock()",
    "threading.RLock()",
    "held_twice()",
    "threading.Event()",
    "Own()",
    "threading.Semaphore(3)",
    "threading.BoundedSemaphore(2)",
    "threading.Condition()",
    "threading.Condition(threading.Lock())",
)
CHANGED = {
    "a lock": ("threading.Lock()", "shown(s)", "s.acquire()"),
    "a lock in a list": ("threading.Lock()", "shown([s])", "s.acquire()"),
    "a reentrant lock": ("threading.RLock()", "shown(s)", "s.acquire()"),
    "an event": ("threading.Event()", "shown(s)", "s.set()"),
    "an event in a text": ("threading.Event()", "f'{s}'[-6:]", "s.set()"),
    "a semaphore": ("threading.Semaphore()", "shown(s)", "s.acquire()"),
    "a semaphore with a bound": ("threading.BoundedSemaphore()", "shown(s)", "s.acquire()"),
    "a lock that is held twice": (
        "threading.RLock()",
        "'count=2' in repr(s)",
        "(s.acquire(), s.acquire())[1]",
    ),
}


@pytest.fixture
def either(tmp_path: Path) -> EitherOrder:
    """Checks of two expressions on an object, with the names of this file's header."""
    return EitherOrder(HEADER, tmp_path)


@pytest.mark.parametrize("made", MADE)
def test_a_primitive_has_the_text_that_it_has_in_python(either: EitherOrder, made: str) -> None:
    names: dict[str, object] = {}
    exec(HEADER, names)
    plain = eval(f"shown({made})", names)
    result = either.check(made, "shown(s)", "None", repr([plain, None]))
    assert "assertion failed" in str(result), result


@pytest.mark.parametrize("name", CHANGED)
def test_a_check_finds_both_texts(either: EitherOrder, name: str) -> None:
    either.require_both(*CHANGED[name])


@pytest.mark.parametrize("waiting", [0, 1])
def test_the_text_of_a_condition_tells_how_many_wait(either: EitherOrder, waiting: int) -> None:
    made, unwanted = "(threading.Condition(), [])", f"[None, '{waiting})>']"
    result = either.check(made, "wait(*s)", "tell(*s)", unwanted)
    assert "assertion failed" in str(result), result


def test_how_many_wait_for_a_limited_time_is_refused(either: EitherOrder) -> None:
    with pytest.raises(DporError) as caught:
        either.check("threading.Condition()", "s.acquire() and s.wait(1) and s.release()", "repr(s)")
    assert caught.value.code is Code.UNCONTROLLED


@pytest.mark.parametrize("call", ["s.wait('a')", "s.notify('a')"])
def test_who_does_not_hold_the_lock_is_told_that_first(either: EitherOrder, call: str) -> None:
    # A RuntimeError gives None, a TypeError would end the model.
    result = either.check("threading.Condition()", call, "None", "[None, None]")
    assert "assertion failed" in str(result), result


def test_a_semaphore_that_is_free_takes_any_time_limit(either: EitherOrder) -> None:
    result = either.check("threading.Semaphore()", "s.acquire(True, 'a')", "s.release()", "[True, None]")
    assert "assertion failed" in str(result), result
