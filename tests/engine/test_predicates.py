"""A predicate of wait_until only reads: whatever else it does ends the check with an error, in every algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpor import _kernel
from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.instrument.hooks import Hook
from dpor.results import CheckRequest, ModelResult, Verdict

ALGORITHMS = ["optimal", "source", "exhaustive", "graph", "value-centric"]

HEAD = """
import _thread
import asyncio
import concurrent.futures
import os
import queue
import random
import secrets
import threading
import time
import uuid

import dpor
from dpor._kernel import Abort

class Shared:
    pass

def nothing():
    pass

def steps():
    yield 1
"""

MODEL = """
@dpor.model(algorithm={algorithm!r})
def model():
    s = Shared()
    s.number = 0
    s.items = [1]
    s.names = {{"a": 1}}
    s.flag = dpor.Atomic(0)
    s.lock = threading.Lock()
    s.rlock = threading.RLock()
    s.held = threading.RLock()
    s.condition = threading.Condition()
    s.semaphore = threading.Semaphore()
    s.bounded = threading.BoundedSemaphore(2)
    s.event = threading.Event()
    s.simple = queue.SimpleQueue()
    s.queue = queue.Queue()
    s.barrier = threading.Barrier(1)
    s.thread = threading.Thread(target=nothing)
    s.thread.start()
    s.generator = steps()
    s.local = threading.local()
    s.closed = 0
    held = s.held
    held.acquire()
    closed = 0
    def predicate():
        nonlocal closed
        try:
            {does}
        except {caught}:
            pass
        return True
    def change():
        s.number = 5
        s.flag.store(5)
    change()
    dpor.wait_until(predicate)
    assert False, "the predicate was not refused"
"""

PRIMITIVES: dict[str, dict[str, str]] = {
    "Lock": {
        "acquire": "s.lock.acquire()",
        "acquire_lock": "s.lock.acquire_lock()",
        "release": "s.lock.release()",
        "release_lock": "s.lock.release_lock()",
        "__enter__": "s.lock.__enter__()",
        "__exit__": "s.lock.__exit__()",
    },
    "RLock": {
        "acquire": "s.held.acquire()",
        "release": "s.held.release()",
        "_release_save": "s.held._release_save()",
        "_acquire_restore": "s.rlock._acquire_restore((1, 1))",
        "__enter__": "s.rlock.__enter__()",
        "__exit__": "s.held.__exit__()",
    },
    "Condition": {
        "_release_save": "s.condition._release_save()",
        "_acquire_restore": "s.condition._acquire_restore((1, 1))",
        "acquire": "s.condition.acquire()",
        "release": "s.condition.release()",
        "__enter__": "s.condition.__enter__()",
        "__exit__": "s.condition.__exit__()",
        "wait": "s.condition.wait()",
        "wait_for": "s.condition.wait_for(lambda: s.number > 9)",
        "notify": "s.condition.notify()",
        "notify_all": "s.condition.notify_all()",
        "notifyAll": "s.condition.notifyAll()",
    },
    "Semaphore": {
        "acquire": "s.semaphore.acquire()",
        "release": "s.semaphore.release()",
        "_value": "s.semaphore._value = 3",
        "__enter__": "s.semaphore.__enter__()",
        "__exit__": "s.semaphore.__exit__()",
    },
    "BoundedSemaphore": {
        "acquire": "s.bounded.acquire()",
        "release": "s.bounded.release()",
        "_value": "s.bounded._value = 3",
        "__enter__": "s.bounded.__enter__()",
        "__exit__": "s.bounded.__exit__()",
    },
    "Event": {
        "set": "s.event.set()",
        "clear": "s.event.clear()",
        "_flag": "s.event._flag = True",
        "wait": "s.event.wait(1)",
    },
    "SimpleQueue": {
        "put": "s.simple.put(1)",
        "put_nowait": "s.simple.put_nowait(1)",
        "get": "s.simple.get(timeout=1)",
        "get_nowait": "s.simple.get_nowait()",
    },
    "Atomic": {
        "store": "s.flag.store(5)",
        "value": "s.flag.value = 5",
        "exchange": "s.flag.exchange(5)",
        "compare_exchange": "s.flag.compare_exchange(7, 8)",
        "fetch_add": "s.flag.fetch_add(0)",
        "fetch_sub": "s.flag.fetch_sub(0)",
        "fetch_or": "s.flag.fetch_or(0)",
        "fetch_and": "s.flag.fetch_and(7)",
    },
}
"""What of the kernel's classes changes something, and a call of it."""

READS = {
    "Lock": {"locked", "locked_lock"},
    "RLock": {"_is_owned", "_recursion_count"},
    "Condition": {"_lock", "_is_owned", "_waiters"},
    "Semaphore": {"_value", "_cond"},
    "BoundedSemaphore": {"_value", "_cond", "_initial_value"},
    "Event": {"is_set", "isSet", "_flag", "_cond"},
    "SimpleQueue": {"empty", "qsize", "__class_getitem__"},
    "Atomic": {"load", "value", "__bool__"},
}
"""What of them only reads, or belongs to the class."""

