"""Models that behave differently when the same choices are made again."""

import linecache
import sys

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


def _next_number(kept):
    number = kept.get("dpor-number", 0)
    kept["dpor-number"] = number + 1
    return number


@dpor.model
def counter_in_the_library():
    _race(Shared(), 1 + _next_number(linecache.cache) % 3)


@dpor.model
def counter_in_the_interpreter():
    shared = Shared()
    _race(shared, 1 + _next_number(sys.path_importer_cache) % 3)
