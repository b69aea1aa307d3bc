"""The functions of os that take file descriptors.

A descriptor that a model has opened is known by its number: what is done to it is an operation on the open file, whose
position all descriptors of it share, and on the file's content.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from typing import Any

from dpor.runtime.outside.filesystem import FileSystem, label
from dpor.runtime.outside.numbers import OpenFile
from dpor.runtime.outside.real import system
from dpor.runtime.outside.world import Footprint

# Standard input, output and error of the process; the model's output is nothing that it could read.
_STANDARD = 3


def _reads(file: OpenFile) -> Footprint:
    return Footprint((file.content,), (file.name,))


def _writes(file: OpenFile) -> Footprint:
    return Footprint((), (file.content, file.name))


def looks(file: OpenFile) -> Footprint:
    """What a call accesses that reads the content of a file, or its status."""
    return Footprint((file.content,))


def changes(file: OpenFile) -> Footprint:
    """What a call accesses that changes the content of a file, or its status."""
    return Footprint((), (file.content,))


def _moves(file: OpenFile) -> Footprint:
    # To seek from the end of the file reads its size.
    return Footprint((file.content,), (file.name,))


def accesses_nothing(file: OpenFile) -> Footprint:
    """What a call accesses that neither reads nor changes a file."""
    return Footprint()


def _sets(file: OpenFile) -> Footprint:
    return Footprint((), (file.openness,))


# What a function does to the open file that its first argument is a descriptor of.
_EFFECTS: dict[str, Callable[[OpenFile], Footprint]] = {
    "fchmod": changes,
    "fchown": changes,
    "fdatasync": accesses_nothing,
    "fpathconf": accesses_nothing,
    "fstat": looks,
    "fstatvfs": accesses_nothing,
    "fsync": accesses_nothing,
    "ftruncate": changes,
    "get_blocking": accesses_nothing,
    "get_inheritable": accesses_nothing,
    "isatty": accesses_nothing,
    "lseek": _moves,
    "posix_fadvise": accesses_nothing,
    "posix_fallocate": changes,
    "pread": looks,
    "preadv": looks,
    "pwrite": changes,
    "pwritev": changes,
    "read": _reads,
    "readinto": _reads,
    "readv": _reads,
    "set_blocking": _sets,
    "set_inheritable": _sets,
    "ttyname": accesses_nothing,
    "write": _writes,
    "writev": _writes,
}
# Functions that take two descriptors: the positions and names of what is read from and written to.
_COPYING = {
    "sendfile": ((1, "in_fd"), (0, "out_fd")),
    "copy_file_range": ((0, "src"), (1, "dst")),
    "splice": ((0, "src"), (1, "dst")),
}
# A number that is never open, where the system has the last word about one that is not.
_CLOSED = 2**31 - 1
# They wait for somebody else.
_REFUSED = {"lockf": "locks a file (os.lockf)"}


class Descriptors:
    """Stand-ins for the functions of os that take file descriptors. `replacements()` gives them by name."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._controls = files.world.controls

    def replacements(self) -> dict[str, Callable[..., Any]]:
        """Name in os to what stands in for it, for the names that this system has."""
        table: dict[str, Callable[..., Any]] = {
            "close": self._close,
            "closerange": self._closerange,
            "dup": self._dup,
            "dup2": self._dup2,
            "open": self._open,
            "pidfd_open": self._open_process,
        }
        for name, effect in _EFFECTS.items():
            if hasattr(system, name):
                table[name] = self._known(name, getattr(system, name), effect)
        for name, (source, sink) in _COPYING.items():
            if hasattr(system, name):
                table[name] = self._copying(name, getattr(system, name), source, sink)
        for name, what in _REFUSED.items():
            if hasattr(system, name):
                table[name] = self._refused(getattr(system, name), what)
        return {
            name: self._checked(name, function) for name, function in table.items() if hasattr(system, name)
        }

    def open_file(self, descriptor: int, name: str, path: str, flags: int, mine: bool) -> OpenFile:
        """Note what a descriptor is open for."""
        files = self._files
        host = files.world.mode.host
        execution = host.execution if host.active else None
        opened = OpenFile(name, files.file(path), path, flags, mine, execution)
        files.descriptors.opened(descriptor, opened)
        files.number_order.moved()
        return opened

    def closed(self, descriptor: int) -> OpenFile | None:
        """Forget a descriptor, if it has been closed. Gives what it was the last one for, if it was that."""
        try:
            system.fstat(descriptor)
        except OSError:
            self._files.number_order.moved()
            return self._files.descriptors.closed(descriptor)
        return None

    def show(self, function: str) -> None:
        """Note that `function`, which calls this one, gives a number to its caller."""
        self._files.number_order.shown(function)

    def give_up_lock(self, ended: OpenFile | None) -> None:
        """Let an open file, if there is one, give up its lock, because its last descriptor has been closed.

        While a thread is in a call of `flock` on it, the system keeps it open until that is over: this is refused.
        """
        if ended is None or not ended.may_lock or ended.file.lock is None:
            return
        if ended.file.lock.release(ended.name) and ended.locking:
            self.refuse("closes a file while another thread locks it (fcntl.flock)")

    def refuse(self, what: str) -> None:
        """End the check with DPOR108, because the model `what` (a verb phrase)."""
        self._files.world.refuse(what)

    def perform(self, function: str, opened: OpenFile, footprint: Callable[[], Footprint]) -> None:
        """Perform an operation on an open file: what `footprint()` says when its turn has come.

        A file that was opened while modules were imported has to be opened afresh.
        """
        mode = self._files.world.mode
        if mode.host.active and opened.execution != mode.host.execution:
            mode.host.mark_module_state()
            self._files.world.refuse("uses a file that was opened before the execution began")
        self._files.world.perform(function, footprint)

    def use(self, function: str, number: int, effect: Callable[[OpenFile], Footprint]) -> OpenFile | None:
        """Perform a call of a function on a descriptor, and give what that is open for when its turn has come.

        Another thread may close the descriptor before, and open another file by its number.
        """
        numbers = self._files.descriptors

        def footprint() -> Footprint:
            opened = numbers.get(number)
            if opened is None:
                return numbers.footprint_if_closed(number)
            return effect(opened).also(Footprint((opened.openness,)))

        known = numbers.shown(number)
        text = f"{function}({number if known is None else _shown(known)})"
        if known is None:
            self._files.world.perform(text, footprint)
        else:
            self.perform(text, known, footprint)
        return numbers.get(number)

    def is_open(self, number: int) -> bool:
        """Whether the model has opened a descriptor, for a file object on it: one operation.

        Raises OSError if the number is not open.
        """
        if number < 0:
            return False
        opened = self.use("open", number, accesses_nothing)
        if opened is None and self._files.descriptors.is_closed(number):
            raise _not_open()
        return opened is not None

    def beneath(self, number: int, file: OpenFile) -> Footprint | None:
        """What a call on a file object accesses whose number is not open for its file any more; None if it is."""
        numbers = self._files.descriptors
        opened = numbers.get(number)
        if opened is file:
            return None
        closed = numbers.footprint_if_closed(number)
        return closed if opened is None else closed.also(changes(opened)).also(Footprint((), (opened.name,)))

    def call(
        self,
        name: str,
        real: Callable[..., Any],
        effect: Callable[[OpenFile], Footprint],
        number: int,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Call a function of os on a descriptor."""
        files = self._files
        opened = self.use(f"os.{name}", number, effect)
        if opened is None:
            if not files.descriptors.is_closed(number):
                self._require_harmless(name, number)
                return real(number, *args, **kwargs)
            # The number may be the checker's by now. What the system says of one that is not open is the same for all.
            try:
                return real(_CLOSED, *args, **kwargs)
            except OSError as error:
                if error.filename == _CLOSED:
                    error.filename = number
                raise
        if effect is changes:
            files.require_copy(opened, f"os.{name}")
        found = real(number, *args, **kwargs)
        if name == "fstat":
            return files.shown(found, opened.path, opened.content, opened.mine)
        return found

    def _checked(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        real = getattr(system, name)
        controls = self._controls

        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if controls() else real(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = real.__doc__
        return call

    def _known(
        self, name: str, real: Callable[..., Any], effect: Callable[[OpenFile], Footprint]
    ) -> Callable[..., Any]:
        def call(descriptor: Any, *args: Any, **kwargs: Any) -> Any:
            number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
            return self.call(name, real, effect, number, *args, **kwargs)

        return call

    def _require_harmless(self, name: str, descriptor: int) -> None:
        """What is open and was not opened by the model: pipes and terminals wait for somebody."""
        if name in ("read", "readinto", "readv"):
            try:
                kind = system.fstat(descriptor).st_mode
            except OSError:
                return
            if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or system.isatty(descriptor):
                self._files.world.refuse(
                    f"reads from a pipe, socket or terminal (os.{name}), which cannot be controlled"
                )

    def _copying(
        self, name: str, real: Callable[..., Any], source: tuple[int, str], sink: tuple[int, str]
    ) -> Callable[..., Any]:
        numbers = self._files.descriptors

        def call(*args: Any, **kwargs: Any) -> Any:
            ends: list[int] = [
                args[position] if position < len(args) else kwargs[keyword]
                for position, keyword in (source, sink)
            ]

            def footprint(_: OpenFile) -> Footprint:
                old, new = map(numbers.get, ends)
                if old is None or new is None:
                    return numbers.footprint_if_closed(ends[0] if old is None else ends[1])
                return Footprint((old.content, old.openness), (old.name, new.name, new.content))

            self.use(f"os.{name}", ends[1], footprint)
            if all(number in numbers for number in ends):
                return real(*args, **kwargs)
            if not all(number in numbers or numbers.is_closed(number) for number in ends):
                self._files.world.refuse(f"copies between files that are not known to be open (os.{name})")
            raise _not_open()

        return call

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        function = label("os.open", path)
        name = self._files.world.next_name("open file")
        try:
            place, target = self._files.opened(function, path, flags, name, dir_fd)
            descriptor = system.open(place, flags, mode)
        except OSError as error:
            if error.filename is not None:
                error.filename = os.fspath(path)
            raise
        self.open_file(descriptor, name, target.path, flags, not self._files.overlay.owns(place))
        self._files.number_order.shown("os.open")
        return descriptor

    def _open_process(self, pid: int, flags: int = 0) -> int:
        """Open one of the own process, as asyncio does to find out whether the system has them."""
        if pid != system.getpid():
            self.refuse("looks at another process (os.pidfd_open), which cannot be controlled")
        name = self._files.world.next_name("open file")
        descriptor = system.pidfd_open(pid, flags)
        self.open_file(descriptor, name, f"/proc/{pid}", flags, False)
        self._files.number_order.shown("os.pidfd_open")
        return descriptor

    def _close(self, fd: int) -> None:
        numbers = self._files.descriptors
        if 0 <= fd < _STANDARD and numbers.shown(fd) is None:
            self._files.world.refuse("closes a standard stream of the process (os.close)")
        opened = self.use("os.close", fd, numbers.footprint_of_closing)
        if opened is None and numbers.is_closed(fd):
            raise _not_open()
        ended = numbers.closed(fd)
        system.close(fd)
        self._files.number_order.moved()
        self.give_up_lock(ended)

    def _closerange(self, fd_low: int, fd_high: int, /) -> None:
        for descriptor, _ in sorted(self._files.descriptors.items(), key=lambda item: item[0]):
            if fd_low <= descriptor < fd_high:
                with contextlib.suppress(OSError):
                    self._close(descriptor)

    def _dup(self, fd: int, /) -> int:
        numbers = self._files.descriptors
        name = self._files.world.next_name("descriptor")

        opened = self.use("os.dup", fd, lambda _: numbers.footprint_of_opening(name))
        if opened is None and numbers.is_closed(fd):
            raise _not_open()
        copy = system.dup(fd)
        if opened is not None:
            numbers.opened(copy, opened)
        self._files.number_order.moved()
        self._files.number_order.shown("os.dup")
        return copy

    def _dup2(self, fd: int, fd2: int, inheritable: bool = True) -> int:
        numbers = self._files.descriptors

        def footprint(_: OpenFile) -> Footprint:
            replaced = numbers.get(fd2)
            if replaced is None:
                return numbers.footprint_if_closed(fd2)
            return numbers.footprint_of_closing(replaced)

        opened = self.use("os.dup2", fd, footprint)
        if opened is None and numbers.is_closed(fd):
            raise _not_open()
        known = fd2 in numbers or numbers.is_closed(fd2)
        if opened is None or not known or (fd2 < _STANDARD and fd2 not in numbers):
            self._files.world.refuse("replaces a descriptor that is not the model's (os.dup2)")
        replaced = numbers.closed(fd2) if fd != fd2 else None
        copy = system.dup2(fd, fd2, inheritable)
        if opened is not None:
            numbers.opened(copy, opened)
        if replaced is not opened:
            self.give_up_lock(replaced)
        self._files.number_order.moved()
        return copy

    def _refused(self, real: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._files.world.refuse(f"{what}, which cannot be controlled")
            return real(*args, **kwargs)

        return call


def _not_open() -> OSError:
    return OSError(errno.EBADF, os.strerror(errno.EBADF))


def _shown(opened: OpenFile) -> str:
    return repr(os.path.basename(opened.path))
