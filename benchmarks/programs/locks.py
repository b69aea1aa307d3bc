"""Reference programs whose classes come from locks: nesting, locks chosen by races, branches under a lock.

Every shared variable is an `Atomic`; each call of one of its methods, and each acquire and release, is one
event.
"""

import threading

import dpor


def _touch(lock):
    with lock:
        pass


@dpor.model
def mpat(n: int = 2):
    """`n` pairs of threads over one lock each, half of them under a common lock (QPOR): n! 2^n classes."""
    common = threading.Lock()
    locks = [threading.Lock() for _ in range(n)]

    def touch_under_common(lock):
        with common:
            _touch(lock)

    for lock in locks:
        dpor.spawn(_touch, lock)
        dpor.spawn(touch_under_common, lock)


@dpor.model
def ssbexp(n: int = 4):
    """A counter chooses which of `n` locks main takes (QPOR's figure 1, with mutexes): 2n classes."""
    counter = dpor.Atomic(0)
    counter_lock = threading.Lock()
    locks = [threading.Lock() for _ in range(n)]

    def count():
        for value in range(1, n):
            with counter_lock:
                counter.store(value)

    for lock in locks:
        dpor.spawn(_touch, lock)
    dpor.spawn(count)
    with counter_lock:
        i = counter.load()
    _touch(locks[i])
    dpor.join_all()


def _spawn_choice_of_cell(n, master_first):
    counter = dpor.Atomic(0)
    cells = [dpor.Atomic(0) for _ in range(n)]

    def count():
        for value in range(1, n):
            counter.store(value)

    def overwrite_chosen():
        cells[counter.load()].store(0)

    if master_first:
        dpor.spawn(overwrite_chosen)
        dpor.spawn(count)
    for cell in cells:
        dpor.spawn(cell.store, 1)
    if not master_first:
        dpor.spawn(count)
        dpor.spawn(overwrite_chosen)
    dpor.join_all()


@dpor.model
def ssbexp_at(n: int = 4):
    """A counter chooses which of `n` variables a thread overwrites (QPOR's figure 1): 2n classes."""
    _spawn_choice_of_cell(n, master_first=False)


@dpor.model
def ssbexp_at_mf(n: int = 8):
    """`ssbexp_at` with the choosing threads spawned first: 2n classes, and nothing redundant for source
    sets.
    """
    _spawn_choice_of_cell(n, master_first=True)


@dpor.model
def ssb3(n: int = 3, m: int = 2):
    """A counter chooses a lock, or two threads take one `m` times each (QPOR): C(2m, m) + 2n classes."""
    x, z, counter = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)
    table = [dpor.Atomic(0) for _ in range(n)]
    x_lock, z_lock, counter_lock = threading.Lock(), threading.Lock(), threading.Lock()
    table_locks = [threading.Lock() for _ in range(n)]

    def fill(identity):
        with table_locks[identity]:
            table[identity].store(123)

    def count():
        with z_lock:
            z.store(1)
        for value in range(1, n):
            with counter_lock:
                counter.store(value)

    def write_x(value):
        for _ in range(m):
            with x_lock:
                x.store(value)

    def read_z():
        with z_lock:
            seen = z.load()
        if seen == 1:
            with counter_lock:
                i = counter.load()
            with table_locks[i]:
                table[i].store(8899)
        else:
            other = dpor.spawn(write_x, 10)
            write_x(20)
            other.join()

    for identity in range(n):
        dpor.spawn(fill, identity)
    dpor.spawn(count)
    dpor.spawn(read_z)
    dpor.join_all()


@dpor.model
def ssbsimple():
    """Three threads over three nested locks, one of them conditional (QPOR): 6 classes."""
    x = dpor.Atomic(0)
    x_lock, y_lock, z_lock = threading.Lock(), threading.Lock(), threading.Lock()

    def set_x():
        with x_lock:
            x.store(1)
        _touch(z_lock)

    def touch_y_if_set():
        with x_lock:
            if x.load() != 0:
                _touch(y_lock)

    def nest():
        with y_lock:
            _touch(z_lock)

    dpor.spawn(nest)
    dpor.spawn(touch_y_if_set)
    dpor.spawn(set_x)


@dpor.model
def exponential_bug(n: int = 1):
    """Three threads that race past a lock, with `n` writes in its critical section (SV-COMP, without
    assertion).
    """
    x, y = dpor.Atomic(0), dpor.Atomic(0)
    lock = threading.Lock()

    def set_both():
        for _ in range(2):
            with lock:
                x.store(1)
                for _ in range(n):
                    y.store(1)

    def reset_then_raise():
        for _ in range(2):
            with lock:
                x.store(0)
            if x.load() > 0:
                y.store(y.load() + 1)
                x.store(2)

    def watch():
        for _ in range(2):
            if x.load() > 1:
                if y.load() == 3:
                    return
                y.store(2)

    dpor.spawn(set_both)
    dpor.spawn(reset_then_raise)
    dpor.spawn(watch)


@dpor.model
def parker(n: int = 2):
    """The JDK's LockSupport bug with `n` rounds of parking, waiting by `assume` (Nidhugg's parker)."""
    done, unparked, x, y = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)
    permits, asleep = dpor.Atomic(0), dpor.Atomic(0)

    def unpark():
        y.store(1)
        dpor.assume(x.load() == 0)
        before = permits.load()
        permits.store(1)
        y.store(0)
        if before < 1:
            asleep.store(0)

    def park():
        if permits.load() > 0:
            permits.store(0)
            return
        x.store(1)
        if y.load() != 0:
            x.store(0)
            return
        if permits.load() > 0:
            permits.store(0)
            x.store(0)
            return
        asleep.store(1)
        x.store(0)
        if unparked.load() != 0:
            asleep.load()
        dpor.assume(asleep.load() == 0)
        x.store(1)
        dpor.assume(y.load() == 0)
        permits.store(0)
        x.store(0)

    def park_until_done():
        rounds = 0
        while not done.load():
            dpor.assume(rounds < n)
            park()
            rounds += 1

    dpor.spawn(park_until_done)
    unpark()
    done.store(1)
    unpark()
    unparked.store(1)
