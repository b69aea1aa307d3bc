"""The numbers of descriptors: what each is open for, and what those were open for that are closed.

A call on a number that is not open fails, unless another thread opens a file that the system gives this number. Hence
such a call depends on all that opens and closes files, and their order decides what it finds. The order of what only
opens and closes files decides nothing but which numbers there are, which a program should not compare: it is explored
only once a call on a number that is not open has raced with one of these (`Footprint.latent`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpor._kernel import OwnedLock
from dpor.runtime.outside.real import system
from dpor.runtime.outside.world import Footprint

# Which numbers the system has given.
_NUMBERS = "the numbers of descriptors"
# What is open, but not by the model.
_UNKNOWN = "descriptors that the model has not opened"


@dataclass(eq=False)
class File:
    """What paths lead to, whatever they are: a file that is made where another one was is a new one.

    `content` is the name of its content, `key` is a name that no other file of the execution has. `lock` is the lock of
    `flock`, once somebody has asked for it.
    """

    content: str
    key: str
    lock: OwnedLock | None = None


@dataclass(eq=False)
class OpenFile:
    """An open file of the system, which descriptors and streams share: its name, the file, its path.

    `flags` are those of the system that it was opened with, `mine` says that it is the user's file and no copy.
    `execution` is None if it was opened when the model's modules were imported. `is_removed`: the path leads
    to it no more. `may_lock`: it may hold the lock of the file. `locking`: how many threads are in a call of `flock`.
    """

    name: str
    file: File
    path: str
    flags: int
    mine: bool
    execution: int | None
    is_removed: bool = False
    may_lock: bool = False
    locking: int = 0

    @property
    def content(self) -> str:
        """The name of its content."""
        return self.file.content

    @property
    def openness(self) -> str:
        """The name of whether descriptors of it are open."""
        return _openness(self.name)


class Numbers:
    """The descriptors of the running execution."""

    def __init__(self) -> None:
        self._open: dict[int, OpenFile] = {}
        self._former: dict[int, OpenFile] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, number: int) -> bool:
        return number in self._open

    def get(self, number: int) -> OpenFile | None:
        """What a number is open for."""
        return self._open.get(number)

    def shown(self, number: int) -> OpenFile | None:
        """What a number is open for, or was."""
        return self._open.get(number) or self._former.get(number)

    def items(self) -> Iterator[tuple[int, OpenFile]]:
        """The numbers that are open, and what for; they may be changed meanwhile."""
        return iter(list(self._open.items()))

    def opened(self, number: int, file: OpenFile) -> None:
        """Note that a number is open."""
        self._open[number] = file
        self._former.pop(number, None)

    def closed(self, number: int) -> OpenFile | None:
        """Note that a number is not open any more. Gives what it was the last one for, if it was that."""
        file = self._open.pop(number, None)
        if file is None:
            return None
        self._former[number] = file
        return None if self.has(file) else file

    def has(self, file: OpenFile) -> bool:
        """Whether a number is open for an open file."""
        return any(opened is file for opened in self._open.values())

    def forget(self, number: int) -> None:
        """Forget a number: its execution is over."""
        self._open.pop(number, None)

    def reset(self) -> None:
        """Forget what was closed."""
        self._former.clear()

    def is_closed(self, number: int) -> bool:
        """Whether a number is certainly not open."""
        if number in self._open:
            return False
        if number in self._former:
            return True
        try:
            system.fstat(number)
        except OSError:
            return True
        return False

    def footprint_if_closed(self, number: int) -> Footprint:
        """What a call on a number accesses that is not open, or not by the model."""
        former = self._former.get(number)
        if former is not None:
            return Footprint((former.openness,), (_NUMBERS,))
        return Footprint((), (_UNKNOWN, _NUMBERS))

    @staticmethod
    def footprint_of_opening(name: str) -> Footprint:
        """What a call accesses, beside all else, that gives a number to the open file of this name."""
        return Footprint((), (_openness(name),), latent=(_NUMBERS,))

    @staticmethod
    def footprint_of_closing(file: OpenFile) -> Footprint:
        """The same for a call that takes a number away."""
        return Footprint((), (file.openness,), latent=(_NUMBERS,))


def _openness(name: str) -> str:
    return f"whether {name} is open"
