"""Value-centric exploration: the reference counts, the root thread, and what it does not treat."""

from __future__ import annotations

import expectations
import pytest

from dpor.codes import Code
from dpor.counterexample.schedule import decode
from dpor.errors import DporError
from dpor.results import Verdict, ViolationKind

# Rows of more executions, and those in which one execution is very long, take too long for a test.
LIMIT = 5000
LONG = {"length_param": 64}


def _rows():
    for row in expectations.load():
        most = row.most_value_classes
        if most <= LIMIT and row.parameters.get("n", 0) <= LONG.get(row.program, most + row.classes):
            yield pytest.param(row, id=row.name)


@pytest.mark.share(2)
@pytest.mark.parametrize("row", list(_rows()))
def test_each_class_is_explored_once_and_there_are_no_more_than_published(row, check):
    result = check(row.file, row.program, dict(row.parameters), algorithm="value-centric")
    explored = result.executions + result.blocked
    assert result.verdict is Verdict.VERIFIED
    assert explored == result.classes
    assert result.redundant == 0
    if row.name in expectations.MORE_VALUE_CLASSES:
        assert explored == expectations.MORE_VALUE_CLASSES[row.name]
    elif row.name in expectations.FEWER_VALUE_CLASSES:
        assert explored == expectations.FEWER_VALUE_CLASSES[row.name]
    else:
        assert explored == row.most_value_classes


def _floating_read(check, n, **options):
    row = expectations.expected("floating_read", {"n": 4})
    return check(row.file, row.program, {"n": n}, algorithm="value-centric", **options)


def test_writers_of_fifteen_values_and_a_reader_take_less_than_a_second(check):
    result = _floating_read(check, 15)
    assert (result.executions, result.redundant, result.classes) == (16, 0, 16)
    assert result.seconds < 1


MODELS = """
import queue
import threading

import dpor


@dpor.model
def written_twice():
    x = dpor.Atomic(0)
    seen = []

    def first():
        x.store(1)
        seen.append(x.load())

    def second():
        x.store(1)

    dpor.spawn(first)
    dpor.spawn(second)
    dpor.join_all()


@dpor.model
def crossed():
    one, two = threading.Lock(), threading.Lock()

    def take(first, second):
        with first:
            with second:
                pass

    dpor.spawn(take, one, two)
    dpor.spawn(take, two, one)
    dpor.join_all()


@dpor.model
def lost_at_the_end():
    x = dpor.Atomic(0)

    def add():
        x.store(x.load() + 1)

    dpor.spawn(add)
    dpor.spawn(add)
    dpor.join_all()
    assert x.load() == 2


@dpor.model
def unlike_by_type():
    x = dpor.Atomic(0)
    dpor.spawn(x.store, True)
    dpor.spawn(x.store, 1)
    assert x.load() is not True


@dpor.model
def may_miss_its_notification():
    condition = threading.Condition()

    def waits():
        with condition:
            condition.wait()

    dpor.spawn(waits)
    with condition:
        condition.notify()
    dpor.join_all()


@dpor.model
def one_slot(items=2):
    slots = queue.Queue(maxsize=1)
    got = []

    def produce():
        for item in range(items):
            slots.put(item)

    dpor.spawn(produce)
    for _ in range(items):
        got.append(slots.get())
    dpor.join_all()
    assert got == list(range(items))


@dpor.model
def cleared_before_it_is_seen():
    event = threading.Event()
    woken = []

    def waits():
        event.wait()
        woken.append(event.is_set())

    dpor.spawn(waits)
    event.set()
    event.clear()
    dpor.join_all()
    assert woken == [True]


@dpor.model
def polls():
    done = dpor.Atomic(False)

    def poll():
        while not done.load():
            pass

    dpor.spawn(poll)
    done.store(True)


@dpor.model
def waits_for_a_predicate():
    done = dpor.Atomic(False)
    dpor.spawn(done.store, True)
    dpor.wait_until(lambda: done.load())


@dpor.model
def waits_among_many(n: int = 6):
    turn = dpor.Atomic(0)
    for _ in range(n):
        dpor.spawn(turn.store, 1)
    dpor.wait_until(lambda: turn.load() == 1)


@dpor.model
def overwritten():
    turn = dpor.Atomic(0)
    dpor.spawn(turn.store, 1)
    dpor.spawn(turn.store, 0)
    dpor.wait_until(lambda: turn.load() == 1)


@dpor.model
def overwritten_for_a_loop():
    turn = dpor.Atomic(0)

    def poll():
        while turn.load() != 1:
            pass

    dpor.spawn(poll)
    dpor.spawn(turn.store, 1)
    dpor.spawn(turn.store, 0)


@dpor.model
def waits_for_two():
    here, there = dpor.Atomic(0), dpor.Atomic(0)
    dpor.spawn(here.store, 1)
    dpor.spawn(there.store, 1)
    dpor.wait_until(lambda: here.load() and there.load())


@dpor.model
def waits_for_two_at_once():
    here, there = dpor.Atomic(1), dpor.Atomic(0)

    def moves():
        here.store(0)
        there.store(1)

    dpor.spawn(moves)
    dpor.wait_until(lambda: here.load() and there.load())
"""


