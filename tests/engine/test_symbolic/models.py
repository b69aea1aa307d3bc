"""Models with symbolic values."""

import queue
import threading

import dpor


class Shared:
    def __init__(self):
        self.x = 0
        self.y = 0
        self.cells = [0, 0, 0]
        self.lock = threading.Lock()


@dpor.model
def write_symbolic_write_and_two_reads():
    """W+SW+R+R of the ConDPOR paper, section 2.2.1, with the assertion as a branch."""
    shared = Shared()

    def write():
        shared.x = 1

    def write_symbolic():
        shared.y = dpor.nondet_int("y")

    def check():
        if shared.y == 42:
            pass

    def read():
        _ = shared.x

    for function in (write, write_symbolic, check, read):
        dpor.spawn(function)
    dpor.join_all()


@dpor.model
def read_symbolic_and_write():
    """RS+W of the ConDPOR paper, example 1."""
    shared = Shared()

    def first():
        a = shared.x
        b = dpor.nondet_int("b")
        assert a == 0 or b != 42, f"a = {a}, b = {b}"

    def second():
        shared.x = 1

    dpor.spawn(first)
    dpor.spawn(second)
    dpor.join_all()


class Node:
    def __init__(self, value, successor):
        self.value = value
        self.successor = successor


class SortedList:
    def __init__(self):
        self.lock = threading.Lock()
        self.head = None

    def insert(self, value):
        with self.lock:
            previous, current = None, self.head
            while current is not None and current.value < value:
                previous, current = current, current.successor
            node = Node(value, current)
            if previous is None:
                self.head = node
            else:
                previous.successor = node


@dpor.model
def coarse_list(threads: int = 3):
    """n threads insert a symbolic integer into a sorted list under one lock, comparing by `<` alone."""
    values = SortedList()
    for _ in range(threads):
        dpor.spawn(lambda: values.insert(dpor.nondet_int("value")))
    dpor.join_all()


@dpor.model
def locked_queue(threads: int = 3):
    """LBQueue: n threads put a symbolic integer into a queue; nobody compares them."""
    items: list[int] = []
    lock = threading.Lock()

    def put():
        value = dpor.nondet_int("value")
        with lock:
            items.append(value)

    for _ in range(threads):
        dpor.spawn(put)
    dpor.join_all()


@dpor.model
def push_and_pop(threads: int = 3):
    """NPush+Pop of section 2.1: time stamps are symbolic, and only the pop compares them."""
    stamps = [0] * threads

    def push(index):
        stamps[index] = dpor.nondet_int("stamp")

    for index in range(threads):
        dpor.spawn(push, index)
    dpor.join_all()
    youngest = 0
    for index in range(1, threads):
        if stamps[youngest] < stamps[index]:
            youngest = index


@dpor.model
def shared_symbolic_value():
    """The program of section 4.1: two threads branch on one value."""
    shared = Shared()
    a = dpor.nondet_int("a")

    def read():
        _ = shared.x

    def assume():
        dpor.assume(a > 42)

    def write():
        if a > 0:
            shared.x = 1

    for function in (read, assume, write):
        dpor.spawn(function)
    dpor.join_all()


@dpor.model
def priorities():
    """A queue that compares symbolic integers inside of the standard library."""
    waiting = queue.PriorityQueue()

    def put(name):
        waiting.put(dpor.nondet_int(name))

    dpor.spawn(put, "first")
    dpor.spawn(put, "second")
    dpor.join_all()
    first, second = waiting.get(), waiting.get()
    assert first <= second


@dpor.model
def indexed():
    """An unbounded index: in range, or out of it at either end."""
    shared = Shared()
    index = dpor.nondet_int("index")
    try:
        shared.cells[index] = 1
    except IndexError:
        assert not -3 <= index < 3
        return
    assert -3 <= index < 3
    assert shared.cells.count(1) == 1


