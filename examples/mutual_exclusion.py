"""Mutual exclusion without locks: Peterson's and Dekker's algorithms.

Both use nothing but plain variables. The textbook waits in a loop; a loop that waits for another thread has
no longest execution, so a model says what it waits for: `dpor.wait_until(predicate)` blocks the thread
until the predicate over shared state holds.

The property is in `Section.visit`: while a thread is inside, nobody else is. `announced_too_late` shows
how little it takes to lose it: the two lines that announce a thread's interest and give way are swapped.
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
    def __init__(self):
        self.wants = [False, False]
        self.turn = 0
        self.section = Section()

    def thread(self, me):
        other = 1 - me
        self.wants[me] = True
        self.turn = other
        dpor.wait_until(lambda: not self.wants[other] or self.turn == me)
        self.section.visit()
        self.wants[me] = False

    def thread_announcing_late(self, me):
        other = 1 - me
        self.turn = other
        self.wants[me] = True
        dpor.wait_until(lambda: not self.wants[other] or self.turn == me)
        self.section.visit()
        self.wants[me] = False


class Dekker:
    def __init__(self):
        self.wants = [False, False]
        self.turn = 0
        self.section = Section()

    def thread(self, me):
        other = 1 - me
        self.wants[me] = True
        while self.wants[other]:
            if self.turn != me:
                self.wants[me] = False
                dpor.wait_until(lambda: self.turn == me)
                self.wants[me] = True
            else:
                dpor.wait_until(lambda: not self.wants[other])
        self.section.visit()
        self.turn = other
        self.wants[me] = False


@dpor.model(expect="verified")
def peterson():
    """Two threads, each once through the critical section."""
    algorithm = Peterson()
    dpor.spawn(algorithm.thread, 0)
    dpor.spawn(algorithm.thread, 1)
    dpor.join_all()


@dpor.model(expect="violated")
def announced_too_late():
    """Giving way before announcing interest lets both threads in."""
    algorithm = Peterson()
    dpor.spawn(algorithm.thread_announcing_late, 0)
    dpor.spawn(algorithm.thread_announcing_late, 1)
    dpor.join_all()


@dpor.model(expect="verified")
def dekker():
    """Two threads, each once through the critical section."""
    algorithm = Dekker()
    dpor.spawn(algorithm.thread, 0)
    dpor.spawn(algorithm.thread, 1)
    dpor.join_all()
