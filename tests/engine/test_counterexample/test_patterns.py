"""Known shapes of bugs, and what is not one of them."""

from __future__ import annotations

from pathlib import Path

from scripted import LOST_UPDATE, ONE, SPAWNED, TWO, broken, lost_update, shown, steps

from dpor.codes import Code
from dpor.results import Pattern, ViolationKind


def test_a_lost_update_shows_the_reads_the_writes_and_the_check(tmp_path: Path):
    violation = lost_update(tmp_path)
    assert shown(violation) == [
        "main.0 load Account#1.balance 100",
        "main.1 load Account#1.balance 100",
        "main.1 store Account#1.balance 130",
        "main.0 store Account#1.balance 120",
        "main load Account#1.balance 120",
    ]
    assert violation.pattern is Pattern.LOST_UPDATE
    assert violation.code is Code.ASSERTION
    assert violation.message == "assertion failed: account.balance == 150"


def test_a_blind_overwrite_is_no_lost_update(tmp_path: Path):
    source = LOST_UPDATE.replace("self.balance = balance + amount", "self.balance = amount")
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "store balance"), (TWO, "")])
    assert violation.pattern is None


def test_an_augmented_assignment_of_an_item_is_a_lost_update(tmp_path: Path):
    source = """
        def add(totals):
            totals["all"] += 1

        def model():
            totals = {"all": 0}
            first = spawn(add, totals)
            second = spawn(add, totals)
            join(first)
            join(second)
            assert totals["all"] == 2
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "store all"), (TWO, "")])
    assert violation.pattern is Pattern.LOST_UPDATE
    assert shown(violation)[0] == "main.0 load totals['all'] 0"


def test_a_read_in_a_helper_counts_where_the_helper_was_called(tmp_path: Path):
    source = """
        class Counter:
            def __init__(self):
                self.value = 0

            def get(self):
                return self.value

            def set(self, value):
                self.value = value

            def increment(self):
                value = self.get()
                self.set(value + 1)

        def model():
            counter = Counter()
            first = spawn(counter.increment)
            second = spawn(counter.increment)
            join(first)
            join(second)
            assert counter.value == 2
    """
    script = [*SPAWNED, (ONE, "store value"), (TWO, "")]
    assert broken(tmp_path, source, script).pattern is Pattern.LOST_UPDATE


LAZY = """
    class Registry:
        def __init__(self):
            self.made = {}
            self.seen = []

        def get(self):
            if "x" not in self.made:
                self.made["x"] = make()
            self.seen.append(self.made["x"])

    def make():
        return object()

    def model():
        registry = Registry()
        first = spawn(registry.get)
        second = spawn(registry.get)
        join(first)
        join(second)
        assert registry.seen[0] is registry.seen[1]
"""


def test_a_lazy_initialisation_is_check_then_act(tmp_path: Path):
    violation = broken(tmp_path, LAZY, [*SPAWNED, (ONE, "store x"), (TWO, "")])
    assert violation.pattern is Pattern.CHECK_THEN_ACT
    assert "main.0 contains Registry#1.made['x'] False" in shown(violation)
    assert any(step.target == "Registry#1.seen.append()" for step in violation.trace)


def test_popping_what_another_thread_took_is_check_then_act(tmp_path: Path):
    source = """
        def take(items):
            if len(items) > 0:
                items.pop()

        def model():
            items = [1]
            first = spawn(take, items)
            second = spawn(take, items)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "pop"), (TWO, "")])
    assert violation.kind is ViolationKind.EXCEPTION
    assert violation.pattern is Pattern.CHECK_THEN_ACT
    assert shown(violation) == [
        "main.0 length items 1",
        "main.1 length items 1",
        "main.1 call items.pop() 1",
    ]
    assert violation.location is not None
    assert violation.location.line == 4


def test_an_assertion_about_something_else_is_not_check_then_act(tmp_path: Path):
    source = """
        class State:
            def __init__(self):
                self.ready = True
                self.value = 0

        def work(state):
            if state.ready:
                assert state.value == 0

        def stop(state):
            state.ready = False
            state.value = 1

        def model():
            state = State()
            first = spawn(work, state)
            second = spawn(stop, state)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "load value"), (TWO, "")])
    assert violation.pattern is None


def test_two_withdrawals_that_check_both_accounts_are_write_skew(tmp_path: Path):
    source = """
        class Pair:
            def __init__(self):
                self.x = 1
                self.y = 1

        def drop_x(pair):
            if pair.x + pair.y > 1:
                pair.x = 0

        def drop_y(pair):
            if pair.x + pair.y > 1:
                pair.y = 0

        def model():
            pair = Pair()
            first = spawn(drop_x, pair)
            second = spawn(drop_y, pair)
            join(first)
            join(second)
            assert pair.x + pair.y > 0
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "store x"), (TWO, "")])
    assert violation.pattern is Pattern.WRITE_SKEW


def test_what_the_failure_does_not_depend_on_does_not_matter(tmp_path: Path):
    source = """
        class Shop:
            def __init__(self):
                self.lock = Lock()
                self.log_lock = Lock()
                self.sold = 0
                self.log = []
                self.price = 5

        def sell(shop):
            shop.log_lock.acquire()
            shop.log.append(shop.price)
            shop.log_lock.release()
            shop.lock.acquire()
            sold = shop.sold
            shop.lock.release()
            shop.lock.acquire()
            shop.sold = sold + 1
            shop.lock.release()

        def model():
            shop = Shop()
            first = spawn(sell, shop)
            second = spawn(sell, shop)
            join(first)
            join(second)
            assert shop.sold == 2
    """
    stale = [(ONE, "acquire"), (ONE, "acquire"), (ONE, "acquire")]
    violation = broken(tmp_path, source, [*SPAWNED, *stale, (TWO, "")])
    assert violation.pattern is Pattern.LOST_UPDATE
    assert {step.target for step in violation.trace if step.matters} == {"Shop#1.sold", "Shop#1.lock"}
    assert [step.held for step in steps(violation, "load") if step.target == "Shop#1.sold"] == [
        ("Shop#1.lock",),
        ("Shop#1.lock",),
        (),
    ]


def test_what_uninstrumented_code_guards_is_shown_by_its_locks(tmp_path: Path):
    source = """
        def work(lock, hidden, fails):
            lock.acquire()
            value = opaque(hidden)
            lock.release()
            if fails:
                raise LookupError

        def opaque(hidden):
            return hidden.__getitem__(0)

        def model():
            lock = Lock()
            hidden = (1,)
            first = spawn(work, lock, hidden, False)
            second = spawn(work, lock, hidden, True)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, ""), (TWO, "")])
    assert {step.target for step in violation.trace if step.matters} == {"lock"}


def test_releasing_on_the_way_out_of_a_failure_does_not_matter(tmp_path: Path):
    source = """
        def grab(lock, items):
            lock.acquire()
            try:
                items.pop()
            finally:
                lock.release()

        def model():
            lock = Lock()
            items = [1]
            first = spawn(grab, lock, items)
            second = spawn(grab, lock, items)
            join(first)
            join(second)
    """
    violation = broken(tmp_path, source, [*SPAWNED, (ONE, "")])
    assert [step.thread for step in violation.trace if step.matters and step.operation == "release"] == [ONE]
