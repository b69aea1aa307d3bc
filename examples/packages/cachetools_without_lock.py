"""cachetools: a cache shared by threads without a lock raises KeyError from an assignment.

The caches of cachetools are not thread-safe, and its documentation says so. Users find out when `cache[key]
= value` raises KeyError, for a key that they never asked for, and sometimes never recovers:
https://github.com/tkem/cachetools/issues/80 and https://github.com/tkem/cachetools/issues/288.

When the cache is full, an assignment evicts: `popitem` looks up the oldest key, and then deletes it. Two
threads can look up the same one; the second deletion raises KeyError.

The fix is the `lock` argument of the decorator, which holds the lock around every access to the cache (but
not around the call of the function itself).
"""

import threading

import cachetools

import dpor


def remember(cache, key, value):
    cache[key] = value


@dpor.model(expect="violated", instrument=("cachetools",))
def evicting_at_once():
    """Two threads assign to a full cache."""
    cache = cachetools.LRUCache(maxsize=1)
    cache["old"] = 0
    dpor.spawn(remember, cache, "left", 1)
    dpor.spawn(remember, cache, "right", 2)
    dpor.join_all()


def squares_from_threads(lock):
    @cachetools.cached(cachetools.LRUCache(maxsize=1), lock=lock)
    def square(number):
        return number * number

    square(1)
    dpor.spawn(square, 2)
    dpor.spawn(square, 3)
    dpor.join_all()
    assert square(2) == 4


@dpor.model(expect="violated", instrument=("cachetools",))
def decorated_without_lock():
    """The decorator, as most people write it."""
    squares_from_threads(lock=None)


@dpor.model(expect="verified", instrument=("cachetools",))
def decorated_with_lock():
    """The same with the `lock` argument."""
    squares_from_threads(lock=threading.Lock())