OTHERS = {
    "spawn": "dpor.spawn(nothing)",
    "join_all": "dpor.join_all()",
    "choose": "dpor.choose([1, 2])",
    "choose one": "dpor.choose([1])",
    "assume": "dpor.assume(False)",
    "assume what holds": "dpor.assume(True)",
    "wait_until": "dpor.wait_until(lambda: True)",
    "fence": "dpor.fence()",
    "nondet_int": "dpor.nondet_int('n', 0, 1)",
    "nondet_bool": "dpor.nondet_bool('b')",
    "make a thread": "threading.Thread(target=nothing)",
    "start a thread": "threading.Thread(target=nothing).start()",
    "start a thread the old way": "_thread.start_new_thread(nothing, ())",
    "timer": "threading.Timer(1, nothing).start()",
    "join": "s.thread.join()",
    "join with a time-out": "s.thread.join(1)",
    "is_alive": "s.thread.is_alive()",
    "make a lock": "threading.Lock()",
    "make an atomic": "dpor.Atomic(0)",
    "make a queue": "queue.Queue()",
    "put": "s.queue.put(1)",
    "get": "s.queue.get(timeout=1)",
    "barrier": "s.barrier.wait()",
    "pool": "concurrent.futures.ThreadPoolExecutor().submit(nothing)",
    "future": "concurrent.futures.Future().set_result(1)",
    "sleep": "time.sleep(1)",
    "monotonic": "time.monotonic() > 5",
    "time": "time.time() > 5",
    "localtime": "time.localtime()",
    "random": "random.random()",
    "Random()": "random.Random()",
    "urandom": "os.urandom(1)",
    "uuid4": "uuid.uuid4()",
    "secrets": "secrets.token_hex()",
    "asyncio.run": "asyncio.run(asyncio.sleep(0))",
    "event loop": "asyncio.new_event_loop()",
    "store an attribute": "s.number = 5",
    "delete an attribute": "del s.number",
    "add to an attribute": "s.number += 1",
    "add an attribute": "s.new = 1",
    "store by setattr": "setattr(s, 'number', 5)",
    "store an item": "s.items[0] = 1",
    "append": "s.items.append(1)",
    "store in a dict": "s.names['a'] = 1",
    "insert": "s.names.setdefault('b', 1)",
    "store in the namespace": "vars(s)['number'] = 5",
    "advance": "next(s.generator)",
    "store a local": "s.local.x = 1",
    "store a variable": "closed = 1",
    "store a global": "globals()['s'] = 1",
    "store on a function": "nothing.calls = 1",
    "store on a class": "Shared.number = 1",
    "Abort": "raise Abort",
}


def run(folder: Path, does: str, algorithm: str, caught: str = "()") -> ModelResult:
    file = folder / "model.py"
    file.write_text(HEAD + MODEL.format(does=does, algorithm=algorithm, caught=caught), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder)))


def refuse(folder: Path, does: str, algorithm: str, caught: str = "()") -> DporError:
    with pytest.raises(DporError) as refused:
        run(folder, does, algorithm, caught)
    return refused.value


CALLS: dict[str, str] = {
    **{f"{name}.{method}": does for name, table in PRIMITIVES.items() for method, does in table.items()},
    **OTHERS,
}


SAMPLE = (
    *(
        "Lock.acquire",
        "RLock.release",
        "Condition.wait",
        "Condition.notify",
        "Semaphore.acquire",
        "Event.set",
    ),
    *("SimpleQueue.get", "Atomic.compare_exchange", "spawn", "assume", "wait_until", "sleep", "random"),
    *("store an attribute", "store a variable", "Abort"),
)
"""What is tried in every algorithm; the rest in one that evaluates predicates and one that has their threads look."""

CASES = [
    pytest.param(does, algorithm, id=f"{name}-{algorithm}")
    for name, does in CALLS.items()
    for algorithm in (ALGORITHMS if name in SAMPLE else ("optimal", "graph"))
]


@pytest.mark.parametrize(("does", "algorithm"), CASES)
def test_a_predicate_that_does_more_than_read_is_refused(tmp_path: Path, does: str, algorithm: str) -> None:
    error = refuse(tmp_path, does, algorithm)
    assert error.code is Code.PREDICATE, str(error)
    assert error.span is not None
    assert error.span.file == "model.py"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "does", ["dpor.spawn(nothing)", "s.number = 5", "s.held.acquire()", "s.flag.store(5)"]
)
def test_a_predicate_cannot_swallow_the_refusal(tmp_path: Path, does: str, algorithm: str) -> None:
    assert refuse(tmp_path, does, algorithm, "BaseException").code is Code.PREDICATE


