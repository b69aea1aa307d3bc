"""Reference programs that are mutual exclusion algorithms with bounded waiting, without any lock.

Where waiting is bounded by `n` attempts, a thread that runs out of attempts gives up; where it is an
`assume`, the execution counts as blocked. Every shared variable is an `Atomic`; each call of one of its
methods is one event.
"""

import dpor


def _becomes(variable, wanted, attempts):
    """Read `variable` up to `attempts` times; True as soon as it is `wanted`."""
    for _ in range(attempts):  # noqa: SIM110 - a plain loop, as in the other programs
        if variable.load() == wanted:
            return True
    return False


@dpor.model
def lamport2(n: int = 1):
    """Lamport's fast mutex for two threads, waiting and retries bounded by `n` (SV-COMP lamport)."""
    x, y, var = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)
    wants = [dpor.Atomic(0) for _ in range(3)]

    def enter(me, other):
        for _ in range(n):
            wants[me].store(1)
            x.store(me)
            if y.load() != 0:
                wants[me].store(0)
                if not _becomes(y, 0, n):
                    return False
                continue
            y.store(me)
            if x.load() != me:
                wants[me].store(0)
                if not _becomes(wants[other], 0, n):
                    return False
                if y.load() != me:
                    if not _becomes(y, 0, n):
                        return False
                    continue
            return True
        return False

    def contend(me, other):
        for _ in range(2):
            if not enter(me, other):
                return
            var.store(me)
            assert var.load() == me
            y.store(0)
            wants[me].store(0)

    dpor.spawn(contend, 1, 2)
    dpor.spawn(contend, 2, 1)
    dpor.join_all()


@dpor.model
def lamport_fast(n: int = 2):
    """Lamport's fast mutex for `n` threads, waiting by `assume` (Observers, TACAS'18)."""
    x, y, critical = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)
    wants = [dpor.Atomic(0) for _ in range(n + 1)]

    def enter(me):
        while True:
            wants[me].store(1)
            x.store(me)
            if y.load() != 0:
                wants[me].store(0)
                dpor.assume(y.load() == 0)
                continue
            y.store(me)
            if x.load() != me:
                wants[me].store(0)
                for other in range(1, n + 1):
                    dpor.assume(wants[other].load() == 0)
                if y.load() != me:
                    dpor.assume(y.load() == 0)
                    continue
            return

    def contend(me):
        enter(me)
        critical.store(me)
        assert critical.load() == me
        y.store(0)
        wants[me].store(0)

    for me in range(1, n + 1):
        dpor.spawn(contend, me)


@dpor.model
def peterson(n: int = 1):
    """Peterson's mutex, two rounds a thread, waiting bounded by `n` (SV-COMP)."""
    flags = [dpor.Atomic(0), dpor.Atomic(0)]
    turn, x = dpor.Atomic(0), dpor.Atomic(0)

    def enter(me):
        for _ in range(n):
            flag = flags[1 - me].load()
            whose = turn.load()
            if flag != 1 or whose != 1 - me:
                return True
        return False

    def contend(me):
        for _ in range(2):
            flags[me].store(1)
            turn.store(1 - me)
            if not enter(me):
                return
            x.store(me + 1)
            assert x.load() == me + 1
            flags[me].store(0)

    dpor.spawn(contend, 0)
    dpor.spawn(contend, 1)
    dpor.join_all()


@dpor.model
def dekker_sv():
    """Dekker's mutex, two rounds a thread, every wait bounded by two attempts (SV-COMP)."""
    flags = [dpor.Atomic(0), dpor.Atomic(0)]
    turn, x = dpor.Atomic(0), dpor.Atomic(0)

    def enter(me):
        for _ in range(2):
            if flags[1 - me].load() == 0:
                return True
            if turn.load() != me:
                flags[me].store(0)
                if not _becomes(turn, me, 2):
                    return False
                flags[me].store(1)
        return False

    def contend(me):
        for _ in range(2):
            flags[me].store(1)
            if not enter(me):
                return
            x.store(me + 1)
            assert x.load() == me + 1
            turn.store(1 - me)
            flags[me].store(0)

    dpor.spawn(contend, 0)
    dpor.spawn(contend, 1)
    dpor.join_all()


@dpor.model
def burns(n: int = 2):
    """Burns' mutex laid out for `n` threads of which two run, waiting bounded by `n` (SV-COMP)."""
    flags = [dpor.Atomic(0) for _ in range(n)]
    x = dpor.Atomic(0)

    def enter(me):
        restart = False
        for _ in range(n):
            flags[me].store(0)
            for i in range(me):
                if not _becomes(flags[i], 0, n):
                    return False
            flags[me].store(1)
            for i in range(me):
                if not _becomes(flags[i], 0, n):
                    restart = True
                    break
            if not restart:
                return True
        return False

    def contend(me):
        if not enter(me):
            return
        for i in range(me + 1, n):
            if not _becomes(flags[i], 0, n):
                return
        x.store(me)
        assert x.load() == me
        flags[me].store(0)

    dpor.spawn(contend, 0)
    dpor.spawn(contend, 1)
    dpor.join_all()


@dpor.model
def dijkstra(n: int = 2):
    """Dijkstra's mutex for two threads, every loop bounded by `n` (SV-COMP)."""
    interested = [dpor.Atomic(0), dpor.Atomic(0)]
    passed = [dpor.Atomic(0), dpor.Atomic(0)]
    k, x = dpor.Atomic(0), dpor.Atomic(0)

    def become_candidate(me):
        for _ in range(n):
            candidate = k.load()
            if candidate == me:
                return True
            if interested[candidate].load() == 0:
                k.store(me)
        return False

    def enter(me):
        for _ in range(n):
            if not become_candidate(me):
                return False
            passed[me].store(1)
            if passed[1 - me].load() != 1:
                return True
            passed[me].store(0)
        return False

    def contend(me):
        interested[me].store(1)
        if not enter(me):
            return
        x.store(me)
        assert x.load() == me
        passed[me].store(0)
        interested[me].store(0)

    dpor.spawn(contend, 0)
    dpor.spawn(contend, 1)
    dpor.join_all()


@dpor.model
def opt_lock(n: int = 4):
    """An optimistic lock tried up to `n` times by two threads (SV-COMP, VC-DPOR's benchmarks)."""
    x, y = dpor.Atomic(0), dpor.Atomic(0)

    def attempt(identity):
        for _ in range(n):
            x.store(identity)
            y.store(1)
            if x.load() == identity:
                y.load()
                break

    dpor.spawn(attempt, 0)
    dpor.spawn(attempt, 1)


@dpor.model
def linuxlocks(n: int = 3):
    """Two threads try a compare-and-swap lock `n` times each (the POP paper's linuxrwlocks)."""
    lock, var = dpor.Atomic(0), dpor.Atomic(0)

    def attempt(identity):
        for _ in range(n):
            if lock.compare_exchange(0, 1):
                var.store(identity)
                assert var.load() == identity
                lock.store(0)

    dpor.spawn(attempt, 1)
    dpor.spawn(attempt, 2)
    dpor.join_all()


@dpor.model
def ticket(n: int = 3):
    """A ticket lock taken once by `n` threads, waiting by `assume`: n! complete executions."""
    next_ticket, now_serving, counter = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)

    def increment():
        mine = next_ticket.fetch_add(1)
        dpor.assume(now_serving.load() == mine)
        counter.store(counter.load() + 1)
        now_serving.store(mine + 1)

    for _ in range(n):
        dpor.spawn(increment)
    dpor.join_all()
