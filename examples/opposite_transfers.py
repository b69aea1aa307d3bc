"""Lock-order inversion: two transfers in opposite directions, and each waits for the other for ever.

Each transfer locks its source and then its target. One thread moves money from a to b, the other from b to
a. If both take their first lock before either takes its second, neither can go on. That is a deadlock; the
report names who holds what and who waits for what.

The fix is one order for all: lock the account with the smaller number first, whichever way the money goes.
"""

import threading

import dpor


class Account:
    def __init__(self, number, balance):
        self.number = number
        self.balance = balance
        self.lock = threading.Lock()


def move(source, target, amount):
    source.balance -= amount
    target.balance += amount


def transfer(source, target, amount):
    with source.lock:
        with target.lock:
            move(source, target, amount)


def transfer_in_order(source, target, amount):
    first, second = (source, target) if source.number < target.number else (target, source)
    with first.lock:
        with second.lock:
            move(source, target, amount)


@dpor.model(expect="violated")
def opposite_transfers(clerks: int = 1):
    """`clerks` threads move money from a to b while one moves it back."""
    a, b = Account(1, 100), Account(2, 100)
    for _ in range(clerks):
        dpor.spawn(transfer, a, b, 30)
    dpor.spawn(transfer, b, a, 50)
    dpor.join_all()
    assert a.balance + b.balance == 200


@dpor.model(expect="verified")
def ordered_transfers(clerks: int = 2):
    """The same transfers with one lock order for all: no deadlock, and no money is lost or made."""
    a, b = Account(1, 100), Account(2, 100)
    for _ in range(clerks):
        dpor.spawn(transfer_in_order, a, b, 30)
    dpor.spawn(transfer_in_order, b, a, 50)
    dpor.join_all()
    assert a.balance == 150 - 30 * clerks
    assert b.balance == 50 + 30 * clerks
