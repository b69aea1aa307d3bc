"""What CPython takes as a time limit: a real lock that is free is given it, and says what is wrong with it."""

from __future__ import annotations

import _queue
import _thread
from typing import Any

_allocate_lock = _thread.allocate_lock
_Queue = _queue.SimpleQueue


def of_lock(timeout: Any, blocking: bool) -> float:
    """The time-out of `Lock.acquire`, -1 for none; its errors for one that it does not take."""
    _allocate_lock().acquire(blocking, timeout)
    return float(timeout)


def of_wait(timeout: Any, blocking: bool = True) -> float:
    """The time-out of a wait that only takes a lock if there is time left."""
    if timeout > 0:
        _allocate_lock().acquire(blocking, timeout)
    return max(float(timeout), 0.0)


def of_queue(timeout: Any, blocking: bool = True) -> float:
    """The time-out of `SimpleQueue.get`."""
    queue: _queue.SimpleQueue[None] = _Queue()
    queue.put(None)
    queue.get(blocking, timeout)
    return float(timeout)


def of_sleep(seconds: Any) -> float:
    """How long `time.sleep` is to sleep."""
    if isinstance(seconds, int | float) and seconds < 0:
        raise ValueError("sleep length must be non-negative")
    _allocate_lock().acquire(True, seconds)
    return float(seconds)
