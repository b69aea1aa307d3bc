"""queue.Queue, LifoQueue, PriorityQueue and SimpleQueue."""

import queue

from outcomes import outcome

import dpor

EXPECTED = {
    "orders": "verified",
    "get_waits_for_put": "verified",
    "put_waits_for_room": "verified",
    "full_queue_that_nobody_empties": ["deadlock"],
    "get_nowait": ["Empty", "1"],
    "put_nowait": ["Full", "ended"],
    "get_with_timeout": ["Empty", "1"],
    "put_with_timeout": ["Full", "ended"],
    "bad_timeout": "verified",
    "join_waits_for_task_done": "verified",
    "join_without_task_done": ["deadlock"],
    "task_done_too_often": ["DPOR202 ValueError: task_done() called too many times"],
    "two_producers": ["0 1", "1 0"],
    "each_item_goes_to_one_consumer": "verified",
    "empty_then_get": ["deadlock", "ended"],
    "items_looked_at_without_the_lock": ["Empty", "ended"],
    "simple_queue": "verified",
    "simple_queue_with_timeout": ["Empty", "1"],
    "simple_queue_get_nowait": ["Empty", "1"],
    "simple_queue_is_reentrant_in_order": ["0 1", "1 0"],
    "priorities_of_two_producers": ["1 2", "2 1"],
}
COUNTS = {"orders": (1, 0), "simple_queue_get_nowait": (2, 0), "simple_queue_with_timeout": (2, 0)}


@dpor.model
def orders():
    for make, wanted in (
        (queue.Queue, [3, 1, 2]),
        (queue.LifoQueue, [2, 1, 3]),
        (queue.PriorityQueue, [1, 2, 3]),
    ):
        items = make(maxsize=3)
        for item in (3, 1, 2):
            items.put(item)
        assert items.full()
        assert items.qsize() == 3
        assert [items.get() for _ in range(3)] == wanted
        assert items.empty()


@dpor.model
def get_waits_for_put():
    items = queue.Queue()
    dpor.spawn(items.put, 1)
    assert items.get() == 1


@dpor.model
def put_waits_for_room():
    items, seen = queue.Queue(maxsize=1), []

    def produce():
        for item in range(2):
            items.put(item)

    dpor.spawn(produce)
    for _ in range(2):
        assert items.qsize() <= 1
        seen.append(items.get())
    assert seen == [0, 1]


@dpor.model
def full_queue_that_nobody_empties():
    items = queue.Queue(1)
    items.put(1)
    items.put(2)


def _taken(get, *arguments, **keywords):
    try:
        return get(*arguments, **keywords)
    except queue.Empty:
        return "Empty"


@dpor.model
def get_nowait():
    items = queue.Queue()
    dpor.spawn(items.put, 1)
    outcome(_taken(items.get_nowait))


@dpor.model
def put_nowait():
    items = queue.Queue(1)
    items.put(0)
    dpor.spawn(items.get)
    try:
        items.put_nowait(1)
    except queue.Full:
        outcome("Full")
    outcome("ended")


@dpor.model
def get_with_timeout():
    items = queue.Queue()
    dpor.spawn(items.put, 1)
    outcome(_taken(items.get, timeout=1))


@dpor.model
def put_with_timeout():
    items = queue.Queue(1)
    items.put(0)
    dpor.spawn(items.get)
    try:
        items.put(1, timeout=1)
    except queue.Full:
        outcome("Full")
    outcome("ended")


@dpor.model
def bad_timeout():
    for items in (queue.Queue(), queue.SimpleQueue()):
        try:
            items.get(timeout=-1)
        except ValueError:
            continue
        raise AssertionError("no error")


@dpor.model
def join_waits_for_task_done():
    items, done = queue.Queue(), []

    def consume():
        item = items.get()
        done.append(item)
        items.task_done()

    items.put(1)
    dpor.spawn(consume)
    items.join()
    assert done == [1]


@dpor.model
def join_without_task_done():
    items = queue.Queue()
    items.put(1)
    dpor.spawn(items.get)
    items.join()


@dpor.model
def task_done_too_often():
    queue.Queue().task_done()


@dpor.model
def two_producers():
    items = queue.Queue()
    dpor.spawn(items.put, 0)
    dpor.spawn(items.put, 1)
    outcome(items.get(), items.get())


@dpor.model
def each_item_goes_to_one_consumer():
    items, seen = queue.Queue(), []

    def consume():
        seen.append(items.get())

    dpor.spawn(consume)
    dpor.spawn(consume)
    items.put(0)
    items.put(1)
    dpor.join_all()
    assert sorted(seen) == [0, 1]


@dpor.model
def empty_then_get():
    items = queue.Queue()
    items.put(1)

    def take():
        if not items.empty():
            items.get()

    dpor.spawn(take)
    dpor.spawn(take)
    dpor.join_all()
    outcome("ended")


@dpor.model
def items_looked_at_without_the_lock():
    items = queue.Queue()
    items.put(1)
    dpor.spawn(items.get)
    if items.queue:
        try:
            items.get_nowait()
        except queue.Empty:
            outcome("Empty")
        # The other thread waits in vain; let it end.
        items.put(2)
    outcome("ended")


@dpor.model
def simple_queue():
    items = queue.SimpleQueue()
    dpor.spawn(items.put, 1)
    assert items.get() == 1
    assert items.empty()
    items.put(2)
    items.put(3)
    assert items.qsize() == 2
    assert [items.get_nowait(), items.get(block=False)] == [2, 3]


@dpor.model
def simple_queue_with_timeout():
    items = queue.SimpleQueue()
    dpor.spawn(items.put, 1)
    outcome(_taken(items.get, timeout=1))


@dpor.model
def simple_queue_get_nowait():
    items = queue.SimpleQueue()
    dpor.spawn(items.put, 1)
    outcome(_taken(items.get_nowait))


@dpor.model
def simple_queue_is_reentrant_in_order():
    items = queue.SimpleQueue()
    dpor.spawn(items.put, 0)
    dpor.spawn(items.put, 1)
    outcome(items.get(), items.get())


@dpor.model
def priorities_of_two_producers():
    items = queue.PriorityQueue()
    dpor.spawn(items.put, 1)
    dpor.spawn(items.put, 2)
    outcome(items.get(), items.get())
