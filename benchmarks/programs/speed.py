"""Models for the speed rows: how many executions a second, and how the cost of an event and memory grow."""

import threading

import dpor


@dpor.model
def thirty_events(threads: int = 3, rounds: int = 5):
    """Thirty events an execution, every one on a location that threads race for: `threads` x `rounds` x 2.

    Each thread reads one of its two neighbours' variables and writes its own; all are read and written by
    several.
    """
    cells = [dpor.Atomic(0) for _ in range(threads)]

    def work(me):
        mine, other = cells[me], cells[(me + 1) % threads]
        for i in range(rounds):
            other.load()
            mine.store(i)

    for me in range(threads):
        dpor.spawn(work, me)


@dpor.model
def thirty_plain_events(rounds: int = 5):
    """Thirty events an execution on plain attributes: two threads, `rounds` increments of a shared attribute
    each.

    An increment is a load and a store; a third thread only reads.
    """
    shared = Shared()

    def increment():
        for _ in range(rounds):
            shared.value += 1

    def watch():
        for _ in range(2 * rounds):
            shared.value  # noqa: B018 - the read is the event

    dpor.spawn(increment)
    dpor.spawn(increment)
    dpor.spawn(watch)


@dpor.model
def thirty_locked_events(rounds: int = 3):
    """Thirty events an execution under one lock: two threads, `rounds` times acquire, read, write, write,
    release.
    """
    lock = threading.Lock()
    cell = dpor.Atomic(0)

    def work():
        for _ in range(rounds):
            with lock:
                value = cell.load()
                cell.store(value + 1)
                cell.store(value)

    dpor.spawn(work)
    dpor.spawn(work)


class Shared:
    """One attribute that threads race for."""

    def __init__(self):
        self.value = 0


@dpor.model
def long_execution(length: int = 100):
    """One thread reads a location `length` times while another writes it once.

    Both the number of executions and the events of each are `length` + 1, so that seconds divided by events
    is the cost of an event at that length.
    """
    shared = dpor.Atomic(0)

    def read():
        for _ in range(length):
            shared.load()

    dpor.spawn(read)
    dpor.spawn(shared.store, 1)


@dpor.model
def many_executions(threads: int = 2, rounds: int = 4):
    """Unprotected increments: more executions than anyone waits for, for measuring memory as they pass."""
    cell = dpor.Atomic(0)

    def increment():
        for _ in range(rounds):
            cell.store(cell.load() + 1)

    for _ in range(threads):
        dpor.spawn(increment)


@dpor.model
def small():
    """The smallest model worth checking: a lost update, for timing a whole process."""
    shared = Shared()

    def increment():
        shared.value += 1

    dpor.spawn(increment)
    dpor.spawn(increment)
    dpor.join_all()
    assert shared.value <= 2
