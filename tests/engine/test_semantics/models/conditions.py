"""threading.Condition: who is woken, in which order, and what a timeout changes."""

import threading

from outcomes import outcome

import dpor

EXPECTED = {
    "notify_wakes_the_longest_waiter": "verified",
    "notify_wakes_as_many_as_it_says": "verified",
    "notify_all_wakes_everybody": "verified",
    "notify_without_waiters_is_lost": ["deadlock", "ended"],
    "timed_wait": ["False", "True"],
    "timed_wait_that_nobody_ends": ["False"],
    "wait_with_timeout_zero": ["False"],
    "notification_goes_to_who_still_waits": ["True False", "False True", "False False"],
    "woken_waiter_needs_the_lock": "verified",
    "if_guard": "verified",
    "if_guard_with_spurious_wakeups": ["early"],
    "while_guard_with_spurious_wakeups": "verified",
    "wait_for_a_predicate": "verified",
    "wait_for_gives_up": ["False", "True"],
    "wait_for_with_nothing_to_wait_for": "verified",
    "notify_without_the_lock": ["DPOR204 RuntimeError: cannot notify on un-acquired lock"],
    "wait_without_the_lock": ["DPOR204 RuntimeError: cannot wait on un-acquired lock"],
    "wait_releases_every_level_of_an_rlock": "verified",
    "wait_keeps_other_locks": ["deadlock"],
    "two_conditions_on_one_lock": "verified",
    "condition_on_a_plain_lock": "verified",
}
COUNTS = {"timed_wait_that_nobody_ends": (1, 0), "wait_for_with_nothing_to_wait_for": (1, 0)}


def _waiters(condition, count, order):
    """Start `count` threads, and return when all wait, in the order of their numbers."""
    waiting = []

    def wait(number):
        with condition:
            waiting.append(number)
            condition.wait()
            order.append(number)

    for number in range(count):
        dpor.spawn(wait, number)
        dpor.wait_until(lambda wanted=number + 1: len(waiting) == wanted)


@dpor.model
def notify_wakes_the_longest_waiter():
    condition, order = threading.Condition(), []
    _waiters(condition, 3, order)
    for woken in range(3):
        with condition:
            condition.notify()
        dpor.wait_until(lambda wanted=woken + 1: len(order) == wanted)
    dpor.join_all()
    assert order == [0, 1, 2]


@dpor.model
def notify_wakes_as_many_as_it_says():
    condition, order = threading.Condition(), []
    _waiters(condition, 3, order)
    with condition:
        condition.notify(2)
    dpor.wait_until(lambda: len(order) == 2)
    assert sorted(order) == [0, 1]
    with condition:
        condition.notify(5)
    dpor.join_all()
    assert order[2] == 2


@dpor.model
def notify_all_wakes_everybody():
    condition, order = threading.Condition(), []
    _waiters(condition, 2, order)
    with condition:
        condition.notify_all()
    dpor.join_all()
    assert sorted(order) == [0, 1]


@dpor.model
def notify_without_waiters_is_lost():
    condition = threading.Condition()

    def wait():
        with condition:
            condition.wait()

    waiter = dpor.spawn(wait)
    with condition:
        condition.notify()
    waiter.join()
    outcome("ended")


@dpor.model
def timed_wait():
    condition, seen = threading.Condition(), []

    def wait():
        with condition:
            seen.append(condition.wait(1))

    dpor.spawn(wait)
    with condition:
        condition.notify()
    dpor.join_all()
    outcome(seen[0])


@dpor.model
def timed_wait_that_nobody_ends():
    condition = threading.Condition()
    with condition:
        outcome(condition.wait(0.5))


@dpor.model
def wait_with_timeout_zero():
    condition = threading.Condition()
    with condition:
        outcome(condition.wait(0))


@dpor.model
def notification_goes_to_who_still_waits():
    condition, seen = threading.Condition(), {}

    def wait(number):
        with condition:
            seen[number] = condition.wait(1)

    dpor.spawn(wait, 0)
    dpor.spawn(wait, 1)
    with condition:
        condition.notify()
    dpor.join_all()
    outcome(seen[0], seen[1])


@dpor.model
def woken_waiter_needs_the_lock():
    condition, log = threading.Condition(), []
    waiting = []

    def wait():
        with condition:
            waiting.append(True)
            condition.wait()
            log.append("woken")

    dpor.spawn(wait)
    dpor.wait_until(lambda: waiting)
    with condition:
        condition.notify()
        log.append("notified")
    dpor.join_all()
    assert log == ["notified", "woken"]


def _guarded(loops):
    condition, box = threading.Condition(), []

    def take():
        with condition:
            if loops:
                while not box:
                    condition.wait()
            elif not box:
                condition.wait()
            if not box:
                outcome("early")

    dpor.spawn(take)
    with condition:
        box.append(1)
        condition.notify()
    dpor.join_all()


@dpor.model
def if_guard():
    _guarded(loops=False)


@dpor.model(spurious_wakeups=True)
def if_guard_with_spurious_wakeups():
    _guarded(loops=False)


@dpor.model(spurious_wakeups=True)
def while_guard_with_spurious_wakeups():
    _guarded(loops=True)


@dpor.model
def wait_for_a_predicate():
    condition, box = threading.Condition(), []

    def take():
        with condition:
            assert condition.wait_for(lambda: box) == [1]

    dpor.spawn(take)
    with condition:
        condition.notify()
    with condition:
        box.append(1)
        condition.notify()
    dpor.join_all()


@dpor.model
def wait_for_gives_up():
    condition, box, seen = threading.Condition(), [], []

    def take():
        with condition:
            seen.append(condition.wait_for(lambda: bool(box), timeout=1))

    dpor.spawn(take)
    with condition:
        box.append(1)
        condition.notify()
    dpor.join_all()
    outcome(seen[0])


@dpor.model
def wait_for_with_nothing_to_wait_for():
    condition = threading.Condition()
    with condition:
        assert condition.wait_for(lambda: 7) == 7
        assert condition.wait_for(lambda: 0, timeout=0) == 0


@dpor.model
def notify_without_the_lock():
    threading.Condition().notify()


@dpor.model
def wait_without_the_lock():
    threading.Condition().wait()


@dpor.model
def wait_releases_every_level_of_an_rlock():
    condition, waiting = threading.Condition(threading.RLock()), []

    def wait():
        with condition, condition:
            waiting.append(True)
            condition.wait()

    dpor.spawn(wait)
    dpor.wait_until(lambda: waiting)
    with condition:
        condition.notify()
    dpor.join_all()


@dpor.model
def wait_keeps_other_locks():
    condition, other = threading.Condition(), threading.Lock()
    waiting = []

    def wait():
        with other, condition:
            waiting.append(True)
            condition.wait()

    dpor.spawn(wait)
    dpor.wait_until(lambda: waiting)
    with other, condition:
        condition.notify()
    dpor.join_all()


@dpor.model
def two_conditions_on_one_lock():
    lock = threading.Lock()
    filled, emptied = threading.Condition(lock), threading.Condition(lock)
    box = []

    def put():
        for item in range(2):
            with emptied:
                while box:
                    emptied.wait()
                box.append(item)
                filled.notify()

    dpor.spawn(put)
    for wanted in range(2):
        with filled:
            while not box:
                filled.wait()
            assert box.pop() == wanted
            emptied.notify()
    dpor.join_all()


@dpor.model
def condition_on_a_plain_lock():
    lock = threading.Lock()
    condition = threading.Condition(lock)
    with condition:
        assert lock.locked()
        assert not lock.acquire(blocking=False)
    assert not lock.locked()
