"""Finds and ends the processes that a worker has started, also those in a session of their own.

On Linux every process is found that descends from the worker as long as the worker lives: it adopts those whose parent
has ended. After its end those are found that have kept the variable which marks all that a worker starts. Other systems
give no such way: there the worker's process group (on Windows its tree of processes) is all that is known.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
import time

# What a model does must not be in the way: in a worker these are the real functions.
from dpor.runtime.outside.real import system

VARIABLE = "DPOR_WORKER"
"""The variable that marks a worker and what it starts."""
_ROUNDS = 20
_BETWEEN_ROUNDS = 0.005
_PROCESSES = "/proc"
_READ_SIZE = 1 << 16
_SET_CHILD_SUBREAPER = 36


def new_mark() -> str:
    """Return a text that marks one worker."""
    return secrets.token_hex(16)


def adopt_orphans() -> None:
    """Make this process the parent of the processes below it whose own parent has ended, where the system can."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants(process: int) -> None:
    """End all that the process has started and that is found below it; it must still be there, and stays."""
    if not sys.platform.startswith("linux"):
        return
    # What is started meanwhile is found in the next round.
    for _ in range(_ROUNDS):
        found = _below(process)
        if not found:
            return
        for pid in found:
            _kill(pid)


def end_marked(mark: str) -> None:
    """End all processes that a worker has marked."""
    if not sys.platform.startswith("linux"):
        return
    wanted = f"{VARIABLE}={mark}".encode()
    for _ in range(_ROUNDS):
        variables = {pid: _variables(pid) for pid in _pids()}
        found = [pid for pid, own in variables.items() if own is not None and wanted in own]
        # A process that has just begun has none yet, though whoever started it may have ended.
        begins = any(own is None for own in variables.values())
        if not found and not begins:
            return
        for pid in found:
            _kill(pid)
        if begins:
            time.sleep(_BETWEEN_ROUNDS)


def _below(process: int) -> list[int]:
    """The processes that descend from one, but for those that have ended already."""
    children: dict[int, list[int]] = {}
    ended: set[int] = set()
    for pid in _pids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name stands in parentheses and may hold any character.
            state, parent = _read(pid, "stat").rpartition(b")")[2].split()[:2]
            children.setdefault(int(parent), []).append(pid)
            if state in (b"Z", b"X"):
                ended.add(pid)
    found: list[int] = []
    waiting = [process]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return [pid for pid in found if pid not in ended]


def _pids() -> list[int]:
    own = system.getpid()
    try:
        return [int(name) for name in system.listdir(_PROCESSES) if name.isdigit() and int(name) != own]
    except OSError:
        return []


def _variables(pid: int) -> list[bytes] | None:
    """The variables of a process, none of one that may not be asked; None while the system loads its program."""
    try:
        variables = _read(pid, "environ")
        # What runs in the system has neither variables nor a program, and what has ended has lost both.
        if not variables and system.readlink(f"{_PROCESSES}/{pid}/exe") and not _read(pid, "cmdline"):
            return None
    except OSError:
        return []
    return variables.split(b"\0")


def _read(pid: int, name: str) -> bytes:
    descriptor = system.open(f"{_PROCESSES}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces: list[bytes] = []
        while piece := system.read(descriptor, _READ_SIZE):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        system.close(descriptor)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        system.kill(pid, signal.SIGKILL)
