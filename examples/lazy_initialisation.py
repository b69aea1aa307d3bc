"""Check-then-act on a dict: two threads both find a key missing, and both make the value.

Every single operation on a dict is atomic in CPython, and still the sequence "look, then store" is not.
Here two threads end up with two different connections, though there should be one.

Two fixes: hold a lock over the whole sequence; or use `dict.setdefault`, which looks and stores in one
step. The second may make a value that is thrown away, but all threads agree on the one that stays.
"""

import threading

import dpor


class Connection:
    pass


class Pool:
    def __init__(self):
        self.connections = {}
        self.lock = threading.Lock()

    def get(self, host):
        if host not in self.connections:
            self.connections[host] = Connection()
        return self.connections[host]

    def get_locked(self, host):
        with self.lock:
            return self.get(host)

    def get_or_set(self, host):
        return self.connections.setdefault(host, Connection())


def ask_from(get, threads):
    seen = []
    for _ in range(threads):
        dpor.spawn(lambda: seen.append(get("example.org")))
    dpor.join_all()
    assert all(connection is seen[0] for connection in seen)


@dpor.model(expect="violated")
def check_then_act(threads: int = 2):
    """Look, then store: threads can see different connections."""
    ask_from(Pool().get, threads)


@dpor.model(expect="verified")
def under_a_lock(threads: int = 2):
    """Look and store under one lock."""
    ask_from(Pool().get_locked, threads)


@dpor.model(expect="verified")
def with_setdefault(threads: int = 2):
    """Look and store in one atomic operation."""
    ask_from(Pool().get_or_set, threads)
