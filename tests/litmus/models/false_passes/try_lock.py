"""A lock that is only tried can be taken: whoever does not wait leaves the work undone."""

import threading

import dpor


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()

    def increment_if_free(self):
        if self.lock.acquire(blocking=False):
            try:
                self.value += 1
            finally:
                self.lock.release()

    def increment_in_time(self):
        if self.lock.acquire(timeout=1):
            self.value += 1
            self.lock.release()

    def increment(self):
        with self.lock:
            self.value += 1


def _run_twice(counter, increment):
    dpor.spawn(increment)
    dpor.spawn(increment)
    dpor.join_all()
    assert counter.value == 2


@dpor.model(expect="violated")
def skipped_because_taken():
    counter = Counter()
    _run_twice(counter, counter.increment_if_free)


@dpor.model
def skipped_because_taken_fixed():
    counter = Counter()
    _run_twice(counter, counter.increment)


@dpor.model(expect="violated")
def skipped_because_late():
    counter = Counter()
    _run_twice(counter, counter.increment_in_time)


@dpor.model
def skipped_because_late_fixed():
    counter = Counter()
    _run_twice(counter, counter.increment)


@dpor.model(expect="violated")
def skipped_for_want_of_a_permit():
    counter = Counter()
    permits = threading.Semaphore(1)

    def work():
        if permits.acquire(blocking=False):
            counter.increment()
            permits.release()

    _run_twice(counter, work)


@dpor.model
def skipped_for_want_of_a_permit_fixed():
    counter = Counter()
    permits = threading.Semaphore(2)

    def work():
        if permits.acquire(blocking=False):
            counter.increment()
            permits.release()

    _run_twice(counter, work)
