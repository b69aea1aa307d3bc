"""What a queue said a moment ago is no promise."""

import contextlib
import queue
import threading

import dpor


@dpor.model(expect="violated")
def empty_then_get():
    items = queue.Queue()
    items.put(1)

    def take():
        if not items.empty():
            items.get_nowait()

    dpor.spawn(take)
    dpor.spawn(take)
    dpor.join_all()


@dpor.model
def empty_then_get_fixed():
    items = queue.Queue()
    items.put(1)

    def take():
        with contextlib.suppress(queue.Empty):
            items.get_nowait()

    dpor.spawn(take)
    dpor.spawn(take)
    dpor.join_all()
    assert items.empty()


@dpor.model(expect="violated")
def simple_queue_size_then_get():
    items = queue.SimpleQueue()
    items.put(1)

    def take():
        if items.qsize() > 0:
            items.get_nowait()

    dpor.spawn(take)
    dpor.spawn(take)
    dpor.join_all()


@dpor.model
def simple_queue_size_then_get_fixed():
    items = queue.SimpleQueue()
    items.put(1)
    lock = threading.Lock()

    def take():
        with lock:
            if items.qsize() > 0:
                items.get_nowait()

    dpor.spawn(take)
    dpor.spawn(take)
    dpor.join_all()


@dpor.model(expect="violated")
def full_then_put():
    items = queue.Queue(maxsize=1)

    def give():
        if not items.full():
            items.put_nowait(1)

    dpor.spawn(give)
    dpor.spawn(give)
    dpor.join_all()


@dpor.model
def full_then_put_fixed():
    items = queue.Queue(maxsize=2)

    def give():
        items.put_nowait(1)

    dpor.spawn(give)
    dpor.spawn(give)
    dpor.join_all()


@dpor.model(expect="violated")
def two_consumers_of_one_sentinel():
    """One sentinel stops one of two consumers; the other waits for ever."""
    items = queue.Queue()

    def consume():
        while items.get() is not None:
            pass

    dpor.spawn(consume)
    dpor.spawn(consume)
    items.put(None)
    dpor.join_all()


@dpor.model
def two_consumers_of_one_sentinel_fixed():
    items = queue.Queue()

    def consume():
        while items.get() is not None:
            pass

    dpor.spawn(consume)
    dpor.spawn(consume)
    items.put(None)
    items.put(None)
    dpor.join_all()
