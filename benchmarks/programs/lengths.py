"""Reference programs that are long rather than wide: what an event, a race and a thread cost (VC-DPOR's
tables).

Each thread writes and reads a variable of its own, which nobody else touches, then the shared one.
"""

import dpor


def _run(threads, private_rounds, shared_rounds, sharing):
    own = [dpor.Atomic(0) for _ in range(threads)]
    shared = dpor.Atomic(0)

    def work(identity):
        mine = own[identity]
        for k in range(private_rounds):
            mine.store(k)
            mine.load()
        if identity < sharing:
            for _ in range(shared_rounds):
                shared.store(identity)
                shared.load()

    for identity in range(threads):
        dpor.spawn(work, identity)


@dpor.model
def length_param(n: int = 64):
    """Two threads of `n` private rounds and one shared round: 4 classes whatever `n` is."""
    _run(threads=2, private_rounds=n, shared_rounds=1, sharing=2)


@dpor.model
def race_param(n: int = 2):
    """Two threads of 42 private rounds and `n` shared rounds."""
    _run(threads=2, private_rounds=42, shared_rounds=n, sharing=2)


@dpor.model
def thread_param(n: int = 8):
    """`n` threads of 42 private rounds, of which two share one round: 4 classes whatever `n` is."""
    _run(threads=n, private_rounds=42, shared_rounds=1, sharing=2)
