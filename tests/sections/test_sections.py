"""Critical sections that are events lose no outcome and invent none, and locks are ordinary where they have to be."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from joined.compare import Answer

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ReplayRequest, Verdict
from sections.compare import compared, explored
from sections.programs import made

PROGRAMS = 60
CHUNK = 20


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_random_programs_have_the_outcomes_of_all_orders(tmp_path: Path, first: int) -> None:
    by_sections = 0
    different: list[int] = []
    for number in range(first, first + CHUNK):
        program = tmp_path / f"program_{number}.py"
        program.write_text(made(number))
        comparison = compared(program, 2.0)
        if comparison.answer is Answer.DIFFERENT or comparison.costs_more:
            different.append(number)
        by_sections += comparison.answer is Answer.SAME and comparison.joined.is_joined
    assert not different
    assert by_sections


HEAD = """
import threading, time, queue, dpor
from concurrent.futures import Future, ThreadPoolExecutor

class Box:
    pass

def run(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

@dpor.model
def model():
    lock, other, box, found, log = threading.Lock(), threading.Lock(), Box(), {}, []
    box.x = box.y = 0
"""


def write(folder: Path, body: str) -> Path:
    program = folder / "program.py"
    program.write_text(HEAD + textwrap.indent(textwrap.dedent(body), "    "))
    return program


# What the sections of a lock can be events with, and how many orders there are then; and step by step.
EVENTS = {
    "other keys of a dict": (
        """
        def work(key):
            with lock:
                found[key] = key
        run(*(lambda key=key: work(key) for key in range(3)))
        return len(found)
        """,
        1,
        6,
    ),
    "the same key": (
        """
        def work(key):
            with lock:
                found["key"] = key
        run(*(lambda key=key: work(key) for key in range(3)))
        return found
        """,
        6,
        6,
    ),
    "other attributes": (
        """
        def first():
            with lock:
                box.x += 1
        def second():
            with lock:
                box.y += 1
        run(first, second)
        return box.x, box.y
        """,
        1,
        2,
    ),
    "only looks": (
        """
        def work():
            with lock:
                log.append(box.x)
        log = Log = type("Log", (), {"append": staticmethod(lambda value: None)})
        run(work, work, work)
        """,
        1,
        6,
    ),
    "an exception": (
        """
        def work(key):
            try:
                with lock:
                    found[key] = key
                    raise KeyError(key)
            except KeyError:
                pass
        run(*(lambda key=key: work(key) for key in range(3)))
        return len(found)
        """,
        1,
        6,
    ),
    "acquire and release": (
        """
        def work(key):
            lock.acquire()
            try:
                found[key] = key
            finally:
                lock.release()
        run(*(lambda key=key: work(key) for key in range(3)))
        return len(found)
        """,
        1,
        6,
    ),
    "an RLock that is taken twice": (
        """
        lock = threading.RLock()
        def work(key):
            with lock:
                with lock:
                    found[key] = key
        run(*(lambda key=key: work(key) for key in range(3)))
        return len(found)
        """,
        1,
        6,
    ),
    "an assertion that holds": (
        """
        def work(key):
            with lock:
                found[key] = key
                assert found[key] == key
        run(*(lambda key=key: work(key) for key in range(3)))
        """,
        1,
        6,
    ),
}


@pytest.mark.parametrize("name", EVENTS)
def test_sections_that_share_no_data_have_one_order(tmp_path: Path, name: str) -> None:
    body, most, steps = EVENTS[name]
    comparison = compared(write(tmp_path, body), 10.0)
    assert comparison.answer is Answer.SAME
    assert comparison.joined.is_joined
    assert (comparison.joined.executions, comparison.single.executions) == (most, steps)


# Each makes the lock an ordinary one: what it does with the lock, or in a section, is more than accesses tell.
ORDINARY = {
    "data is read without the lock": """
        def first():
            with lock:
                box.x = 1
                box.x = 2
        def second():
            log.append(box.x)
        run(first, second)
        return log
        """,
    "data is written without the lock": """
        def first():
            with lock:
                box.x += 1
                box.x += 1
        def second():
            box.x = 10
        run(first, second)
        return box.x
        """,
    "data has another lock": """
        def first():
            with lock:
                box.x += 1
        def second():
            with other:
                box.x += 1
        run(first, second)
        return box.x
        """,
    "a section is nested": """
        def first():
            with lock:
                box.x += 1
                with other:
                    box.y += 1
        def second():
            with other:
                box.y += 1
                with lock:
                    box.x += 1
        run(first, second)
        return box.x, box.y
        """,
    "the lock is tried": """
        def first():
            with lock:
                box.x += 1
        def second():
            if lock.acquire(blocking=False):
                log.append("taken")
                lock.release()
        run(first, second)
        return log
        """,
    "the lock is waited for with a limit": """
        def first():
            with lock:
                box.x += 1
        def second():
            if lock.acquire(timeout=1):
                log.append("taken")
                lock.release()
        run(first, second)
        return log
        """,
    "somebody looks whether it is held": """
        def first():
            with lock:
                box.x += 1
        def second():
            log.append(lock.locked())
        run(first, first, second)
        return log
        """,
    "it is held at a thread's end": """
        def first():
            lock.acquire()
            box.x += 1
        def second():
            lock.acquire()
            box.x += 1
        run(first, second)
        """,
    "another thread gives it back": """
        def first():
            lock.acquire()
            box.x += 1
            helper = threading.Thread(target=lock.release)
            helper.start()
            helper.join()
        def second():
            with lock:
                box.x += 1
        run(first, second)
        return box.x
        """,
    "an event is set in it": """
        event = threading.Event()
        def first():
            with lock:
                box.x = 1
                event.set()
                box.x = 2
        def second():
            event.wait()
            log.append(box.x)
        run(first, second)
        return log
        """,
    "an event is waited for in it": """
        event = threading.Event()
        def first():
            with lock:
                event.wait()
        def second():
            with lock:
                event.set()
        run(first, second)
        """,
    "a condition waits": """
        condition = threading.Condition(lock)
        def first():
            with condition:
                while not box.x:
                    condition.wait()
                log.append(box.x)
        def second():
            with lock:
                box.x = 1
                condition.notify()
        run(first, second)
        return log
        """,
    "a queue is used in it": """
        mailbox = queue.Queue()
        def first():
            with lock:
                mailbox.put(1)
                mailbox.put(2)
        def second():
            log.append(mailbox.get())
            log.append(mailbox.qsize())
        run(first, second)
        return log
        """,
    "a thread is started in it": """
        def helper():
            box.x += 1
        def first():
            with lock:
                thread = threading.Thread(target=helper)
                thread.start()
                log.append(box.x)
            thread.join()
        def second():
            with lock:
                box.y += 1
        run(first, second)
        return log
        """,
    "a value is drawn in it": """
        def work():
            with lock:
                box.x += dpor.choose(range(2))
        run(work, work)
        return box.x
        """,
    "a future is settled in it": """
        future = Future()
        def first():
            with lock:
                box.x = 1
                future.set_result(1)
                box.x = 2
        def second():
            log.append((future.result(), box.x))
        run(first, second)
        return log
        """,
    "an atomic is exchanged in it": """
        flag = dpor.Atomic(0)
        def first():
            with lock:
                flag.compare_exchange(0, 1)
                box.x = 1
        def second():
            log.append(flag.load())
            log.append(box.x)
        run(first, second)
        return log
        """,
    "a loop spins in it": """
        def first():
            with lock:
                while not box.x:
                    pass
        def second():
            box.x = 1
        run(first, second)
        """,
    "a loop looks again and again": """
        def first():
            while True:
                with lock:
                    if box.x:
                        break
        def second():
            with lock:
                box.x = 1
        run(first, second)
        """,
    "a loop looks for what never comes": """
        def first():
            while True:
                with lock:
                    if box.x:
                        break
        def second():
            with lock:
                box.y = 1
        run(first, second)
        """,
    "a thread stops for good in it": """
        def work():
            with lock:
                box.x += 1
                dpor.assume(box.x < 2)
                box.y = box.x
        run(work, work)
        return box.x, box.y
        """,
    "a predicate is waited for": """
        def first():
            dpor.wait_until(lambda: box.x == 1)
            log.append(box.y)
        def second():
            with lock:
                box.x = 1
                box.x = 2
                box.x = 1
                box.y = 1
        run(first, second)
        return log
        """,
    "time passes in it": """
        def first():
            with lock:
                time.sleep(1)
            log.append(time.monotonic())
        def second():
            with lock:
                log.append(time.monotonic())
        run(first, second)
        return log
        """,
    "what it accesses depends on the others": """
        def first():
            with lock:
                if box.x:
                    box.y = 1
                else:
                    found["key"] = 1
        def second():
            with lock:
                box.x = 1
        def third():
            with lock:
                log.append((box.y, found.get("key")))
        run(first, second, third)
        return log
        """,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_no_order_is_lost_where_sections_are_more_than_their_accesses(tmp_path: Path, name: str) -> None:
    program = write(tmp_path, ORDINARY[name])
    comparison = compared(program, 10.0)
    assert comparison.answer is Answer.SAME
    oracle = explored(program, False, 10.0, "exhaustive")
    assert oracle.verdict is comparison.joined.verdict
    if oracle.verdict is Verdict.VERIFIED:
        assert comparison.joined.outcomes == oracle.outcomes


PACKAGES = {
    "foreign_counter": "import foreign_list\ndef add(x):\n    return foreign_list.keep(x)\n",
    "foreign_list": "made = []\ndef keep(x):\n    made.append(x)\n    return len(made)\n",
}


def test_code_that_nobody_looks_into_keeps_its_orders_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    for name, text in PACKAGES.items():
        (packages / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(packages))
    program = write(
        tmp_path,
        """
        import foreign_counter
        def first():
            with lock:
                box.x = foreign_counter.add(1)
        def second():
            with lock:
                box.y = foreign_counter.add(1)
        run(first, second)
        return box.x - box.y
        """,
    )
    comparison = compared(program, 10.0)
    assert comparison.answer is Answer.SAME
    assert len(comparison.joined.outcomes) == 2
    # Both packages: the one that is called, and the one that only it calls.
    assert comparison.joined.assumptions == {("unseen-code", name) for name in PACKAGES}


FAILING = {
    "an assertion in a section": """
        def work():
            with lock:
                box.x += 1
                assert box.x < 2
        run(work, work)
        """,
    "an assertion at the end": """
        def first():
            with lock:
                seen = box.x
            with lock:
                box.x = seen + 1
        run(first, first)
        assert box.x == 2
        """,
    "an exception that leaves a lock held": """
        def work():
            lock.acquire()
            box.x += 1
            if box.x == 2:
                raise ValueError(box.x)
            lock.release()
        run(work, work)
        """,
    "threads that wait for each other": """
        first, second = threading.Event(), threading.Event()
        def one():
            with lock:
                box.x += 1
            first.wait()
            second.set()
        def two():
            with lock:
                box.x += 1
            second.wait()
            first.set()
        run(one, two)
        """,
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_is_told_step_by_step(tmp_path: Path, name: str) -> None:
    program = write(tmp_path, FAILING[name])
    told = [
        check_model(
            CheckRequest(str(program), "model", str(tmp_path), options={"sections": sections})
        ).violations
        for sections in (True, False)
    ]
    assert told[0]
    first, second = told[0][0], told[1][0]
    assert (first.code, first.message, first.location) == (second.code, second.message, second.location)
    operations = [step.operation for step in first.trace]
    assert "acquire" in operations
    assert "release" in operations
    # The schedule leads there again, with nothing known of sections.
    again = replay_model(ReplayRequest(str(program), "model", str(tmp_path), first.schedule))
    assert again.divergence is None
    assert again.violation is not None
    assert again.violation.message == first.message
