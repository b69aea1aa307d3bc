"""What os.scandir gives inside a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from dpor.runtime.outside.world import Footprint, World


class Entry:
    """What os.scandir gives for each entry of a folder."""

    __slots__ = ("_name", "_path", "_shown", "_status")

    # It does not change, and what it asks for is visible by itself.
    __dpor_untracked__ = True

    def __init__(self, name: Any, path: Any, text: str, status: os.stat_result) -> None:
        self._name = name
        self._shown = path
        self._path = text
        self._status = status

    @property
    def name(self) -> Any:
        """The entry's own name."""
        return self._name

    @property
    def path(self) -> Any:
        """The entry's name after the folder's, as that was given."""
        return self._shown

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder; a link is looked at only if it is followed."""
        return self._has_kind(0o040000, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return self._has_kind(0o100000, follow_symlinks)

    def is_symlink(self) -> bool:
        """Whether it is a link."""
        return self._status.st_mode & 0o170000 == 0o120000

    def is_junction(self) -> bool:
        """Whether it is a junction, which only Windows has."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The status, as the file has it when this is called."""
        return os.stat(self._path, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        """The file's number."""
        return os.lstat(self._path).st_ino

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def _has_kind(self, kind: int, follow: bool) -> bool:
        if self.is_symlink() and follow:
            try:
                return os.stat(self._path).st_mode & 0o170000 == kind
            except FileNotFoundError:
                return False
        return self._status.st_mode & 0o170000 == kind


class Entries:
    """What os.scandir gives: an iterator that can be closed."""

    __dpor_untracked__ = True

    __slots__ = ("_entries", "_name", "_world")

    def __init__(self, world: World, entries: Iterator[Entry]) -> None:
        self._world = world
        self._name = world.next_name("entries")
        # All at once: what changes later is not to be seen for certain, nor not to be seen.
        self._entries = iter(list(entries))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Entry:
        self._perform("next")
        return next(self._entries)

    def close(self) -> None:
        """Give no more entries."""
        self._perform("close")
        self._entries = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _perform(self, name: str) -> None:
        if self._world.controls():
            footprint = Footprint((), (self._name,))
            self._world.perform(f"{name}() of os.scandir", lambda: footprint)
