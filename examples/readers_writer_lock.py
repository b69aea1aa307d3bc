"""A readers-writer lock: many may read at once, a writer is alone.

The lock is written with one `Condition`. What the model asserts is what a user of the lock relies on: a
reader never sees a value half written. The wrong version lets a writer in when no other *writer* is there
and forgets the readers; then a reader can see the two halves disagree.
"""

import threading

import dpor


class ReadersWriterLock:
    def __init__(self):
        self.readers = 0
        self.writing = False
        self.changed = threading.Condition()

    def acquire_read(self):
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.readers += 1

    def release_read(self):
        with self.changed:
            self.readers -= 1
            if self.readers == 0:
                self.changed.notify_all()

    def acquire_write(self):
        with self.changed:
            while self.writing or self.readers > 0:
                self.changed.wait()
            self.writing = True

    def release_write(self):
        with self.changed:
            self.writing = False
            self.changed.notify_all()


class ForgetfulLock(ReadersWriterLock):
    """Forgets the readers when a writer comes."""

    def acquire_write(self):
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.writing = True


class Pair:
    """Two halves that a writer changes one after the other."""

    def __init__(self, lock):
        self.left = self.right = 0
        self.lock = lock

    def write(self, value):
        self.lock.acquire_write()
        self.left = value
        self.right = value
        self.lock.release_write()

    def read(self):
        self.lock.acquire_read()
        assert self.left == self.right, "a reader sees a half-written pair"
        self.lock.release_read()


@dpor.model(expect="verified")
def readers_see_whole_pairs(readers: int = 2):
    """Any number of readers and one writer."""
    pair = Pair(ReadersWriterLock())
    for _ in range(readers):
        dpor.spawn(pair.read)
    dpor.spawn(pair.write, 1)
    dpor.join_all()
    assert pair.left == pair.right == 1


@dpor.model(expect="violated")
def forgotten_readers(readers: int = 1):
    """A writer that does not wait for readers."""
    pair = Pair(ForgetfulLock())
    for _ in range(readers):
        dpor.spawn(pair.read)
    dpor.spawn(pair.write, 1)
    dpor.join_all()
