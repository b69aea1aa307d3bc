"""`fcntl.flock`: locks that belong to open files, and that the kernel hands out.

The system's own lock is never taken. So the user's file stays free for other processes, and what they have locked is
not seen.
"""

from __future__ import annotations

import errno
import operator
import os
import stat
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from dpor._kernel import OwnedLock
from dpor.runtime.outside.descriptors import Descriptors, accesses_nothing
from dpor.runtime.outside.filesystem import FileSystem
from dpor.runtime.outside.numbers import OpenFile
from dpor.runtime.outside.real import system

# LOCK_SH, LOCK_EX, LOCK_NB and LOCK_UN are the same on all systems that have them.
_SHARED, _ALONE, _WITHOUT_WAITING, _UNLOCK = 1, 2, 4, 8
_KINDS = (_SHARED, _ALONE, _UNLOCK)
_KNOWN = _SHARED | _ALONE | _WITHOUT_WAITING | _UNLOCK
_ARGUMENTS = 2
_LARGEST_INT = 2**31 - 1
_MISSING: Any = object()
_WITHOUT_FILE: int = getattr(os, "O_PATH", 0)


class FileLocks:
    """The stand-in for fcntl.flock."""

    def __init__(self, files: FileSystem, descriptors: Descriptors) -> None:
        self._files = files
        self._world = files.world
        self._descriptors = descriptors
        # How the open files of the import hold the locks of their files: alone or not.
        self._imported: dict[OpenFile, bool] = {}

    def functions(self, module: ModuleType) -> Mapping[str, Callable[..., Any]]:
        """What stands in for functions of the module fcntl, by name."""
        real: Callable[..., None] | None = vars(module).get("flock")
        return {} if real is None else {"flock": self._flock(real)}

    def _flock(self, real: Callable[..., None]) -> Callable[..., None]:
        def flock(*arguments: Any, **named: Any) -> None:
            if not self._world.controls():
                real(*arguments, **named)
                return
            if named or len(arguments) != _ARGUMENTS:
                # The real one says what is wrong.
                real(*arguments, **named)
            fd, operation = arguments
            number = _number(fd)
            kind = _integer(operator.index(operation))
            if kind & ~_KNOWN:
                self._world.refuse("locks a file in a way that is not modelled (fcntl.flock)")
            if kind & ~_WITHOUT_WAITING not in _KINDS:
                raise _error(errno.EINVAL)
            self._perform(number, kind)

        flock.__name__ = flock.__qualname__ = "flock"
        flock.__module__ = "fcntl"
        flock.__doc__ = real.__doc__
        return flock

    def _perform(self, number: int, operation: int) -> None:
        opened = self._descriptors.use("fcntl.flock", number, accesses_nothing)
        if opened is None:
            if not self._files.descriptors.is_closed(number):
                self._world.refuse("locks a file that the model has not opened (fcntl.flock)")
            raise _error(errno.EBADF)
        if opened.flags & _WITHOUT_FILE:
            raise _error(errno.EBADF)
        status = system.fstat(number)
        if opened.mine and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            # The other names lead to the same lock, and nobody knows them.
            self._world.refuse("locks a file that has several names (fcntl.flock)")
        taken = (
            self._take(opened, operation) if self._world.mode.host.active else self._note(opened, operation)
        )
        if not taken:
            raise _error(errno.EWOULDBLOCK)

    def _take(self, opened: OpenFile, operation: int) -> bool:
        """Perform an operation in an execution. Gives False if others hold the lock and it does not wait."""
        self._imported = {
            held: alone for held, alone in self._imported.items() if self._files.descriptors.has(held)
        }
        if self._imported:
            self._world.mode.host.mark_module_state()
            self._world.refuse("locks files while locks are held that were taken before the execution began")
        opened.may_lock = True
        lock = self._lock(opened)
        opened.locking += 1
        try:
            if operation & _UNLOCK:
                lock.release(opened.name)
                return True
            return lock.acquire(opened.name, bool(operation & _ALONE), not operation & _WITHOUT_WAITING)
        finally:
            opened.locking -= 1

    def _note(self, opened: OpenFile, operation: int) -> bool:
        """The same while modules are imported, which one thread does."""
        self._imported.pop(opened, None)
        if operation & _UNLOCK:
            return True
        alone = bool(operation & _ALONE)
        for other, is_alone in self._imported.items():
            is_held = other.file is opened.file and self._files.descriptors.has(other)
            if is_held and (alone or is_alone):
                if not operation & _WITHOUT_WAITING:
                    self._world.refuse(
                        "waits for a lock that is held (fcntl.flock) while its modules are imported"
                    )
                return False
        self._imported[opened] = alone
        return True

    def _lock(self, opened: OpenFile) -> OwnedLock:
        file = opened.file
        if file.lock is None:
            name = f"flock({os.path.basename(opened.path)!r})"
            file.lock = OwnedLock(self._world.system, f"lock of {file.key}", name)
        return file.lock


def _number(fd: Any) -> int:
    """The descriptor that an argument is or has. Raises what CPython raises."""
    if issubclass(type(fd), int):
        number: Any = fd
    elif (method := getattr(fd, "fileno", _MISSING)) is not _MISSING:
        number = method()
        if not isinstance(number, int):
            raise TypeError("fileno() returned a non-integer")
    else:
        raise TypeError("argument must be an int, or have a fileno() method.")
    number = _integer(number)
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number


def _integer(number: int) -> int:
    if not -_LARGEST_INT - 1 <= number <= _LARGEST_INT:
        raise OverflowError("Python int too large to convert to C int")
    return int(number)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