def test_the_refusal_says_what_was_done_and_where(tmp_path: Path) -> None:
    error = refuse(tmp_path, "dpor.spawn(nothing)", "optimal")
    assert "starts a thread" in error.message
    lines = (tmp_path / "model.py").read_text(encoding="utf-8").splitlines()
    assert error.span is not None
    assert "dpor.spawn(nothing)" in lines[error.span.line - 1]


@pytest.mark.parametrize("algorithm", ["optimal", "graph"])
@pytest.mark.parametrize(
    "reads",
    [
        "s.number == 5 and s.flag.load() and s.flag.value",
        "s.items[0] and 1 in s.items and len(s.items) and s.names.get('a')",
        "s.event.is_set() or s.lock.locked() or s.simple.empty() or s.simple.qsize()",
        "found = []; found.append(s.number); found = [one for one in found if one]",
        "found = dict(a=s.number); found['b'] = list(s.items); found['b'].append(1); sum(found['b'])",
        "any(one for one in s.items) and max(s.items) and sorted(s.items)",
        "threading.current_thread().name",
    ],
)
def test_a_predicate_may_read_and_make_containers_for_itself(
    tmp_path: Path, reads: str, algorithm: str
) -> None:
    result = run(tmp_path, reads, algorithm)
    assert result.verdict is Verdict.VIOLATED
    assert result.violations[0].message.endswith("the predicate was not refused")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_exception_of_the_predicate_is_raised_where_its_thread_waits(
    tmp_path: Path, algorithm: str
) -> None:
    result = run(tmp_path, "raise KeyError(s.number)", algorithm)
    assert [violation.message for violation in result.violations] == ["KeyError: 5"]


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_method_of_a_primitive_is_known_to_read_or_to_be_refused(name: str) -> None:
    owner: Any = getattr(_kernel, name)
    special = {"__enter__", "__exit__", "__class_getitem__", "__bool__"}
    methods = {
        method
        for base in owner.__mro__[:-1]
        for method in vars(base)
        if not method.startswith("__") or method in special
    }
    assert methods - {"_at_fork_reinit"} == READS[name] | set(PRIMITIVES[name])


def test_every_service_of_the_host_is_known_to_read_or_to_be_refused() -> None:
    # A method that is new has to say here what a predicate may make of it.
    hooks = {hook.value for hook in Hook}
    methods = {name for name in vars(_kernel.Host) if not name.startswith("_")}
    assert methods - hooks == REFUSED | READING | OUTSIDE


REFUSED = {
    *(
        "spawn",
        "join",
        "is_finished",
        "choose",
        "stop_unless",
        "wait_until",
        "fence",
        "made_symbolic",
        "meeting",
    ),
    *(
        "advance_time",
        "time",
        "deadline_time",
        "processor_time",
        "let_clock_jump",
        "had_effect",
        "outside_predicates",
        "branch",
    ),
    "registers_classes",
}
"""What of the host a predicate may not come to; `branch` is refused before, by the symbolic layer."""

READING = {
    *("active", "execution", "probing", "solver", "current_thread", "current_index", "thread_path"),
    *("held_locks", "do_not_count", "uncounted_calls", "recursion_limit", "note_recursion_limit"),
    *("is_instrumented", "is_first_party"),
    *("id", "is_alone", "is_held_by_another", "may_take_turns", "takes_turns"),
    *("assume", "assumptions", "literals", "next_thread", "path", "waiting_threads"),
}
"""What only tells something, or notes it for the report."""

OUTSIDE = {
    *(
        "enter_lane",
        *(
            "leave_turns",
            "note_started",
            "next_turn",
            "turns_are_stuck",
            "make_timer",
            "touch_timer",
            "see_timer",
            "turn_object",
        ),
        *("touch_object", "touch_clock", "touch_group", "touch_ready", "end_in_group"),
        "keep",
        "keep_of_model",
        "keep_of_module",
        "leave_modules",
        "mark_module_state",
        "entered",
        "enter_namespace",
        "leave_namespace",
        "together",
        "open_pools",
        "begin_anew",
        "access_whole",
        "outside",
        "set_importing",
        "set_importing_unseen",
        "sleep",
        "tell_foreign",
        "tell_instrumented",
        "trust_code",
        "use_barriers",
        "use_library",
        "use_stand_in_classes",
        "use_texts",
        "use_unseen",
    ),
    *(
        "install",
        "uninstall",
        "close",
        "explore",
        "frontier",
        "split",
        "learned",
        "rebind",
        "end_uncontrolled",
        "fail",
        "see_operands",
        "refuse",
    ),
    *("algorithms", "alternative", "decides_branches", "assumption_kinds"),
}
"""What belongs to the checker, or ends the check."""
