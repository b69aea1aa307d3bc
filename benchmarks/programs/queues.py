"""Reference programs in which threads hand over data under one lock (SV-COMP's pthread programs).

Every shared variable is an `Atomic`; each call of one of its methods, and each acquire and release, is one
event. All accesses are under the lock, so the classes are the orders of the critical sections.
"""

import threading

import dpor

BUFFER_SIZE = 10


@dpor.model
def circular_buffer(n: int = 5):
    """A sender and a receiver take turns through a ring buffer, `n` attempts each: C(2n, n) classes."""
    first, following, value = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)
    may_send, may_receive = dpor.Atomic(1), dpor.Atomic(0)
    buffer = [dpor.Atomic(0) for _ in range(BUFFER_SIZE)]
    lock = threading.Lock()

    def send():
        for i in range(n):
            with lock:
                if may_send.load():
                    place = following.load()
                    buffer[place].store(i)
                    following.store((place + 1) % BUFFER_SIZE)
                    value.store(i)
                    may_send.store(0)
                    may_receive.store(1)

    def receive():
        for _ in range(n):
            with lock:
                if may_receive.load():
                    place = first.load()
                    element = -1
                    if following.load() > 0 and place < BUFFER_SIZE:
                        first.store(place + 1)
                        element = buffer[place].load()
                    assert element == value.load()
                    may_receive.store(0)
                    may_send.store(1)

    dpor.spawn(send)
    dpor.spawn(receive)
    dpor.join_all()


@dpor.model
def queue_ok(n: int = 2):
    """`n` threads that enqueue and `n` that dequeue, once each (SV-COMP queue_ok, as in Nidhugg): (2n)!
    classes.
    """
    size = 2 * n
    elements = [dpor.Atomic(0) for _ in range(size)]
    head, tail, amount = dpor.Atomic(0), dpor.Atomic(0), dpor.Atomic(0)
    lock = threading.Lock()

    def enqueue(value):
        with lock:
            place = tail.load()
            elements[place].store(value)
            amount.store(amount.load() + 1)
            tail.store((place + 1) % size)

    def dequeue():
        with lock:
            if amount.load() > 0:
                place = head.load()
                assert elements[place].load() != 0
                amount.store(amount.load() - 1)
                head.store((place + 1) % size)

    for value in range(1, n + 1):
        dpor.spawn(enqueue, value)
    for _ in range(n):
        dpor.spawn(dequeue)
    dpor.join_all()


@dpor.model
def stack_true(n: int = 1):
    """`n` threads push and `n` pop, four times each (SV-COMP stack_true): (8n)! / 4!^(2n) classes."""
    size = 4 * n
    elements = [dpor.Atomic(0) for _ in range(size)]
    top = dpor.Atomic(0)
    lock = threading.Lock()

    def push_all():
        for i in range(4):
            with lock:
                height = top.load()
                assert height < size
                elements[height].store(i)
                top.store(height + 1)

    def pop_all():
        for _ in range(4):
            with lock:
                height = top.load()
                if height > 0:
                    top.store(height - 1)
                    elements[height - 1].load()

    for _ in range(n):
        dpor.spawn(push_all)
        dpor.spawn(pop_all)
    dpor.join_all()
