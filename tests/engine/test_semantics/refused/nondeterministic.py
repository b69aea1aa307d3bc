"""Models that behave differently when the same choices are made again."""

import os
import tempfile

import dpor

COUNTER = os.path.join(tempfile.gettempdir(), f"dpor-counter-{os.getpid()}")


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


def _next_number():
    try:
        with open(COUNTER, encoding="utf-8") as file:
            number = int(file.read())
    except FileNotFoundError:
        number = 0
    with open(COUNTER, "w", encoding="utf-8") as file:
        file.write(str(number + 1))
    return number


@dpor.model
def counter_in_a_file():
    _race(Shared(), 1 + _next_number() % 3)
