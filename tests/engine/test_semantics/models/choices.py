"""dpor.choose, nondet_int, nondet_bool, assume, wait_until and Atomic."""

import operator

from outcomes import outcome

import dpor

EXPECTED = {
    "choose": ["a", "b", "c"],
    "choose_from_one": "verified",
    "choose_from_nothing": ["DPOR202 ValueError: choose needs at least one option"],
    "choices_multiply": ["0 0", "0 1", "1 0", "1 1"],
    "choices_in_threads": ["0 0", "0 1", "1 0", "1 1"],
    "bounded_integer": ["-1", "0", "1"],
    "boolean": ["False", "True"],
    "assume": ["1"],
    "assume_nothing": "verified",
    "assume_in_a_thread": ["main goes on"],
    "joining_a_thread_that_assumed_wrongly": "verified",
    "wait_until": "verified",
    "wait_until_it_holds_already": "verified",
    "wait_until_never": ["deadlock"],
    "two_wait_for_one": "verified",
    "one_waits_for_two": "verified",
    "wait_until_it_held_for_a_moment": ["deadlock", "seen"],
    "wait_until_that_writes_of_two_threads_spoil": ["deadlock", "seen"],
    "ticket_lock": "verified",
    "atomic_counter": "verified",
    "compare_exchange": ["False True", "True False"],
}
COUNTS = {
    "choose": (3, 0),
    "choices_multiply": (4, 0),
    "choices_in_threads": (4, 0),
    "assume": (1, 2),
    "assume_nothing": (0, 1),
    "wait_until": (1, 0),
    "wait_until_never": (0, 1),
    "wait_until_that_writes_of_two_threads_spoil": (2, 2),
    "two_wait_for_one": (1, 0),
    "one_waits_for_two": (2, 0),
    "atomic_counter": (2, 0),
    "compare_exchange": (2, 0),
}


@dpor.model
def choose():
    outcome(dpor.choose("abc"))


@dpor.model
def choose_from_one():
    assert dpor.choose([7]) == 7


@dpor.model
def choose_from_nothing():
    dpor.choose([])


@dpor.model
def choices_multiply():
    outcome(dpor.choose((0, 1)), dpor.choose(range(2)))


@dpor.model
def choices_in_threads():
    drawn = {}

    def draw(number):
        drawn[number] = dpor.choose((0, 1))

    dpor.spawn(draw, 0)
    dpor.spawn(draw, 1)
    dpor.join_all()
    outcome(drawn[0], drawn[1])


@dpor.model
def bounded_integer():
    outcome(operator.index(dpor.nondet_int("x", -1, 1)))


@dpor.model
def boolean():
    outcome(bool(dpor.nondet_bool()))


@dpor.model
def assume():
    drawn = dpor.choose(range(3))
    dpor.assume(drawn == 1)
    outcome(drawn)


@dpor.model
def assume_nothing():
    dpor.assume(False)


@dpor.model
def assume_in_a_thread():
    dpor.spawn(dpor.assume, False)
    outcome("main goes on")


@dpor.model
def joining_a_thread_that_assumed_wrongly():
    dpor.spawn(dpor.assume, False)
    dpor.join_all()
    raise AssertionError("joined")


@dpor.model
def wait_until():
    box = []
    dpor.spawn(box.append, 1)
    dpor.wait_until(lambda: box)
    assert box == [1]


@dpor.model
def wait_until_it_holds_already():
    dpor.wait_until(lambda: True)


@dpor.model
def wait_until_never():
    dpor.wait_until(lambda: False)


class Shared:
    def __init__(self):
        self.ready = 0
        self.turn = 0
        self.next_ticket = dpor.Atomic(0)
        self.one = self.two = 0


@dpor.model
def two_wait_for_one():
    shared, seen = Shared(), [0, 0]

    def wait(number):
        dpor.wait_until(lambda: shared.ready)
        seen[number] = 1

    dpor.spawn(wait, 0)
    dpor.spawn(wait, 1)
    shared.ready = 1
    dpor.join_all()
    assert seen == [1, 1]


@dpor.model
def one_waits_for_two():
    arrived = {}
    for number in range(2):
        dpor.spawn(arrived.__setitem__, number, True)
    dpor.wait_until(lambda: 0 in arrived and 1 in arrived)
    assert len(arrived) == 2


@dpor.model
def wait_until_it_held_for_a_moment():
    shared = Shared()

    def blink():
        shared.ready = 1
        shared.ready = 0

    dpor.spawn(blink)
    dpor.wait_until(lambda: shared.ready)
    outcome("seen")


@dpor.model
def wait_until_that_writes_of_two_threads_spoil():
    shared = Shared()

    def first():
        shared.one = 1

    def second():
        shared.two = 1

    dpor.spawn(first)
    dpor.spawn(second)
    dpor.wait_until(lambda: shared.one == 0 and shared.two == 0)
    outcome("seen")


@dpor.model
def ticket_lock():
    shared, inside = Shared(), []

    def enter():
        ticket = shared.next_ticket.fetch_add(1)
        dpor.wait_until(lambda: shared.turn == ticket)
        inside.append(ticket)
        assert inside == [ticket]
        inside.remove(ticket)
        shared.turn = ticket + 1

    for _ in range(2):
        dpor.spawn(enter)
    dpor.join_all()
    assert shared.turn == 2


@dpor.model
def atomic_counter():
    count = dpor.Atomic(0)
    dpor.spawn(count.fetch_add, 1)
    dpor.spawn(count.fetch_add, 2)
    dpor.join_all()
    assert count.value == 3


@dpor.model
def compare_exchange():
    flag, won = dpor.Atomic(False), {}

    def claim(number):
        won[number] = flag.compare_exchange(False, True)

    dpor.spawn(claim, 0)
    dpor.spawn(claim, 1)
    dpor.join_all()
    outcome(won[0], won[1])