@pytest.fixture
def check_here(check, tmp_path):
    """Return `check_here(model, **options)` for the models above, value-centric."""
    path = tmp_path / "models.py"
    path.write_text(MODELS, encoding="utf-8")
    return lambda model, **options: check(path, model, **{"algorithm": "value-centric", **options})


def test_reads_of_one_value_are_told_apart_by_side_for_the_root_alone(check_here):
    assert check_here("written_twice").classes == 2
    assert check_here("written_twice", root="main.0").classes == 2
    assert check_here("written_twice", root="main.1").classes == 1
    assert check_here("written_twice", root="main").classes == 1


def test_a_deadlock_and_a_failed_assertion_after_joins_are_found(check_here):
    kinds = {violation.kind for violation in check_here("crossed").violations}
    assert kinds == {ViolationKind.DEADLOCK}
    kinds = {violation.kind for violation in check_here("lost_at_the_end").violations}
    assert kinds == {ViolationKind.ASSERTION}


def test_a_notification_that_comes_too_early_is_missed(check_here):
    result = check_here("may_miss_its_notification")
    assert {violation.kind for violation in result.violations} == {ViolationKind.DEADLOCK}
    assert (result.executions, result.blocked, result.redundant) == (1, 1, 0)


def test_a_full_queue_makes_its_producer_wait(check_here):
    result = check_here("one_slot")
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == result.classes > 1
    assert (result.blocked, result.redundant) == (0, 0)


def test_who_waits_for_an_event_is_woken_even_if_it_was_cleared_again(check_here):
    kinds = {violation.kind for violation in check_here("cleared_before_it_is_seen").violations}
    # It may also come only after both, and wait for ever.
    assert kinds == {ViolationKind.ASSERTION, ViolationKind.DEADLOCK}


def test_equal_values_of_different_types_are_different(check_here):
    assert check_here("unlike_by_type").verdict is Verdict.VIOLATED


@pytest.mark.parametrize("model", ["polls", "waits_for_a_predicate"])
def test_who_only_looks_reads_what_is_there_or_stops(check_here, model):
    result = check_here(model)
    assert result.verdict is Verdict.VERIFIED
    # What was looked for is seen at once, or there is another execution in which it is.
    assert (result.executions, result.blocked, result.redundant) == (1, 1, 0)


def test_a_wait_for_one_value_of_many_is_one_execution_for_each_value(check_here):
    result = check_here("waits_among_many")
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 1
    assert result.executions + result.blocked == result.classes


@pytest.mark.parametrize(
    ("model", "kind"),
    [("overwritten", ViolationKind.DEADLOCK), ("overwritten_for_a_loop", ViolationKind.LIVELOCK)],
)
def test_who_looks_for_ever_in_one_execution_of_a_class_is_found(check_here, model, kind):
    for algorithm in ("value-centric", "optimal"):
        result = check_here(model, algorithm=algorithm)
        assert {violation.kind for violation in result.violations} == {kind}
        schedule = decode(result.violations[0].schedule)
        assert schedule.waits_by_spinning == (algorithm == "value-centric")


def test_a_predicate_that_looks_at_several_things_looks_at_them_at_one_moment(check_here):
    assert check_here("waits_for_two").verdict is Verdict.VERIFIED
    kinds = {violation.kind for violation in check_here("waits_for_two_at_once").violations}
    assert kinds == {ViolationKind.DEADLOCK}
    assert check_here("waits_for_two_at_once").executions == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"root": "main.7"}, "no such thread"),
        ({"root": "worker"}, "path of a thread"),
        ({"algorithm": "optimal", "root": "main.0"}, "belongs to algorithm 'value-centric'"),
        ({"races": "error"}, "data races"),
        ({"preemption_bound": 2}, "preemption_bound"),
    ],
)
def test_options_that_make_no_sense_are_refused(check_here, options, words):
    with pytest.raises(DporError) as refused:
        check_here("written_twice", **options)
    assert refused.value.code is Code.BAD_OPTION
    assert words in f"{refused.value}{refused.value.fix}"
