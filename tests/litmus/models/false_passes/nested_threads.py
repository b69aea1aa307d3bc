"""Threads and pools that a thread starts itself race like any other."""

import threading
from concurrent.futures import ThreadPoolExecutor

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


def _start_two_threads(target):
    threads = [threading.Thread(target=target) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _submit_two_tasks(target):
    with ThreadPoolExecutor(max_workers=2) as pool:
        futures = [pool.submit(target) for _ in range(2)]
        for future in futures:
            future.result()


def _in_a_worker(start, counter, increment):
    worker = threading.Thread(target=start, args=(increment,))
    worker.start()
    worker.join()
    assert counter.value == 2


@dpor.model(expect="violated")
def threads_of_a_worker():
    counter = Counter()
    _in_a_worker(_start_two_threads, counter, counter.increment)


@dpor.model
def threads_of_a_worker_fixed():
    counter = Counter()
    _in_a_worker(_start_two_threads, counter, counter.increment_locked)


@dpor.model(expect="violated")
def pool_of_a_worker():
    counter = Counter()
    _in_a_worker(_submit_two_tasks, counter, counter.increment)


@dpor.model
def pool_of_a_worker_fixed():
    counter = Counter()
    _in_a_worker(_submit_two_tasks, counter, counter.increment_locked)


class Worker(threading.Thread):
    """A subclass of Thread that starts a thread of its own."""

    def __init__(self, increment):
        super().__init__()
        self.increment = increment

    def run(self):
        helper = threading.Thread(target=self.increment)
        helper.start()
        self.increment()
        helper.join()


@dpor.model(expect="violated")
def helper_of_a_thread_subclass():
    counter = Counter()
    worker = Worker(counter.increment)
    worker.start()
    worker.join()
    assert counter.value == 2


@dpor.model
def helper_of_a_thread_subclass_fixed():
    counter = Counter()
    worker = Worker(counter.increment_locked)
    worker.start()
    worker.join()
    assert counter.value == 2


@dpor.model(expect="violated")
def timer_against_its_starter():
    counter = Counter()
    timer = threading.Timer(0.1, counter.increment)
    timer.start()
    counter.increment()
    timer.join()
    assert counter.value == 2


@dpor.model
def timer_against_its_starter_fixed():
    counter = Counter()
    timer = threading.Timer(0.1, counter.increment_locked)
    timer.start()
    counter.increment_locked()
    timer.join()
    assert counter.value == 2
