"""Tells when the editor's process has ended, without looking again and again where the system can tell."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable

_LARGEST = (1 << 31) - 1
_INTERVAL = 1.0
"""Seconds between looks, where the system offers no way to wait for a process that is not a child."""


def is_process(number: int) -> bool:
    """True if a process can have this number; 0 and below stand for groups of processes."""
    return 0 < number <= _LARGEST


def watch_reader(descriptor: int, gone: Callable[[], None]) -> None:
    """Call `gone`, from a thread, when nobody reads any more what is written to a pipe or a socket.

    Where the system cannot tell, the next write does.
    """
    if hasattr(select, "poll"):
        threading.Thread(target=_wait_for_reader, args=(descriptor, gone), daemon=True).start()


def _wait_for_reader(descriptor: int, gone: Callable[[], None]) -> None:
    poll = select.poll()
    # Errors and hang-ups are reported whatever is asked for; asked for nothing, a poll waits for these only.
    poll.register(descriptor, 0)
    if any(happened & (select.POLLERR | select.POLLHUP) for _, happened in poll.poll()):
        gone()


def watch_process(process: int, ended: Callable[[], None]) -> None:
    """Call `ended`, from a thread, when the process of this number has ended (at once if there is none)."""
    threading.Thread(target=_wait, args=(process, ended), daemon=True).start()


def _wait(process: int, ended: Callable[[], None]) -> None:
    try:
        _wait_for_end(process)
    finally:
        ended()


def _wait_for_end(process: int) -> None:
    if sys.platform == "win32":
        _wait_windows(process)
    elif hasattr(os, "pidfd_open"):
        try:
            descriptor = os.pidfd_open(process)
        except ProcessLookupError:
            return
        except OSError:
            _look(process)
            return
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll()
        finally:
            os.close(descriptor)
    elif hasattr(select, "kqueue"):
        _wait_kqueue(process)
    else:
        _look(process)


def _look(process: int) -> None:
    """Look once a second whether the process is there."""
    while True:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        except PermissionError:
            pass
        time.sleep(_INTERVAL)


def _wait_kqueue(process: int) -> None:
    from typing import Any

    kernel: Any = select
    queue = kernel.kqueue()
    try:
        event = kernel.kevent(process, kernel.KQ_FILTER_PROC, kernel.KQ_EV_ADD, kernel.KQ_NOTE_EXIT)
        queue.control([event], 1)
    except ProcessLookupError:
        return
    finally:
        queue.close()


def _wait_windows(process: int) -> None:
    import ctypes
    from typing import Any

    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - not there for type checkers elsewhere
    synchronize, infinite = 0x00100000, 0xFFFFFFFF
    handle = kernel.OpenProcess(synchronize, False, process)
    if not handle:
        return
    kernel.WaitForSingleObject(handle, infinite)
    kernel.CloseHandle(handle)
