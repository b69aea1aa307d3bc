"""An iterator is a shared object, whatever language it is written in: `next` reads and moves it in one step."""

import itertools
import threading

import dpor


def _take_in_two_threads(source):
    taken = [None, None]

    def take(place):
        taken[place] = next(source, None)

    dpor.spawn(take, 0)
    dpor.spawn(take, 1)
    dpor.join_all()
    return taken


@dpor.model(expect="violated")
def shared_count():
    assert _take_in_two_threads(itertools.count()) == [0, 1]


@dpor.model
def shared_count_fixed():
    """Which thread gets which number is open, but no number is given twice: `next` is atomic."""
    assert sorted(_take_in_two_threads(itertools.count())) == [0, 1]


@dpor.model(expect="violated")
def shared_list_iterator():
    assert _take_in_two_threads(iter([10, 20])) == [10, 20]


@dpor.model
def shared_list_iterator_fixed():
    assert sorted(_take_in_two_threads(iter([10, 20]))) == [10, 20]


@dpor.model(expect="violated")
def shared_zip():
    assert _take_in_two_threads(zip("ab", "cd", strict=True)) == [("a", "c"), ("b", "d")]


@dpor.model
def shared_zip_fixed():
    assert sorted(_take_in_two_threads(zip("ab", "cd", strict=True))) == [("a", "c"), ("b", "d")]


@dpor.model(expect="violated")
def shared_enumerate():
    assert _take_in_two_threads(enumerate("ab")) == [(0, "a"), (1, "b")]


@dpor.model
def shared_enumerate_fixed():
    assert sorted(_take_in_two_threads(enumerate("ab"))) == [(0, "a"), (1, "b")]


@dpor.model(expect="violated")
def shared_cycle():
    assert _take_in_two_threads(itertools.cycle("ab")) == ["a", "b"]


@dpor.model
def shared_cycle_fixed():
    assert sorted(_take_in_two_threads(itertools.cycle("ab"))) == ["a", "b"]


@dpor.model(expect="violated")
def iterator_behind_a_loop():
    """Two loops over one iterator share its elements out; here the first is thought to get all."""
    source = iter([1, 2])
    sums = [0, 0]

    def add_up(place):
        for value in source:
            sums[place] += value

    dpor.spawn(add_up, 0)
    dpor.spawn(add_up, 1)
    dpor.join_all()
    assert 3 in sums


@dpor.model
def iterator_behind_a_loop_fixed():
    source = iter([1, 2])
    sums = [0, 0]

    def add_up(place):
        for value in source:
            sums[place] += value

    dpor.spawn(add_up, 0)
    dpor.spawn(add_up, 1)
    dpor.join_all()
    assert sum(sums) == 3


class Numbers:
    def __init__(self):
        self.last = 0
        self.lock = threading.Lock()

    def forever(self):
        while True:
            self.last += 1
            yield self.last


@dpor.model(expect="violated")
def shared_generator():
    """A generator can be interrupted; a second thread then gets ValueError: generator already executing."""
    numbers = Numbers()
    source = numbers.forever()

    def take():
        next(source)

    def disturb():
        numbers.last = 5

    dpor.spawn(take)
    dpor.spawn(take)
    dpor.spawn(disturb)
    dpor.join_all()


@dpor.model
def shared_generator_fixed():
    numbers = Numbers()
    source = numbers.forever()

    def take():
        with numbers.lock:
            next(source)

    def disturb():
        with numbers.lock:
            numbers.last = 5

    dpor.spawn(take)
    dpor.spawn(take)
    dpor.spawn(disturb)
    dpor.join_all()
