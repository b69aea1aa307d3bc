"""A condition has to be checked again after a wait: someone else may have been quicker."""

import threading

import dpor


class Buffer:
    def __init__(self):
        self.items = []
        self.changed = threading.Condition()

    def put(self, item):
        with self.changed:
            self.items.append(item)
            self.changed.notify()

    def get_checked_once(self):
        with self.changed:
            if not self.items:
                self.changed.wait()
            return self.items.pop(0)

    def get(self):
        with self.changed:
            while not self.items:
                self.changed.wait()
            return self.items.pop(0)


def produce(buffer):
    buffer.put(1)
    buffer.put(2)


@dpor.model(expect="violated")
def wait_guarded_by_if():
    buffer = Buffer()
    dpor.spawn(produce, buffer)
    dpor.spawn(buffer.get_checked_once)
    dpor.spawn(buffer.get_checked_once)
    dpor.join_all()


@dpor.model
def wait_guarded_by_if_fixed():
    buffer = Buffer()
    dpor.spawn(produce, buffer)
    dpor.spawn(buffer.get)
    dpor.spawn(buffer.get)
    dpor.join_all()


@dpor.model(expect="violated")
def notify_before_wait():
    """The notification comes before anybody waits, and is lost."""
    changed = threading.Condition()

    def wait():
        with changed:
            changed.wait()

    def notify():
        with changed:
            changed.notify()

    dpor.spawn(wait)
    dpor.spawn(notify)
    dpor.join_all()


@dpor.model
def notify_before_wait_fixed():
    changed = threading.Condition()
    state = {"ready": False}

    def wait():
        with changed:
            changed.wait_for(lambda: state["ready"])

    def notify():
        with changed:
            state["ready"] = True
            changed.notify()

    dpor.spawn(wait)
    dpor.spawn(notify)
    dpor.join_all()


@dpor.model(expect="violated")
def timed_wait_taken_for_success():
    """A timed wait may time out even if the other thread is about to notify."""
    flag = threading.Event()
    dpor.spawn(flag.set)
    assert flag.wait(timeout=5)


@dpor.model
def timed_wait_taken_for_success_fixed():
    flag = threading.Event()
    dpor.spawn(flag.set)
    assert flag.wait()
