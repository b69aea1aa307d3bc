"""Models that behave differently when the same choices are made again."""

import gc

import dpor


class Shared:
    def __init__(self):
        self.value = 0


def _race(shared, times):
    def work():
        for _ in range(times):
            shared.value += 1

    dpor.spawn(work)
    dpor.spawn(work)
    dpor.join_all()


@dpor.model
def counter_in_the_interpreter():
    gc.collect()
    _race(Shared(), 1 + gc.get_stats()[2]["collections"] % 3)


@dpor.model
def another_operation():
    gc.collect()
    shared, times = Shared(), 1 + gc.get_stats()[2]["collections"] % 3

    def work():
        for _ in range(times):
            shared.value += 1  # another_operation
        shared.value = 0  # another_operation

    dpor.spawn(work)
    dpor.spawn(work)
    dpor.join_all()
