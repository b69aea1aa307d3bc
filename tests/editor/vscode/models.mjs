// The models that the tests check.

/** Deadlocks, because two threads take two locks in opposite orders. */
export const BANK = `import threading

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
def opposite_transfers():
    a, b = Account(100), Account(100)
    dpor.spawn(transfer, a, b, 30)
    dpor.spawn(transfer, b, a, 50)
    dpor.join_all()
    assert a.balance + b.balance == 200
`;

/** Is verified, after a few executions. */
export const OTHER = `import threading

import dpor


@dpor.model
def counted():
    lock = threading.Lock()
    total = [0]

    def add():
        with lock:
            total[0] += 1

    dpor.spawn(add)
    dpor.spawn(add)
    dpor.join_all()
    assert total[0] == 2
`;

/** Takes minutes, if nobody cancels it. */
export const LONG = `import dpor


@dpor.model
def many_orders():
    cell = dpor.Atomic(0)

    def write(value):
        for step in range(6):
            cell.store(10 * value + step)

    for value in range(4):
        dpor.spawn(write, value)
    dpor.join_all()
`;
