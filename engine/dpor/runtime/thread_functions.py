"""The functions of `threading` and `_thread` that tell which threads there are and which one runs."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from dpor.runtime import current
from dpor.runtime.identifiers import ident_of, told_ident
from dpor.runtime.thread import RealThread, Thread, known_thread

if TYPE_CHECKING:
    from dpor.runtime.execution import Execution

real_get_ident = threading.get_ident
_real_current_thread = threading.current_thread
_real_main_thread = threading.main_thread
_real_counter: Callable[[], int] = vars(threading)["_counter"]
_real_get_native_id = threading.get_native_id
_real_enumerate = threading.enumerate
_real_count: Callable[[], int] = vars(_thread)["_count"]


def current_thread() -> RealThread:
    """threading.current_thread."""
    host = current.active_host()
    if host is None:
        return _real_current_thread()
    thread = known_thread(host)
    if thread.dpor_unmet:
        thread.dpor_meet(host)
    return thread


def main_thread() -> RealThread:
    """threading.main_thread: the thread that runs the model."""
    host = current.active_host()
    return _real_main_thread() if host is None else host.current_thread().dpor_execution.main


def get_ident() -> int:
    """threading.get_ident."""
    host = current.active_host()
    return real_get_ident() if host is None else told_ident(known_thread(host))


def running_ident() -> int:
    """The same, for the checker itself."""
    host = current.active_host()
    return real_get_ident() if host is None else ident_of(known_thread(host))


def next_number() -> int:
    """What `threading` numbers threads by that are given no name."""
    host = current.active_host()
    execution = None if host is None else cast("Thread", host.current_thread()).dpor_execution
    return _real_counter() if host is None or execution is None else execution.numbers.threads.next(host)


def get_native_id() -> int:
    """threading.get_native_id."""
    host = current.active_host()
    return _real_get_native_id() if host is None else told_ident(known_thread(host))


def count() -> int:
    """_thread._count: how many threads run that were started, in a model."""
    host = current.active_host()
    if host is None:
        return _real_count()
    execution: Execution = host.current_thread().dpor_execution
    started = execution.list_threads(host, unmet=True)
    return sum(Thread.dpor_is_listed(thread, host) for thread in started)


def enumerate_threads() -> list[RealThread]:
    """threading.enumerate: the main thread, for ever, and the other threads that have not ended."""
    host = current.active_host()
    if host is None:
        return _real_enumerate()
    execution: Execution = host.current_thread().dpor_execution
    known = execution.list_threads(host)
    return [execution.main, *(thread for thread in known if thread.dpor_is_listed(host))]


def active_count() -> int:
    """threading.active_count."""
    return len(enumerate_threads())
