"""A work queue on a ThreadPoolExecutor: let the futures carry the results.

The wrong version lets every task add to one total. The tasks run in several threads of the pool, and
`total.sum += n` is a read and a write: an addition can be lost. The right version returns a value from each
task and adds up in the thread that waits for them.
"""

from concurrent.futures import ThreadPoolExecutor

import dpor


class Total:
    def __init__(self):
        self.sum = 0

    def add(self, number):
        self.sum += number * number


@dpor.model(expect="violated")
def tasks_share_a_total(tasks: int = 2):
    """The tasks write to one object."""
    total = Total()
    with ThreadPoolExecutor(max_workers=2) as pool:
        for number in range(1, tasks + 1):
            pool.submit(total.add, number)
    assert total.sum == sum(number * number for number in range(1, tasks + 1))


def square(number):
    return number * number


@dpor.model(expect="verified")
def tasks_return_results(tasks: int = 2):
    """The tasks return; nothing is shared but the futures."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        futures = [pool.submit(square, number) for number in range(1, tasks + 1)]
        total = sum(future.result() for future in futures)
    assert total == sum(number * number for number in range(1, tasks + 1))
