"""Objects whose state lives in C are shared objects too."""

import array
import collections
import contextlib
import functools
import heapq
import io
import random
import threading

import dpor


def _in_two_threads(first, second):
    dpor.spawn(first)
    dpor.spawn(second)
    dpor.join_all()


@dpor.model(expect="violated")
def deque_checked_then_popped():
    items = collections.deque([1])

    def take():
        if items:
            items.popleft()

    _in_two_threads(take, take)


@dpor.model
def deque_checked_then_popped_fixed():
    items = collections.deque([1])

    def take():
        with contextlib.suppress(IndexError):
            items.popleft()

    _in_two_threads(take, take)


@dpor.model(expect="violated")
def heap_checked_then_popped():
    heap = [3]

    def take():
        if heap:
            heapq.heappop(heap)

    _in_two_threads(take, take)


@dpor.model
def heap_checked_then_popped_fixed():
    heap = [3]
    lock = threading.Lock()

    def take():
        with lock:
            if heap:
                heapq.heappop(heap)

    _in_two_threads(take, take)


@dpor.model(expect="violated")
def order_of_writes_to_a_text_buffer():
    text = io.StringIO()
    _in_two_threads(lambda: text.write("a"), lambda: text.write("b"))
    assert text.getvalue() == "ab"


@dpor.model
def order_of_writes_to_a_text_buffer_fixed():
    text = io.StringIO()
    _in_two_threads(lambda: text.write("a"), lambda: text.write("b"))
    assert sorted(text.getvalue()) == ["a", "b"]


@dpor.model(expect="violated")
def order_of_draws_from_one_generator():
    generator = random.Random(7)
    first = random.Random(7).random()
    drawn = [0.0, 0.0]

    def draw(place):
        drawn[place] = generator.random()

    _in_two_threads(lambda: draw(0), lambda: draw(1))
    assert drawn[0] == first


@dpor.model
def order_of_draws_from_one_generator_fixed():
    first = random.Random(7).random()
    drawn = [0.0, 0.0]

    def draw(place):
        drawn[place] = random.Random(7).random()

    _in_two_threads(lambda: draw(0), lambda: draw(1))
    assert drawn == [first, first]


@dpor.model(expect="violated")
def order_of_bytes():
    data = bytearray()
    _in_two_threads(lambda: data.append(1), lambda: data.append(2))
    assert data == b"\x01\x02"


@dpor.model
def order_of_bytes_fixed():
    data = bytearray()
    _in_two_threads(lambda: data.append(1), lambda: data.append(2))
    assert sorted(data) == [1, 2]


@dpor.model(expect="violated")
def lost_update_in_a_counter():
    seen = collections.Counter()

    def see():
        seen["x"] += 1

    _in_two_threads(see, see)
    assert seen["x"] == 2


@dpor.model
def lost_update_in_a_counter_fixed():
    seen = collections.Counter()
    lock = threading.Lock()

    def see():
        with lock:
            seen["x"] += 1

    _in_two_threads(see, see)
    assert seen["x"] == 2


@dpor.model(expect="violated")
def lost_update_in_a_default_dict():
    totals = collections.defaultdict(int)

    def add():
        totals["x"] += 1

    _in_two_threads(add, add)
    assert totals["x"] == 2


@dpor.model
def lost_update_in_a_default_dict_fixed():
    totals = collections.defaultdict(list)

    def add():
        totals["x"].append(1)

    totals["x"] = []
    _in_two_threads(add, add)
    assert totals["x"] == [1, 1]


@dpor.model(expect="violated")
def lost_update_in_an_array():
    numbers = array.array("i", [0])

    def add():
        numbers[0] += 1

    _in_two_threads(add, add)
    assert numbers[0] == 2


@dpor.model
def lost_update_in_an_array_fixed():
    numbers = array.array("i", [0])
    lock = threading.Lock()

    def add():
        with lock:
            numbers[0] += 1

    _in_two_threads(add, add)
    assert numbers[0] == 2


@dpor.model(expect="violated")
def cached_function_runs_twice():
    """`lru_cache` keeps its table consistent, but lets two first calls both compute."""
    made = []

    @functools.lru_cache
    def make():
        made.append(1)
        return len(made)

    _in_two_threads(make, make)
    assert made == [1]


@dpor.model
def cached_function_runs_twice_fixed():
    made = []
    lock = threading.Lock()

    @functools.lru_cache
    def make():
        made.append(1)
        return len(made)

    def make_once():
        with lock:
            make()

    _in_two_threads(make_once, make_once)
    assert made == [1]
