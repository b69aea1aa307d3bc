"""A first-party module with state of its own."""

import threading

_lock = threading.Lock()
_names = []
total = 0


def add(name):
    with _lock:
        _names.append(name)


def known():
    with _lock:
        return list(_names)


def count():
    global total
    with _lock:
        total += 1
