"""Cached properties that need each other wait for ever: before Python 3.12 all objects share the lock of one."""

import functools
import threading

import dpor


class Node:
    def __init__(self, other: "Node | None" = None) -> None:
        self.other = other

    @functools.cached_property
    def left(self) -> int:
        return 1 if self.other is None else self.other.right

    @functools.cached_property
    def right(self) -> int:
        return 1 if self.other is None else self.other.left


@dpor.model
def model() -> None:
    one, two = Node(Node()), Node(Node())
    thread = threading.Thread(target=lambda: one.left)
    thread.start()
    assert two.right == 1
    thread.join()
