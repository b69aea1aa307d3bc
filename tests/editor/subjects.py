"""The models that the tests of editors replay, each by the name of its file."""

LOST_UPDATE = """\
import dpor


class Counter:
    def __init__(self):
        self.value = 0

    def increment(self):
        seen = self.value
        self.value = seen + 1


@dpor.model
def model():
    counter = Counter()
    dpor.spawn(counter.increment)
    dpor.spawn(counter.increment)
    dpor.join_all()
    assert counter.value == 2
"""

DEADLOCK = """\
import threading

import dpor


def both(first, second):
    with first:
        with second:
            pass


@dpor.model
def model():
    left, right = threading.Lock(), threading.Lock()
    dpor.spawn(both, left, right)
    dpor.spawn(both, right, left)
    dpor.join_all()
"""

TASKS = """\
import asyncio

import dpor


class Shop:
    def __init__(self):
        self.stock = 1

    async def take(self):
        if self.stock > 0:
            await asyncio.sleep(0)
            self.stock -= 1


async def both(shop):
    await asyncio.gather(asyncio.create_task(shop.take(), name="take"), asyncio.create_task(shop.take(), name="take"))


@dpor.model
def model():
    shop = Shop()
    asyncio.run(both(shop))
    assert shop.stock >= 0
"""

LONG = """\
import threading

import dpor


class Counter:
    def __init__(self):
        self.value = 0
        self.log = []
        self.lock = threading.Lock()

    def work(self, rounds):
        for number in range(rounds):
            with self.lock:
                self.log.append(number)
            seen = self.value
            self.value = seen + 1


@dpor.model
def model(rounds: int = 14):
    counter = Counter()
    for _ in range(2):
        dpor.spawn(counter.work, rounds)
    dpor.join_all()
    assert counter.value == 2 * rounds
"""

VERIFIED = """\
import dpor


@dpor.model
def model():
    assert True
"""

ENDLESS = """\
import dpor


@dpor.model
def model():
    while True:
        pass
"""

VIOLATED = {"lost_update": LOST_UPDATE, "deadlock": DEADLOCK, "tasks": TASKS, "long": LONG}
OTHERS = {"verified": VERIFIED, "endless": ENDLESS}
