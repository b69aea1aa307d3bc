"""Store buffers: algorithms that are right on paper and wrong on a machine that delays stores.

CPython with its global interpreter lock runs threads as if every store reached memory at once. The processors below it
do not: an x86 keeps stores in a buffer for a while (`memory_model="tso"`), others let them overtake each other as well
(`"pso"`). Builds without the lock, and algorithms that are only prototyped in Python, meet that.

Peterson's algorithm is broken by the delay: both threads announce themselves, and both look before the other's
announcement has left its buffer. A fence between the two fixes it under TSO. Under PSO, where stores leave the
buffer in any order, it takes barriers as well. Handing data over with a flag survives TSO and not PSO.
"""

import dpor


class Section:
    """Counts the threads inside; more than one is a violation."""

    def __init__(self):
        self.inside = 0

    def visit(self):
        self.inside += 1
        assert self.inside == 1, "two threads are in the critical section"
        self.inside -= 1


class Peterson:
    def __init__(self, fence=False, barriers=False):
        self.fence = fence
        self.barriers = barriers
        self.wants = [False, False]
        self.turn = 0
        self.section = Section()

    def barrier(self):
        if self.barriers:
            dpor.fence(order="release")

    def thread(self, me):
        other = 1 - me
        self.wants[me] = True
        self.barrier()
        self.turn = other
        if self.fence:
            dpor.fence()
        while self.wants[other] and self.turn != me:
            pass
        self.section.visit()
        self.barrier()
        self.wants[me] = False


def compete(algorithm):
    dpor.spawn(algorithm.thread, 0)
    dpor.spawn(algorithm.thread, 1)
    dpor.join_all()


@dpor.model(memory_model="tso", expect="violated")
def peterson_without_a_fence():
    """Each thread looks while the other's announcement is still in its store buffer."""
    compete(Peterson())


@dpor.model(memory_model="tso", expect="verified")
def peterson_with_a_fence():
    """The fence waits until the announcement has reached memory."""
    compete(Peterson(fence=True))


@dpor.model(memory_model="pso", expect="violated")
def peterson_with_a_fence_under_pso():
    """Giving way overtakes the announcement."""
    compete(Peterson(fence=True))


@dpor.model(memory_model="pso", expect="verified")
def peterson_with_barriers_under_pso():
    """The barriers keep announcing, giving way, what is done inside and leaving in order."""
    compete(Peterson(fence=True, barriers=True))


class Box:
    def __init__(self):
        self.message = None
        self.full = False

    def put(self, message, barrier):
        self.message = message
        if barrier:
            dpor.fence(order="release")
        self.full = True

    def look(self):
        if self.full:
            assert self.message == "hello", "the box is full and the message is not there"


def hand_over(barrier):
    box = Box()
    dpor.spawn(box.put, "hello", barrier)
    dpor.spawn(box.look)
    dpor.join_all()


@dpor.model(memory_model="tso", expect="verified")
def handed_over_in_order():
    """Under TSO stores leave the buffer in order: whoever sees the flag sees the message."""
    hand_over(barrier=False)


@dpor.model(memory_model="pso", expect="violated")
def handed_over_out_of_order():
    """Under PSO the flag overtakes the message."""
    hand_over(barrier=False)


@dpor.model(memory_model="pso", expect="verified")
def handed_over_behind_a_barrier():
    """A release fence between the two stores keeps them in order."""
    hand_over(barrier=True)
