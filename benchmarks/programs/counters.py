"""Reference programs over one or two shared variables: writes, reads, read-modify-writes and few locks.

Every shared variable is an `Atomic`; every call of one of its methods is one event. Local variables are
local.
"""

import threading

import dpor


@dpor.model
def readers(n: int = 6):
    """One writer and `n` readers of one variable (POPL'14): 2^n classes."""
    x = dpor.Atomic(0)
    dpor.spawn(x.store, 42)
    for _ in range(n):
        dpor.spawn(x.load)
    dpor.join_all()


@dpor.model
def lastwrite(n: int = 4):
    """`n` writers of one variable, read after all are joined (Observers, TACAS'18): n! classes."""
    x = dpor.Atomic(0)
    for identity in range(1, n + 1):
        dpor.spawn(x.store, identity)
    dpor.join_all()
    x.load()


@dpor.model
def floating_read(n: int = 4):
    """`n` writers of one variable and a read concurrent with them (Observers, TACAS'18): (n + 1)! classes."""
    x = dpor.Atomic(0)
    for identity in range(1, n + 1):
        dpor.spawn(x.store, identity)
    x.load()
    dpor.join_all()


def _deposit(amount, difference):
    amount.store(amount.load() + difference)


def _deposit_locked(lock, amount, difference):
    with lock:
        _deposit(amount, difference)


@dpor.model
def account(n: int = 2):
    """`n` deposits and one withdrawal without a lock (VC-DPOR's benchmarks): ((n + 1)!)^2 classes."""
    amount = dpor.Atomic(1000)
    for _ in range(n):
        dpor.spawn(_deposit, amount, 100)
    dpor.spawn(_deposit, amount, -10)
    dpor.join_all()
    amount.load()


@dpor.model
def account_lock(n: int = 3):
    """`account` with every transaction under one lock: (n + 1)! classes."""
    amount = dpor.Atomic(1000)
    lock = threading.Lock()
    for _ in range(n):
        dpor.spawn(_deposit_locked, lock, amount, 100)
    dpor.spawn(_deposit_locked, lock, amount, -10)
    dpor.join_all()
    assert amount.load() == 1000 + 100 * n - 10


def _fibonacci(count):
    previous, current = 0, 1
    for _ in range(count - 1):
        previous, current = current, previous + current
    return current


def _add_repeatedly(times, own, other):
    for _ in range(times):
        mine = own.load()
        theirs = other.load()
        own.store(mine + theirs)


@dpor.model
def fib_bench(n: int = 2):
    """Two threads add each other's variable `n` times; main reads both meanwhile (SV-COMP fib_bench)."""
    i, j = dpor.Atomic(1), dpor.Atomic(1)
    dpor.spawn(_add_repeatedly, n, i, j)
    dpor.spawn(_add_repeatedly, n, j, i)
    bound = _fibonacci(2 * n + 2)
    first = i.load()
    second = j.load()
    assert first <= bound
    assert second <= bound


@dpor.model
def fib_bench_join(n: int = 3):
    """`fib_bench` with both threads joined before main reads."""
    i, j = dpor.Atomic(1), dpor.Atomic(1)
    dpor.spawn(_add_repeatedly, n, i, j)
    dpor.spawn(_add_repeatedly, n, j, i)
    dpor.join_all()
    bound = _fibonacci(2 * n + 2)
    first = i.load()
    second = j.load()
    assert first <= bound
    assert second <= bound


@dpor.model
def pi(n: int = 4):
    """`n` threads add to a sum under one lock (QPOR's PI; ConDPOR's LBQueue has as many): n! classes."""
    total = dpor.Atomic(0)
    lock = threading.Lock()
    for identity in range(n):
        dpor.spawn(_deposit_locked, lock, total, identity + 1)
    dpor.join_all()
    assert total.load() == n * (n + 1) // 2


def _store_repeatedly(variable, value, times):
    for _ in range(times):
        variable.store(value)


def _load_repeatedly(variable, times):
    for _ in range(times):
        variable.load()


@dpor.model
def redundant_co(n: int = 2):
    """Two threads write one variable `n` times, a third reads it twice (Nidhugg): C(2n, n) C(2n + 2, 2)."""
    x = dpor.Atomic(0)
    dpor.spawn(_store_repeatedly, x, 1, n)
    dpor.spawn(_store_repeatedly, x, 2, n)
    dpor.spawn(_load_repeatedly, x, 2)


@dpor.model
def exp_mem3(n: int = 5):
    """A thread joins `n` writers that it spawned, then reads what another thread writes (Nidhugg): 2 n!."""
    x, y = dpor.Atomic(0), dpor.Atomic(0)

    def join_writers_then_read():
        writers = [dpor.spawn(y.store, 1) for _ in range(n)]
        for writer in writers:
            writer.join()
        x.load()

    dpor.spawn(x.store, 1)
    dpor.spawn(join_writers_then_read)


@dpor.model
def exp_mem3_flat(n: int = 5):
    """`exp_mem3` with main in the place of the second thread (Nidhugg): 2 n! classes."""
    x, y = dpor.Atomic(0), dpor.Atomic(0)
    dpor.spawn(x.store, 1)
    writers = [dpor.spawn(y.store, 1) for _ in range(n)]
    for writer in writers:
        writer.join()
    x.load()


@dpor.model
def ainc(n: int = 4):
    """`n` threads that increment one variable atomically (Nidhugg): n! classes."""
    x = dpor.Atomic(0)
    for _ in range(n):
        dpor.spawn(x.fetch_add, 1)


@dpor.model
def binc(n: int = 3):
    """`n` threads that increment two variables atomically, one after the other (Nidhugg): (n!)^2 classes."""
    x, y = dpor.Atomic(0), dpor.Atomic(0)

    def increment_both():
        x.fetch_add(1)
        y.fetch_add(1)

    for _ in range(n):
        dpor.spawn(increment_both)


@dpor.model
def fkp2013(n: int = 3):
    """`n` unprotected increments and a concurrent read by main (Farzan et al. 2013): n! (n + 1)! classes."""
    x = dpor.Atomic(0)
    for _ in range(n):
        dpor.spawn(_deposit, x, 1)
    x.load()


@dpor.model
def sigma(n: int = 4):
    """Main moves an index before each spawn; every thread writes where the index is (SV-COMP): (2n - 1)!!."""
    index = dpor.Atomic(-1)
    array = [dpor.Atomic(0) for _ in range(n)]

    def mark():
        array[index.load()].store(1)

    for _ in range(n):
        index.store(index.load() + 1)
        dpor.spawn(mark)
    dpor.join_all()
