"""Threads that wait for ever: who holds what, who waits for whom, and the pattern."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
from scripted import ONE, SPAWNED, TWO, broken, shown, steps

from dpor.checking import check_model
from dpor.results import CheckRequest, Pattern, ViolationKind

DEADLOCK = """
    class Account:
        def __init__(self):
            self.lock = Lock()

    def transfer(source, target):
        source.lock.acquire()
        target.lock.acquire()
        target.lock.release()
        source.lock.release()

    def model():
        a, b = Account(), Account()
        first = spawn(transfer, a, b, name="clerk")
        second = spawn(transfer, b, a)
        join(first)
        join(second)
"""


def test_a_deadlock_names_who_holds_what_and_who_waits(tmp_path: Path):
    violation = broken(tmp_path, DEADLOCK, [*SPAWNED, (ONE, "acquire"), (ONE, "load lock"), (TWO, "")])
    assert violation.kind is ViolationKind.DEADLOCK
    assert violation.pattern is Pattern.LOCK_ORDER_INVERSION
    waits = {wait.thread: wait for wait in violation.waiting}
    assert (waits[ONE].target, waits[ONE].held, waits[ONE].waits_for) == (
        "Account#2.lock",
        ("Account#1.lock",),
        TWO,
    )
    assert (waits[TWO].target, waits[TWO].held, waits[TWO].waits_for) == (
        "Account#1.lock",
        ("Account#2.lock",),
        ONE,
    )
    assert (waits["main"].operation, waits["main"].target, waits["main"].waits_for) == ("join", "clerk", ONE)
    assert violation.location is not None
    assert violation.location.line == 8
    assert shown(violation) == [
        "main.0 acquire Account#1.lock None",
        "main.1 acquire Account#2.lock None",
    ]


def test_locks_of_local_variables_and_lists_have_their_names(tmp_path: Path):
    source = """
        def eat(left, right):
            left.acquire()
            right.acquire()
            right.release()
            left.release()

        def model():
            forks = [Lock(), Lock()]
            extra = Lock()
            first = spawn(eat, forks[0], forks[1])
            second = spawn(eat, forks[1], extra)
            third = spawn(eat, extra, forks[0])
            join(first)
            join(second)
            join(third)
    """
    second_fork = [(path, "acquire") for path in (ONE, TWO, "main.2") for _ in range(2)]
    violation = broken(tmp_path, source, SPAWNED + second_fork)
    assert [step.target for step in steps(violation, "acquire")] == ["forks[0]", "forks[1]", "extra"]


def test_a_notification_before_the_wait_is_a_lost_wakeup(tmp_path: Path):
    source = """
        class Flag:
            def __init__(self):
                self.changed = Condition()
                self.ready = False

        def observer(flag):
            if not flag.ready:
                flag.changed.acquire()
                flag.changed.wait()
                flag.changed.release()

        def announce(flag):
            flag.ready = True
            flag.changed.acquire()
            flag.changed.notify()
            flag.changed.release()

        def model():
            flag = Flag()
            first = spawn(observer, flag)
            second = spawn(announce, flag)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "acquire"), (TWO, "")])
    assert violation.kind is ViolationKind.DEADLOCK
    assert violation.pattern is Pattern.LOST_WAKEUP
    assert [wait.thread for wait in violation.waiting] == ["main", ONE]
    assert violation.waiting[1].target == "Flag#1.changed"
    assert violation.waiting[1].held == ()


def test_waiting_for_what_was_never_announced_is_no_lost_wakeup(tmp_path: Path):
    source = """
        class Flag:
            def __init__(self):
                self.changed = Condition()
                self.ready = False

        def observer(flag):
            flag.changed.acquire()
            while not flag.ready:
                flag.changed.wait()
            flag.changed.release()

        def announce(flag):
            flag.changed.acquire()
            flag.ready = None
            flag.changed.notify()
            flag.changed.release()

        def model():
            flag = Flag()
            first = spawn(observer, flag)
            second = spawn(announce, flag)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (TWO, "")])
    assert violation.kind is ViolationKind.DEADLOCK
    assert violation.pattern is None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cached properties have no locks from Python 3.12 on")
def test_threads_that_wait_inside_of_the_load_of_an_attribute_are_named(tmp_path: Path):
    file = tmp_path / "model.py"
    file.write_text(
        textwrap.dedent(
            """
            import functools, threading, dpor

            class Node:
                def __init__(self, other=None):
                    self.other = other

                @functools.cached_property
                def left(self):
                    return self.other and self.other.right

                @functools.cached_property
                def right(self):
                    return self.other and self.other.left

            @dpor.model
            def model():
                one, two = Node(Node()), Node(Node())
                thread = threading.Thread(target=lambda: one.left)
                thread.start()
                two.right
                thread.join()
            """
        )
    )
    (violation,) = check_model(CheckRequest(str(file), "model", str(tmp_path))).violations
    assert {wait.thread: wait.waits_for for wait in violation.waiting} == {"main": "main.0", "main.0": "main"}
