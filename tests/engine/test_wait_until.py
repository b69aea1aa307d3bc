"""Waiting for a predicate: exact counts."""

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.checking.guided_replay import run_guided
from dpor.counterexample.schedule import decode
from dpor.results import CheckRequest, ReplayRequest

MODELS = '''
import dpor


@dpor.model
def pulse():
    """The predicate holds only between the first store and the second."""
    flag = dpor.Atomic(0)

    def change():
        flag.store(1)
        flag.store(0)
        flag.store(2)

    dpor.spawn(change)
    dpor.spawn(lambda: dpor.wait_until(lambda: flag.load() == 1))
    dpor.join_all()


@dpor.model
def two_variables():
    a, b = dpor.Atomic(0), dpor.Atomic(0)

    def first():
        a.store(1)
        b.store(1)
        a.store(0)

    def second():
        b.store(5)
        b.store(1)

    dpor.spawn(first)
    dpor.spawn(lambda: dpor.wait_until(lambda: a.load() == 1 and b.load() == 1))
    dpor.spawn(second)
    dpor.join_all()


@dpor.model
def hides_the_rest():
    """After the last store the predicate reads `a` alone, and it held before the store to `b`."""
    a, b = dpor.Atomic(1), dpor.Atomic(1)

    def clear():
        b.store(0)
        a.store(0)

    dpor.spawn(clear)
    dpor.spawn(lambda: dpor.wait_until(lambda: a.load() and b.load()))
    dpor.join_all()


@dpor.model
def reads_others_then():
    """Whether the second wait reads `a` and `b`, or `a` and `c`, depends on when `a` is cleared."""
    a, b, c = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)

    def wait():
        dpor.wait_until(lambda: a.load() == b.load())
        dpor.wait_until(lambda: c.load() if a.load() else b.load())

    def write():
        a.store(1)
        c.store(1)

    dpor.spawn(a.store, 0)
    dpor.spawn(wait)
    dpor.spawn(write)
    dpor.join_all()
'''


def check(folder: Path, model: str, algorithm: str):
    file = folder / "waits.py"
    file.write_text(MODELS)
    request = CheckRequest(
        str(file), model, str(folder), options={"algorithm": algorithm}, all_violations=True
    )
    return check_model(request)


@pytest.mark.parametrize("algorithm", ["optimal", "parsimonious", "source", "exhaustive"])
@pytest.mark.parametrize(
    ("model", "executions", "blocked"),
    [
        ("pulse", 1, 1),
        # Writes to variables that one predicate reads together are ordered among each other: without that, 6 and 3.
        ("two_variables", 16, 10),
        ("hides_the_rest", 1, 1),
        ("reads_others_then", 3, 5),
    ],
)
def test_each_class_is_found_though_the_wait_was_not_possible_just_before_the_last_write(
    tmp_path, model, executions, blocked, algorithm
):
    result = check(tmp_path, model, algorithm)
    assert (result.executions, result.blocked) == (executions, blocked)
    assert algorithm in ("source", "exhaustive") or result.redundant == 0


@pytest.mark.parametrize("algorithm", ["graph", "concolic"])
def test_a_counterexample_of_a_wait_that_looks_replays(tmp_path, algorithm):
    file = tmp_path / "waits.py"
    file.write_text(
        """
import dpor


class Shared:
    def __init__(self):
        self.ready = self.value = 0


def produce(shared):
    shared.ready = 1
    shared.value = 1


def consume(shared):
    dpor.wait_until(lambda: shared.ready)
    assert shared.value == 1


@dpor.model
def program():
    shared = Shared()
    dpor.spawn(produce, shared)
    dpor.spawn(consume, shared)
    dpor.join_all()
""",
        encoding="utf-8",
    )
    options = {"algorithm": algorithm}
    request = CheckRequest(str(file), "program", str(tmp_path), options=options)
    [violation] = check_model(request).violations
    assert any(step.operation == "wait-until" for step in violation.trace)
    schedule = decode(violation.schedule)
    assert (schedule.chosen_reads, schedule.waits_by_spinning) == (False, True)
    # Whichever algorithm the model names when it is replayed.
    again = run_guided(ReplayRequest(str(file), "program", str(tmp_path), violation.schedule), schedule)
    assert again.divergence is None
    assert again.violation is not None
    assert again.violation.trace == violation.trace


PRIMITIVES = """
import queue
import threading

import dpor


@dpor.model
def locked():
    lock = threading.Lock()
    seen = dpor.Atomic(0)

    def take():
        with lock:
            pass

    def look():
        dpor.wait_until(lambda: lock.locked())
        seen.store(1)

    {order}


@dpor.model
def event():
    flag = threading.Event()
    seen = dpor.Atomic(0)

    def take():
        flag.set()
        flag.clear()

    def look():
        dpor.wait_until(lambda: flag.is_set())
        seen.store(1)

    {order}


@dpor.model
def queued():
    items = queue.SimpleQueue()
    seen = dpor.Atomic(0)

    def take():
        items.put(1)
        items.put(2)
        items.get()
        items.get()

    def look():
        dpor.wait_until(lambda: items.qsize() == 2)
        seen.store(1)

    {order}
"""


@pytest.mark.parametrize("order", ["take look", "look take"])
@pytest.mark.parametrize("algorithm", ["optimal", "parsimonious", "source", "exhaustive"])
@pytest.mark.parametrize("model", ["locked", "event", "queued"])
def test_the_state_of_a_primitive_that_holds_only_for_a_moment_is_waited_for(
    tmp_path, model, algorithm, order
):
    file = tmp_path / "waits.py"
    file.write_text(PRIMITIVES.format(order="\n    ".join(f"dpor.spawn({name})" for name in order.split())))
    options = {"algorithm": algorithm}
    result = check_model(CheckRequest(str(file), model, str(tmp_path), options=options, all_violations=True))
    assert (result.executions, result.blocked) == (1, 1)
