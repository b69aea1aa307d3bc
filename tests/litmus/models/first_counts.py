"""Small models with the number of Mazurkiewicz classes each has under SC.

EXPECTED maps a model and its parameters to (executions, blocked) of an optimal algorithm run to the end with
every violation; `redundant` must be 0. The numbers were counted by enumerating all interleavings and keeping
distinct dependence graphs, without any reduction.
"""

import threading

import dpor

EXPECTED = {
    ("lost_update", (("threads", 2),)): (4, 0),
    ("lost_update", (("threads", 3),)): (36, 0),
    ("locked_update", (("threads", 2),)): (2, 0),
    ("locked_update", (("threads", 3),)): (6, 0),
    ("locked_update", (("threads", 4),)): (24, 0),
    ("transfers_opposite", ()): (2, 1),
    ("transfers_ordered", ()): (2, 0),
    ("writers_and_reader", (("n", 3),)): (8, 0),
    ("writers_and_reader", (("n", 8),)): (256, 0),
    ("writers_one_variable", (("n", 3),)): (6, 0),
    ("writers_one_variable", (("n", 5),)): (120, 0),
    ("lazy_init", (("threads", 2),)): (12, 0),
    ("lazy_init", (("threads", 3),)): (450, 0),
    ("buffer_one_to_one", (("items", 1),)): (2, 0),
    ("buffer_one_to_one", (("items", 2),)): (8, 0),
    ("buffer_one_to_one", (("items", 3),)): (32, 0),
    ("buffer_one_to_two", ()): (40, 0),
    ("lost_notify", ()): (56, 4),
    ("notify_all_two_to_two", ()): (80, 0),
}


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()

    def increment(self):
        value = self.value
        self.value = value + 1

    def increment_locked(self):
        with self.lock:
            self.increment()


@dpor.model
def lost_update(threads: int = 2):
    counter = Counter()
    for _ in range(threads):
        dpor.spawn(counter.increment)
    dpor.join_all()
    assert counter.value == threads


@dpor.model
def locked_update(threads: int = 2):
    counter = Counter()
    for _ in range(threads):
        dpor.spawn(counter.increment_locked)
    dpor.join_all()
    assert counter.value == threads


def hold_both(first, second):
    with first, second:
        pass


@dpor.model
def transfers_opposite():
    a, b = threading.Lock(), threading.Lock()
    dpor.spawn(hold_both, a, b)
    dpor.spawn(hold_both, b, a)
    dpor.join_all()


@dpor.model
def transfers_ordered():
    a, b = threading.Lock(), threading.Lock()
    dpor.spawn(hold_both, a, b)
    dpor.spawn(hold_both, a, b)
    dpor.join_all()


@dpor.model
def writers_and_reader(n: int = 3):
    cells = [dpor.Atomic(0) for _ in range(n)]

    def write(cell):
        cell.store(1)

    def read():
        for cell in cells:
            cell.load()

    for cell in cells:
        dpor.spawn(write, cell)
    dpor.spawn(read)
    dpor.join_all()


@dpor.model
def writers_one_variable(n: int = 3):
    cell = dpor.Atomic(0)
    for i in range(n):
        dpor.spawn(cell.store, i)
    dpor.join_all()


class Registry:
    """Each thread: look the key up, make it if missing, look it up again, note that it was seen."""

    def __init__(self):
        self.made = {}
        self.seen = []

    def get(self):
        if "x" not in self.made:
            self.made["x"] = object()
        return self.made["x"]

    def worker(self):
        value = self.get()
        self.seen.append(value)


@dpor.model
def lazy_init(threads: int = 2):
    registry = Registry()
    for _ in range(threads):
        dpor.spawn(registry.worker)
    dpor.join_all()
    assert all(value is registry.seen[0] for value in registry.seen)


class Buffer:
    """A bounded buffer of one slot: every access is under the condition's lock."""

    def __init__(self):
        self.items = []
        self.changed = threading.Condition()

    def put(self, item, everyone=True):
        with self.changed:
            while len(self.items) >= 1:
                self.changed.wait()
            self.items.append(item)
            self.changed.notify_all() if everyone else self.changed.notify()

    def get(self, everyone=True):
        with self.changed:
            while not self.items:
                self.changed.wait()
            self.items.pop(0)
            self.changed.notify_all() if everyone else self.changed.notify()


def repeat(operation, times, *args):
    for _ in range(times):
        operation(*args)


@dpor.model
def buffer_one_to_one(items: int = 2):
    buffer = Buffer()
    dpor.spawn(repeat, buffer.put, items, "item")
    dpor.spawn(repeat, buffer.get, items)
    dpor.join_all()


@dpor.model
def buffer_one_to_two():
    buffer = Buffer()
    dpor.spawn(repeat, buffer.put, 2, "item")
    dpor.spawn(buffer.get)
    dpor.spawn(buffer.get)
    dpor.join_all()


@dpor.model
def lost_notify():
    buffer = Buffer()
    for _ in range(2):
        dpor.spawn(buffer.put, "item", False)
    for _ in range(2):
        dpor.spawn(buffer.get, False)
    dpor.join_all()


@dpor.model
def notify_all_two_to_two():
    buffer = Buffer()
    for _ in range(2):
        dpor.spawn(buffer.put, "item")
    for _ in range(2):
        dpor.spawn(buffer.get)
    dpor.join_all()
