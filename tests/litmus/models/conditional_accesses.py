"""Operations that read or write depending on the state they meet, raced from both sides.

What such an operation touches in another order of events differs from what it touched in the order that was
seen: a compare-exchange writes only if it succeeds, a first insertion changes a container's length, a wait
for a predicate reads whatever the predicate reads. EXPECTED has the (complete, blocked) classes of each
model.
"""

import dpor

EXPECTED = {
    "exchange_between_readers": (4, 0),
    "exchange_between_loads_of_two_readers": (9, 0),
    "insertion_lookup_and_length": (4, 0),
    "default_lookup_and_length": (4, 0),
    "set_insertion_lookup_and_length": (4, 0),
    "insertion_after_a_race_and_a_nested_length": (12, 0),
    "wait_passed_or_missed_for_good": (0, 2),
    "wait_before_an_increment": (1, 1),
}


class State:
    def __init__(self):
        self.x = 0
        self.table = {}
        self.found = set()
        self.cell = dpor.Atomic(0)


def _spawn_all(*functions):
    for function in functions:
        dpor.spawn(function)
    dpor.join_all()


@dpor.model
def exchange_between_readers():
    """Each of two readers before or after the exchange."""
    cell = dpor.Atomic(0)
    dpor.spawn(cell.load)
    dpor.spawn(cell.load)
    cell.compare_exchange(0, 1)
    dpor.join_all()


@dpor.model
def exchange_between_loads_of_two_readers():
    cell = dpor.Atomic(0)

    def read_twice():
        cell.load()
        cell.load()

    dpor.spawn(read_twice)
    dpor.spawn(read_twice)
    cell.compare_exchange(0, 1)
    dpor.join_all()


@dpor.model
def insertion_lookup_and_length():
    state = State()

    def insert():
        state.table["k"] = 1

    _spawn_all(insert, lambda: "k" in state.table, lambda: len(state.table))


@dpor.model
def default_lookup_and_length():
    state = State()
    _spawn_all(
        lambda: state.table.setdefault("k", 1),
        lambda: state.table.get("k"),
        lambda: len(state.table),
    )


@dpor.model
def set_insertion_lookup_and_length():
    state = State()
    _spawn_all(lambda: state.found.add(1), lambda: 1 in state.found, lambda: len(state.found))


@dpor.model
def insertion_after_a_race_and_a_nested_length():
    state = State()

    def insert():
        state.x = 0
        state.found.add(1)

    def measure():
        state.x  # noqa: B018 - the read is the event
        len(state.found)

    def look_up():
        state.x = 2
        child = dpor.spawn(measure)
        1 in state.found  # noqa: B015 - the lookup is the event
        child.join()

    _spawn_all(insert, look_up)


@dpor.model
def wait_passed_or_missed_for_good():
    """The second wait never ends; the first does if it comes between the two stores."""
    state = State()

    def pass_through():
        dpor.wait_until(lambda: state.x == 1)

    def pass_by():
        state.x = 1
        state.x = 2
        dpor.wait_until(lambda: state.x == 1)

    _spawn_all(pass_through, pass_by)


@dpor.model
def wait_before_an_increment():
    """The wait ends if it comes between the two stores."""
    state = State()

    def wait():
        dpor.wait_until(lambda: state.x == 1)

    def write():
        state.x = 1
        state.x = 2

    _spawn_all(wait, write)
