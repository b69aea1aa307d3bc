"""Dining philosophers: a deadlock that needs every thread.

Each philosopher takes the fork on the left and then the one on the right. If all of them hold their left
fork, nobody gets a right one. The fix gives the forks an order: the last philosopher reaches for the right
fork first.

Try `--set philosophers=4`: the number of schedules grows quickly, and the deadlock is still found at once.
"""

import threading

import dpor


def dine(first, second):
    with first:
        with second:
            pass


@dpor.model(expect="violated")
def all_left_handed(philosophers: int = 3):
    """Everyone takes the left fork first."""
    forks = [threading.Lock() for _ in range(philosophers)]
    for seat in range(philosophers):
        dpor.spawn(dine, forks[seat], forks[(seat + 1) % philosophers])
    dpor.join_all()


@dpor.model(expect="verified")
def one_right_handed(philosophers: int = 3):
    """Everyone takes the fork with the smaller number first."""
    forks = [threading.Lock() for _ in range(philosophers)]
    for seat in range(philosophers):
        left, right = seat, (seat + 1) % philosophers
        dpor.spawn(dine, forks[min(left, right)], forks[max(left, right)])
    dpor.join_all()