@dpor.model
def exchanged():
    """A compare-exchange decides whether symbolic values are equal as part of itself."""
    cell = dpor.Atomic(dpor.nondet_int("held"))
    taken: list[bool] = []
    for _ in range(2):
        dpor.spawn(lambda: taken.append(cell.compare_exchange(7, 8)))
    dpor.join_all()
    assert sum(taken) <= 1


@dpor.model
def logged():
    """Messages show a value without deciding it."""
    n = dpor.nondet_int("n")
    print(f"n is {n}", n, [n])
    assert n is not None, f"never {n}"


@dpor.model
def worded():
    """A text that could decide something needs a number."""
    n = dpor.nondet_int("n")
    if str(n) == "5":
        raise AssertionError


@dpor.model
def worded_within_bounds():
    """The same with a few values only."""
    n = dpor.nondet_int("n", 4, 6)
    text = f"{n}"
    assert text != "5"


@dpor.model
def repeated():
    """A range needs a number; an assumption can leave few of them."""
    n = dpor.nondet_int("n")
    dpor.assume(n >= 0)
    dpor.assume(n < 4)
    assert sum(1 for _ in range(n)) == n


@dpor.model
def repeated_without_end():
    n = dpor.nondet_int("n")
    for _ in range(n):
        pass


@dpor.model
def awaited():
    shared = Shared()
    n = dpor.nondet_int("n")
    dpor.spawn(lambda: dpor.wait_until(lambda: shared.x + n == 3))
    dpor.join_all()


@dpor.model(solver_timeout=0.001)
def too_hard():
    a, b, c = (dpor.nondet_int(name, low=2) for name in "abc")
    assert a * a * a + b * b * b != c * c * c


@dpor.model
def sorted_cells():
    """A sort that compares symbolic values is as atomic as any sort."""
    cells = [dpor.nondet_int("a"), dpor.nondet_int("b")]
    lengths: list[int] = []
    dpor.spawn(lambda: cells.sort())
    dpor.spawn(lambda: lengths.append(len(cells)))
    dpor.join_all()
    assert lengths == [2]
    assert cells[0] <= cells[1]


@dpor.model
def divided():
    n = dpor.nondet_int("n")
    assert 7 // n <= 7


@dpor.model
def looked_for_in_cells():
    """Reading operations of built-in code that compare symbolic values, beside a thread that writes."""
    shared = Shared()
    found: list[object] = []

    def look():
        n = dpor.nondet_int("n")
        found.append(n in shared.cells)
        found.append(sorted(shared.cells)[0])

    def write():
        shared.cells[1] = dpor.nondet_int("m")

    dpor.spawn(look)
    dpor.spawn(write)
    dpor.join_all()
    assert len(found) == 2


@dpor.model
def exchanges_a_symbolic_value():
    """Under RC11 the stores to x may come in either order where the exchange fails first."""
    shared, cell = Shared(), dpor.Atomic(dpor.nondet_int("n", low=0, high=3))

    def exchange():
        shared.x = 7
        cell.compare_exchange(1, 5)

    def add():
        cell.fetch_add(1)
        shared.x = 8

    dpor.spawn(exchange)
    dpor.spawn(add)
    dpor.join_all()
    assert shared.x in (7, 8)


@dpor.model
def expects_a_symbolic_value():
    cell = dpor.Atomic(0)
    expected = dpor.nondet_int("n", low=0, high=3)
    dpor.spawn(lambda: cell.compare_exchange(expected, 5))
    dpor.spawn(cell.store, 2)
    dpor.join_all()
    assert cell.load() in (2, 5)


@dpor.model
def seen_before_decided():
    """Another thread can see the cells after the sort, whose comparisons decide what is there."""
    cells = [dpor.nondet_int("a"), dpor.nondet_int("b")]
    seen: list[object] = []
    dpor.spawn(lambda: seen.append(cells[0]))
    dpor.spawn(lambda: cells.sort())
    dpor.join_all()
    assert len(seen) == 1
