"""A bounded buffer with one condition variable, once right and twice wrong.

- Right: wait in a `while` loop, because the condition must be looked at again after every wakeup; and wake
  everyone, because producers and consumers wait on the same condition variable.
- Wrong, `if` for `while`: between the notification and the moment when the woken thread has the lock again,
  another consumer can take the item. The woken one then pops from an empty list.
- Wrong, `notify` for `notify_all`: a producer's single notification can wake another producer, which finds
  the buffer full and waits again. The notification is lost, and the consumer for which it was meant sleeps
  for ever.
"""

import threading

import dpor


class Buffer:
    """Holds at most `capacity` items; `put` waits while it is full and `get` while it is empty."""

    def __init__(self, capacity=1):
        self.capacity = capacity
        self.items = []
        self.changed = threading.Condition()

    def put(self, item):
        with self.changed:
            while len(self.items) >= self.capacity:
                self.changed.wait()
            self.items.append(item)
            self.wake()

    def get(self):
        with self.changed:
            while not self.items:
                self.changed.wait()
            item = self.items.pop(0)
            self.wake()
            return item

    def wake(self):
        self.changed.notify_all()


class HastyBuffer(Buffer):
    """Takes it for granted that after a wait there is an item."""

    def get(self):
        with self.changed:
            if not self.items:
                self.changed.wait()
            item = self.items.pop(0)
            self.wake()
            return item


class StingyBuffer(Buffer):
    """Wakes one thread, which may be the wrong one."""

    def wake(self):
        self.changed.notify()


def produce(buffer, items):
    for item in range(items):
        buffer.put(item)


def consume(buffer, items, received):
    for _ in range(items):
        received.append(buffer.get())


@dpor.model(expect="verified")
def buffer_in_order(items: int = 2):
    """One producer and one consumer: everything arrives, in order."""
    buffer = Buffer()
    received = []
    dpor.spawn(produce, buffer, items)
    dpor.spawn(consume, buffer, items, received)
    dpor.join_all()
    assert received == list(range(items))


@dpor.model(expect="verified")
def buffer_two_consumers():
    """One producer of two items and two consumers: each consumer gets one."""
    buffer = Buffer()
    received = []
    dpor.spawn(produce, buffer, 2)
    dpor.spawn(consume, buffer, 1, received)
    dpor.spawn(consume, buffer, 1, received)
    dpor.join_all()
    assert sorted(received) == [0, 1]


@dpor.model(expect="violated")
def waiting_with_if():
    """The same with `if` for `while`: a consumer pops from an empty list."""
    buffer = HastyBuffer()
    received = []
    dpor.spawn(produce, buffer, 2)
    dpor.spawn(consume, buffer, 1, received)
    dpor.spawn(consume, buffer, 1, received)
    dpor.join_all()


@dpor.model(expect="violated")
def lost_notification(pairs: int = 2):
    """Two producers, two consumers and `notify`: some schedule leaves threads asleep."""
    buffer = StingyBuffer()
    for number in range(pairs):
        dpor.spawn(buffer.put, number)
    for _ in range(pairs):
        dpor.spawn(buffer.get)
    dpor.join_all()
