"""A Treiber stack: a lock-free stack whose top is changed with compare-and-exchange.

A push or pop reads the top, prepares the new top, and installs it only if the top is still what it was; if
not, it tries again. `dpor.Atomic` gives that operation, which Python itself does not have.

The wrong version keeps removed nodes and uses them again, to save memory. That is the ABA problem: a thread
reads top A and A's successor B, and is interrupted; meanwhile A and B are popped and A is pushed again. The
top *is* A, so the exchange succeeds, and installs B, which is no longer on the stack.
"""

import dpor


class Node:
    def __init__(self, value, below=None):
        self.value = value
        self.below = below


class Stack:
    def __init__(self):
        self.top = dpor.Atomic(None)

    def push(self, value):
        self.push_node(Node(value))

    def push_node(self, node):
        while True:
            top = self.top.load()
            node.below = top
            if self.top.compare_exchange(top, node):
                return

    def pop_node(self):
        while True:
            top = self.top.load()
            if top is None:
                return None
            if self.top.compare_exchange(top, top.below):
                return top

    def pop(self):
        node = self.pop_node()
        return None if node is None else node.value

    def drain(self):
        values = []
        while (value := self.pop()) is not None:
            values.append(value)
        return values


@dpor.model(expect="verified")
def pushes_and_pops(pushers: int = 2):
    """Whatever the schedule, every value pushed is popped once or is still there."""
    stack = Stack()
    popped = []
    for number in range(pushers):
        dpor.spawn(stack.push, number)
    dpor.spawn(lambda: popped.append(stack.pop()))
    dpor.join_all()
    remaining = stack.drain()
    assert sorted([value for value in popped if value is not None] + remaining) == list(range(pushers))


def pop_twice_and_push_back(stack, popped):
    first = stack.pop_node()
    second = stack.pop_node()
    popped.append(second.value if second else None)
    if first:
        stack.push_node(first)


@dpor.model(expect="violated")
def reused_node():
    """A node pushed again while another thread is in the middle of a pop: B is popped twice."""
    stack = Stack()
    stack.push("B")
    stack.push("A")
    popped = []
    dpor.spawn(lambda: popped.append(stack.pop()))
    dpor.spawn(pop_twice_and_push_back, stack, popped)
    dpor.join_all()
    values = [value for value in popped + stack.drain() if value is not None]
    assert len(values) == len(set(values)), "a value was popped twice"
