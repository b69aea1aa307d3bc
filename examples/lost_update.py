"""The lost update: two threads increment one counter, and one increment disappears.

`self.value += 1` reads, adds and writes. Between the read and the write another thread may run. If both
threads read 0, both write 1, and one of the two increments is lost. A test that runs the code a thousand
times may never see this; the checker tries every schedule that can make a difference, so it always does.

The fix is a lock held from the read to the write.
"""

import threading

import dpor


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()

    def increment(self):
        self.value += 1

    def increment_locked(self):
        with self.lock:
            self.value += 1


@dpor.model(expect="violated")
def lost_update(threads: int = 2):
    """Nothing guards the counter."""
    counter = Counter()
    for _ in range(threads):
        dpor.spawn(counter.increment)
    dpor.join_all()
    assert counter.value == threads


@dpor.model(expect="verified")
def locked_update(threads: int = 3):
    """Every increment holds the lock: in whatever order the threads get it, the sum is right."""
    counter = Counter()
    for _ in range(threads):
        dpor.spawn(counter.increment_locked)
    dpor.join_all()
    assert counter.value == threads
