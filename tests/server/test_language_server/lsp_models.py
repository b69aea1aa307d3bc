"""Models that the language server's tests look at."""

BANK = """\
import threading

import dpor


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.lock = threading.Lock()


def transfer(source, target, amount):
    with source.lock:
        with target.lock:
            source.balance -= amount
            target.balance += amount


@dpor.model
def opposite_transfers(clerks: int = 1):
    \"\"\"Two clerks transfer money in opposite directions.\"\"\"
    a, b = Account(100), Account(100)
    for _ in range(clerks):
        dpor.spawn(transfer, a, b, 30)
    dpor.spawn(transfer, b, a, 50)
    dpor.join_all()
    assert a.balance + b.balance == 200
"""

COUNTER = """\
import dpor


class Counter:
    def __init__(self):
        self.value = 0

    def add(self):
        self.value += 1


@dpor.model
def two_adders():
    counter = Counter()
    dpor.spawn(counter.add)
    dpor.spawn(counter.add)
    dpor.join_all()
    assert counter.value == 2, "änderung 🦀 lost"
"""

ENDLESS = """\
import dpor

class Cell:
    value = 0

def work(cell):
    for _ in range(6):
        cell.value += 1

@dpor.model
def many_schedules():
    cell = Cell()
    for _ in range(5):
        dpor.spawn(work, cell)
    dpor.join_all()

@dpor.model
def small():
    pass
"""

# The exploration comes to the schedule that breaks this only after all orders of the noise.
LATE = """\
import dpor

class Cell:
    flag = False
    value = 0

def early(cell):
    seen = cell.flag
    assert not seen

def noise(cell):
    for _ in range(3):
        cell.value = 1

def late(cell):
    cell.flag = True

@dpor.model
def found_late():
    cell = Cell()
    dpor.spawn(early, cell)
    for _ in range(3):
        dpor.spawn(noise, cell)
    dpor.spawn(late, cell)
    dpor.join_all()
"""
