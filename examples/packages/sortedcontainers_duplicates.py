"""sortedcontainers: a SortedDict that holds one key twice.

`SortedDict.__setitem__` asks whether the key is there, and if not adds it to its sorted list of keys. Two
threads that store under the same new key can both find it missing and both add it. From then on the dict
and its list disagree: the key comes twice in every iteration, and after one deletion iterating raises
KeyError. Thread safety was asked for and left to the caller:
https://github.com/grantjenks/python-sortedcontainers/issues/105.

The fix is a lock around every use.
"""

import threading

from sortedcontainers import SortedDict

import dpor


@dpor.model(expect="violated", instrument=("sortedcontainers",))
def key_twice():
    """Two threads store under the same new key."""
    jobs = SortedDict()
    dpor.spawn(jobs.__setitem__, "job", "left")
    dpor.spawn(jobs.__setitem__, "job", "right")
    dpor.join_all()
    assert list(jobs) == ["job"]


@dpor.model(expect="verified", instrument=("sortedcontainers",))
def key_once():
    """The same under a lock."""
    jobs = SortedDict()
    lock = threading.Lock()

    def store(value):
        with lock:
            jobs["job"] = value

    dpor.spawn(store, "left")
    dpor.spawn(store, "right")
    dpor.join_all()
    assert list(jobs) == ["job"]
