"""Reference programs of the QPOR paper (CAV'18) in which helper threads hand out work.

Every shared variable is an `Atomic`; each call of one of its methods, and each acquire and release, is one
event.
"""

import threading

import dpor


def _choose_by_racing(lock, variable, first, count):
    """Write `first`, ..., `count - 1` one after the other: whoever reads meanwhile has made a choice."""
    for value in range(first, count):
        with lock:
            variable.store(value)


@dpor.model
def dispatcher(n: int = 2, m: int = 2):
    """`n` servers get `m` requests, each sent to a server that a race chooses (QPOR's DISPATCHER)."""
    chosen = dpor.Atomic(0)
    choice_lock = threading.Lock()
    incoming = [dpor.Atomic(0) for _ in range(n)]
    outgoing = [dpor.Atomic(0) for _ in range(n)]
    server_locks = [threading.Lock() for _ in range(n)]

    def serve(identity):
        with server_locks[identity]:
            if incoming[identity].load() > 0:
                outgoing[identity].store(incoming[identity].load())

    for identity in range(n):
        dpor.spawn(serve, identity)
    for _ in range(m):
        picker = dpor.spawn(_choose_by_racing, choice_lock, chosen, 0, n)
        with choice_lock:
            server = chosen.load()
        with server_locks[server]:
            incoming[server].store(incoming[server].load() + 1)
        picker.join()


@dpor.model
def poke(n: int = 3, m: int = 3):
    """`n` workers raise a flag each; `m` rounds poke one that a race chooses and count it (QPOR's POL)."""
    flags = [dpor.Atomic(0) for _ in range(n)]
    flag_locks = [threading.Lock() for _ in range(n)]
    chosen, seen = dpor.Atomic(0), dpor.Atomic(0)
    choice_lock = threading.Lock()

    def work(identity):
        with flag_locks[identity]:
            flags[identity].store(1)

    def poke_chosen():
        with choice_lock:
            i = chosen.load()
        with flag_locks[i]:
            if flags[i].load() == 1:
                seen.store(seen.load() + 1)
                flags[i].store(0)

    workers = [dpor.spawn(work, identity) for identity in range(n)]
    for _ in range(m):
        choice = dpor.spawn(_choose_by_racing, choice_lock, chosen, 1, n)
        poker = dpor.spawn(poke_chosen)
        choice.join()
        poker.join()
    assert seen.load() >= 0
    assert seen.load() <= n
    for worker in workers:
        worker.join()
    for i in range(n):
        if flags[i].load():
            seen.store(seen.load() + 1)
    assert seen.load() == n


@dpor.model
def mpc(n: int = 2, m: int = 3):
    """`n` producers and `m` workers, two rounds each; producers' races choose the worker (QPOR's MPC)."""
    requested = [dpor.Atomic(0) for _ in range(m)]
    done = [dpor.Atomic(0) for _ in range(m)]
    worker_locks = [threading.Lock() for _ in range(m)]
    buffer = dpor.Atomic(0)
    producer_lock = threading.Lock()

    def work(identity):
        for _ in range(2):
            have_task = False
            with worker_locks[identity]:
                if requested[identity].load() != 0:
                    requested[identity].store(requested[identity].load() - 1)
                    have_task = True
            if have_task:
                done[identity].store(done[identity].load() + 1)

    def produce(identity):
        produced = 0
        for _ in range(2):
            with producer_lock:
                buffer.store(buffer.load() * n + identity)
                produced = buffer.load()
        worker = produced % m
        with worker_locks[worker]:
            requested[worker].store(requested[worker].load() + 1)

    for identity in range(m):
        dpor.spawn(work, identity)
    for identity in range(n):
        dpor.spawn(produce, identity)
