"""The functions of os that take file descriptors.

A descriptor that a model has opened is known by its number: what is done to it is an operation on the open file, whose
position all descriptors of it share, and on the file's content.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

from dpor.runtime.outside.filesystem import FileSystem, OpenFile, label
from dpor.runtime.outside.real import system
from dpor.runtime.outside.world import Touched

# Standard input, output and error of the process; the model's output is nothing that it could read.
_STANDARD = 3


def _reads(file: OpenFile) -> Touched:
    return Touched((file.content,), (file.name,))


def _writes(file: OpenFile) -> Touched:
    return Touched((), (file.content, file.name))


def _looks(file: OpenFile) -> Touched:
    return Touched((file.content,))


def _changes(file: OpenFile) -> Touched:
    return Touched((), (file.content,))


def _moves(file: OpenFile) -> Touched:
    # To seek from the end of the file reads its size.
    return Touched((file.content,), (file.name,))


def _nothing(file: OpenFile) -> Touched:
    return Touched((file.name,))


# What a function does to the open file that its first argument is a descriptor of.
_EFFECTS: dict[str, Callable[[OpenFile], Touched]] = {
    "fchmod": _changes,
    "fchown": _changes,
    "fdatasync": _nothing,
    "fpathconf": _nothing,
    "fstat": _looks,
    "fstatvfs": _nothing,
    "fsync": _nothing,
    "ftruncate": _changes,
    "lseek": _moves,
    "posix_fallocate": _changes,
    "pread": _looks,
    "preadv": _looks,
    "pwrite": _changes,
    "pwritev": _changes,
    "read": _reads,
    "readinto": _reads,
    "readv": _reads,
    "write": _writes,
    "writev": _writes,
}
# Functions that take two descriptors: the positions of what is read from and written to.
_COPYING = {"sendfile": (1, 0), "copy_file_range": (0, 1), "splice": (0, 1)}
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

    def open_file(self, descriptor: int, path: str, flags: int, mine: bool) -> OpenFile:
        """Note what a descriptor is open for."""
        files = self._files
        host = files.world.mode.host
        execution = host.execution if host.active else None
        opened = OpenFile(
            files.world.next_name("open file"), files.content(path), path, flags, mine, execution
        )
        files.descriptors[descriptor] = opened
        return opened

    def closed(self, descriptor: int) -> None:
        """Forget a descriptor, if it has been closed."""
        try:
            system.fstat(descriptor)
        except OSError:
            self._files.descriptors.pop(descriptor, None)

    def touch(self, function: str, opened: OpenFile, touched: Callable[[], Touched]) -> None:
        """Perform an operation on an open file: what `touched()` says when its turn has come.

        A file that was opened while modules were imported has to be opened afresh.
        """
        mode = self._files.world.mode
        if mode.host.active and opened.execution != mode.host.execution:
            mode.host.mark_module_state()
            self._files.world.refuse("uses a file that was opened before the execution began")
        self._files.world.perform(function, touched)

    def _checked(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        real = getattr(system, name)
        controls = self._controls

        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if controls() else real(*args, **kwargs)

        call.__name__ = call.__qualname__ = name
        call.__doc__ = real.__doc__
        return call

    def _known(
        self, name: str, real: Callable[..., Any], effect: Callable[[OpenFile], Touched]
    ) -> Callable[..., Any]:
        files = self._files

        def call(descriptor: Any, *args: Any, **kwargs: Any) -> Any:
            number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
            known = files.descriptors.get(number)
            if known is None:
                self._require_harmless(name, number)
                return real(descriptor, *args, **kwargs)
            # Another thread may close the descriptor before, and open another file by its number.
            self.touch(
                f"os.{name}({_shown(known)})", known, lambda: effect(files.descriptors.get(number, known))
            )
            found = real(number, *args, **kwargs)
            opened = files.descriptors.get(number, known)
            if name == "fstat":
                return files.shown(found, opened.path, opened.content, opened.mine)
            return found

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

    def _copying(self, name: str, real: Callable[..., Any], source: int, sink: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            ends = [self._files.descriptors.get(args[index]) for index in (source, sink)]
            if ends[0] is None or ends[1] is None:
                self._files.world.refuse(f"copies between files that are not known to be open (os.{name})")
                return real(*args, **kwargs)
            old, new = ends[0], ends[1]
            touched = Touched((old.content,), (old.name, new.name, new.content))
            self.touch(f"os.{name}({_shown(old)}, {_shown(new)})", new, lambda: touched)
            return real(*args, **kwargs)

        return call

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        function = label("os.open", path)
        try:
            place, target = self._files.opened(function, path, flags, dir_fd)
            descriptor = system.open(place, flags, mode)
        except OSError as error:
            if error.filename is not None:
                error.filename = path
            raise
        self.open_file(descriptor, target.path, flags, not self._files.overlay.owns(place))
        return descriptor

    def _close(self, fd: int) -> None:
        opened = self._files.descriptors.get(fd)
        if opened is None:
            if fd < _STANDARD:
                self._files.world.refuse("closes a standard stream of the process (os.close)")
            system.close(fd)
            return
        self.touch(f"os.close({_shown(opened)})", opened, lambda: Touched((), (opened.name,)))
        self._files.descriptors.pop(fd, None)
        system.close(fd)

    def _closerange(self, fd_low: int, fd_high: int, /) -> None:
        for descriptor in sorted(self._files.descriptors):
            if fd_low <= descriptor < fd_high:
                self._close(descriptor)

    def _dup(self, fd: int, /) -> int:
        copy = system.dup(fd)
        opened = self._files.descriptors.get(fd)
        if opened is not None:
            self._files.descriptors[copy] = opened
        return copy

    def _dup2(self, fd: int, fd2: int, inheritable: bool = True) -> int:
        files = self._files
        opened = files.descriptors.get(fd)
        if opened is None or (fd2 < _STANDARD and fd2 not in files.descriptors):
            files.world.refuse("replaces a descriptor that is not the model's (os.dup2)")
            return system.dup2(fd, fd2, inheritable)
        replaced = files.descriptors.get(fd2)
        if replaced is not None:
            self.touch(
                f"os.dup2({_shown(opened)})", replaced, lambda: Touched((), (opened.name, replaced.name))
            )
        files.descriptors[fd2] = opened
        return system.dup2(fd, fd2, inheritable)

    def _refused(self, real: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._files.world.refuse(f"{what}, which cannot be controlled")
            return real(*args, **kwargs)

        return call


def _shown(opened: OpenFile) -> str:
    return repr(os.path.basename(opened.path))
