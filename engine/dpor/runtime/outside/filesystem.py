"""What paths lead to in an execution, and what the names of it are.

A file has a name of its own for its content, which it keeps when it is moved; each path has one for what it leads to,
and each folder one for its entries. Folders that the user has lead where they lead as long as nobody moves them, and
whoever does so accesses everything.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from dpor.assumptions import OF_A_FILE, OF_A_FOLDER
from dpor.contents import Contents
from dpor.runtime.outside.number_order import NumberOrder
from dpor.runtime.outside.numbers import File, Numbers, OpenFile
from dpor.runtime.outside.overlay import HiddenLinkError, Overlay, SharedFileError, TooLargeError, fold
from dpor.runtime.outside.real import HARMLESS_DEVICES, now_ns, system
from dpor.runtime.outside.world import Footprint, World

CURRENT_FOLDER = "the current folder"
UMASK = "the umask"
# What times of files that an execution writes stand at: the model's clock at its begin.
_TIME = 1_700_000_000
_NANOSECONDS = 1_000_000_000
# Where installed files are, which no model writes: reading them is no operation, since it can happen once in a process.
_PACKAGES = ("site-packages", "dist-packages")
_SYSTEM_DATA = (
    "/usr/share/zoneinfo",
    "/usr/share/locale",
    "/usr/share/mime",
    "/usr/lib/locale",
    "/etc/mime.types",
)
_SHORT = 60


@dataclass(frozen=True)
class Target:
    """Where a path leads: `given` is the argument, `path` the absolute path without links.

    `names` are those of all that decides where it leads. `slash` says that it must be a folder. `number` is that of the
    descriptor which the path is or is relative to, if that is not open.
    """

    given: Any
    path: str
    names: tuple[str, ...]
    slash: bool
    installed: bool
    number: int | None = None


class FileSystem:
    """The files of the running execution."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.overlay = Overlay(self._copied)
        self.descriptors = Numbers()
        self.number_order = NumberOrder(world)
        self.read: set[str] = set()
        self.contents = Contents()
        self._found: dict[str, File] = {}
        # How often a path has come to lead to another file.
        self._changes: dict[str, int] = {}
        self._began = 0
        self._installed: tuple[str, ...] = ()

    def install(self) -> None:
        """Find out where installed files are."""
        self.overlay.install()
        self._began = now_ns()
        packages = {folder for folder in sys.path if folder.endswith(_PACKAGES)}
        folders = packages | {os.path.dirname(os.__file__), *_SYSTEM_DATA}
        real = {os.path.realpath(folder) for folder in folders}
        self._installed = tuple(sorted(folder + os.sep for folder in real))

    def reset(self) -> None:
        """Begin an execution."""
        self._found.clear()
        self._changes.clear()
        self.descriptors.reset()
        self.number_order.reset()
        self.overlay.reset()

    # Names

    def target(
        self, given: Any, follow: bool = True, dir_fd: int | None = None, numbers: bool = False
    ) -> Target:
        """Where a path leads now; `follow` says whether a link at its end is followed.

        With `numbers` it may be the number of a descriptor. Raises TypeError for what is no path, OSError for links
        that go round.
        """
        names: list[str] = []
        own: int | None = given if numbers and isinstance(given, int) else None
        path = os.fsdecode(cast(str, given)) if own is None else ""
        folder = None
        number = dir_fd if own is None else own
        if number is not None and not os.path.isabs(path):
            folder = self.descriptors.get(number)
            if folder is None:
                return Target(given, "", (), False, False, number)
            if folder.is_removed:
                self.world.refuse("uses a folder by its descriptor after it has been removed or replaced")
            names.append(folder.openness)
            if own is not None:
                given = path = folder.path
        slash = path.endswith(os.sep) and len(path) > 1
        if not path or "\0" in path:
            return Target(given, path, (), False, False)
        if not os.path.isabs(path):
            if folder is None:
                names.append(CURRENT_FOLDER)
                if self.overlay.cwd is None:
                    self.contents.note_current_folder()
            else:
                path = os.path.join(folder.path, path)
        resolved, passed = self._resolved(path, follow)
        folder = resolved + os.sep
        if folder.startswith(self._installed) and not passed and self.overlay.place(resolved) is resolved:
            return Target(given, resolved, tuple(names), slash, True)
        names += [self.name(link) for link in passed]
        names.append(self.name(resolved))
        ancestor = os.path.dirname(resolved)
        while ancestor != os.path.dirname(ancestor) and not self._is_users_folder(ancestor):
            names.append(self.name(ancestor))
            ancestor = os.path.dirname(ancestor)
        return Target(given, resolved, tuple(names), slash, False)

    def _resolved(self, path: str, follow: bool) -> tuple[str, tuple[str, ...]]:
        try:
            resolved, passed = self.overlay.resolve(path, follow)
        except HiddenLinkError as error:
            self.world.refuse(f"uses {_short(str(error))!r}, which leads to a file without its name")
            return path, ()
        if self.overlay.owns(resolved):
            self.world.refuse("uses a file in the folder in which the check keeps its copies")
        return resolved, passed

    def _is_users_folder(self, path: str) -> bool:
        if self.overlay.is_hidden(path):
            return False
        try:
            return stat.S_ISDIR(system.lstat(path).st_mode)
        except OSError:
            return False

    def name(self, path: str) -> str:
        """The name of what a path leads to."""
        return f"path {fold(path)}"

    def entries(self, folder: str) -> str:
        """The name of a folder's entries."""
        return f"entries of {fold(folder)}"

    def siblings(self, path: str) -> tuple[str, ...]:
        """The name of the entries of the folder around a path."""
        return (self.entries(os.path.dirname(path)),)

    def content(self, path: str) -> str:
        """The name of a file's content."""
        return self.file(path).content

    def file(self, path: str) -> File:
        """What a path leads to, or will once there is something."""
        folded: str = fold(path)
        file = self._found.get(folded)
        if file is None:
            key = f"file {self._changes.get(folded, 0)} of {folded}"
            file = self._found[folded] = File(f"content of {folded}", key)
        return file

    def renamed(self, source: str, target: str) -> None:
        """Let a file, or all that is in a folder, keep its name at another path."""
        moved = target
        source, target = fold(source), fold(target)
        below = source + os.sep
        for path in [path for path in self._found if path == source or path.startswith(below)]:
            self._found[target + path[len(source) :]] = self._found[path]
            self._leave(path)
        self._leave(source)
        for _, opened in self.descriptors.items():
            if not opened.is_removed and (fold(opened.path) + os.sep).startswith(below):
                opened.path = moved + opened.path[len(source) :]

    def linked(self, source: str, target: str) -> None:
        """Note that two paths lead to one file."""
        self._found[fold(target)] = self.file(source)

    def removed(self, path: str) -> None:
        """Note that a path leads nowhere any more, or to another file."""
        self._leave(fold(path))
        for _, opened in self.descriptors.items():
            if fold(opened.path) == fold(path):
                opened.is_removed = True

    def _leave(self, folded: str) -> None:
        """Let a path lead to another file from now on."""
        self._found.pop(folded, None)
        self._changes[folded] = self._changes.get(folded, 0) + 1

    # Operations

    def reach(
        self,
        label: str,
        given: Any,
        footprint: Callable[[Target], Footprint],
        *,
        follow: bool = True,
        dir_fd: int | None = None,
        numbers: bool = False,
    ) -> Target:
        """Perform an operation on what a path leads to, and give where it leads at that moment.

        Raises OSError if the path is a descriptor, or relative to one, that is not open.
        """
        found: list[Target] = [self.target(given, follow, dir_fd, numbers)]

        def names() -> Footprint:
            found[0] = self.target(given, follow, dir_fd, numbers)
            return self.footprint_if_closed(found[0]) or footprint(found[0])

        if found[0].installed:
            if _changes(footprint(found[0])):
                self.world.refuse(f"changes an installed file ({label})")
            return found[0]
        self.world.perform(label, names)
        self.require_open(found[0])
        return found[0]

    def footprint_if_closed(self, target: Target) -> Footprint | None:
        """What a call on a path accesses that is a descriptor, or relative to one, which is not open; else None."""
        return None if target.number is None else self.descriptors.footprint_if_closed(target.number)

    def require_open(self, target: Target) -> None:
        """Raise OSError if a path is a descriptor, or relative to one, that is not open.

        One that is open and was not opened by the model ends the check.
        """
        if target.number is None:
            return
        if not self.descriptors.is_closed(target.number):
            self.world.refuse("uses a path by a descriptor that the model has not opened")
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), target.given)

    def place(self, target: Target) -> str:
        """Where the system finds it, for a call that changes nothing."""
        if not target.path or "\0" in target.path:
            return os.fsdecode(target.given)
        place = self.overlay.place(target.path)
        if place is target.path:
            self.note_read(target)
        return place + os.sep if target.slash else place

    def changed(self, target: Target) -> str:
        """Where the system finds a file that is about to be changed, in the scratch folder."""
        path = target.path
        try:
            return self.overlay.changed(path)
        except TooLargeError:
            self.world.refuse(
                f"changes a file that is too large to be copied for each execution ({_short(path)!r})"
            )
        except SharedFileError:
            self.world.refuse(f"changes a file that has several names ({_short(path)!r})")
        return path

    def require_copy(self, opened: OpenFile, function: str) -> None:
        """Let an open file of the user be a copy from now on, because a call of `function` is about to change it."""
        if opened.mine and not opened.is_removed:
            self.changed(Target(opened.path, opened.path, (), False, False))
        if opened.mine:
            self.world.refuse(f"changes a file that is not where it was opened ({function})")

    def note_read(self, target: Target, entries: bool = False) -> None:
        """Note that the verdict rests on what the user's file is, or on which entries the user's folder has.

        That a folder is there, or that nothing is, goes without saying, but what is kept of the check rests on it too.
        """
        path = target.path
        if target.installed or (path in self.read and not entries):
            return
        try:
            is_folder = stat.S_ISDIR(system.stat(path).st_mode)
        except (OSError, ValueError):
            self.read.add(path)
            self.contents.note_file(path)
            return
        if entries and is_folder:
            self.contents.note_names(path)
        else:
            self.contents.note_file(path)
        if entries or not is_folder:
            self.read.add(path)
            self.world.assume(f"{OF_A_FOLDER if is_folder else OF_A_FILE}{_shown(target.given)}")

    def require_file(self, target: Target) -> None:
        """End the check if a path leads to a device or pipe."""
        place = self.overlay.place(target.path)
        try:
            mode = system.stat(place).st_mode
        except (OSError, ValueError):
            return
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and target.path not in HARMLESS_DEVICES:
            self.world.refuse(f"opens {_short(target.path)!r}, which is a device or pipe")

    def opened(
        self, label: str, given: Any, flags: int, name: str, dir_fd: int | None = None
    ) -> tuple[str, Target]:
        """Perform the opening of a file with the system's flags. Gives the path to open in its place.

        `name` is that of the open file that is made.

        Raises OSError as opening does, for what the scratch folder would allow.
        """
        writing = flags & (os.O_WRONLY | os.O_RDWR)
        making, truncating = flags & os.O_CREAT, flags & os.O_TRUNC
        exclusive = making and flags & os.O_EXCL
        if flags & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1):
            return self._opened_without_name(label, given, name, dir_fd)
        follow = not exclusive and not flags & getattr(os, "O_NOFOLLOW", 0)
        overlay = self.overlay

        def footprint(target: Target) -> Footprint:
            path = on_path(target)
            return path if target.installed else path.also(self.descriptors.footprint_of_opening(name))

        def on_path(target: Target) -> Footprint:
            path = target.path
            if target.path in HARMLESS_DEVICES:
                return Footprint()
            if not overlay.exists(path):
                if not making:
                    return Footprint(target.names)
                return Footprint(
                    (*target.names, UMASK), (self.name(path), self.content(path)), self.siblings(path)
                )
            content = (self.content(path),)
            if truncating and not exclusive:
                return Footprint(target.names, content)
            return Footprint(target.names + content if flags & os.O_APPEND else target.names)

        target = self.reach(label, given, footprint, follow=follow, dir_fd=dir_fd)
        path = target.path
        if target.installed and (writing or truncating):
            self.world.refuse(f"changes an installed file ({label})")
        self.require_file(target)
        if not (writing or making or truncating) or path in HARMLESS_DEVICES or overlay.is_folder(path):
            return self.place(target), target
        if target.slash:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), given)
        if overlay.exists(path):
            if exclusive:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), given)
            if writing and not system.access(overlay.place(path), os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), given)
            if overlay.place(path) is path and not truncating:
                self.note_read(target)
            return self.changed(target), target
        if not making:
            return overlay.place(path), target
        self._require_folder(os.path.dirname(path), given)
        overlay.change_entry(path)
        return overlay.created(path), target

    def _opened_without_name(
        self, label: str, given: Any, name: str, dir_fd: int | None
    ) -> tuple[str, Target]:
        """Perform the opening of a file in the folder `given` that gets no name there, so that nobody else finds it."""

        def footprint(target: Target) -> Footprint:
            return Footprint(target.names).also(self.descriptors.footprint_of_opening(name))

        target = self.reach(label, given, footprint, dir_fd=dir_fd)
        if target.installed:
            self.world.refuse(f"changes an installed file ({label})")
        self._require_folder(target.path, given)
        path = os.path.join(target.path, f"({name}, which has no name)")
        self.overlay.change_entry(path)
        return os.path.dirname(self.overlay.created(path)), replace(target, path=path)

    def _require_folder(self, path: str, given: Any) -> None:
        """Raise OSError as the system does that cannot open `given`, because this is no folder."""
        if not self.overlay.is_folder(path):
            number = errno.ENOTDIR if self.overlay.exists(path) else errno.ENOENT
            raise OSError(number, os.strerror(number), given)

    def _copied(self, path: str, copy: str) -> None:
        """Let what has the user's file open have the copy open from now on."""
        moved: dict[str, int] = {}
        for descriptor, opened in self.descriptors.items():
            if not opened.mine or opened.path != path:
                continue
            if opened.name not in moved:
                new = system.open(copy, opened.flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC))
                system.lseek(new, system.lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
                system.dup2(new, descriptor, system.get_inheritable(descriptor))
                system.close(new)
                moved[opened.name] = descriptor
            else:
                system.dup2(moved[opened.name], descriptor, system.get_inheritable(descriptor))
        for _, opened in self.descriptors.items():
            if opened.name in moved:
                opened.mine = False

    def shown(self, status: os.stat_result, path: str, content: str, mine: bool) -> os.stat_result:
        """A file's status without what depends on when and where the execution runs."""
        if mine:
            return status
        if stat.S_ISDIR(status.st_mode) and self._is_users_folder(path):
            return system.stat(path)
        fields = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
        for which in ("atime", "mtime", "ctime"):
            if fields[f"st_{which}_ns"] >= self._began:
                fields[f"st_{which}"] = float(_TIME)
                fields[f"st_{which}_ns"] = _TIME * _NANOSECONDS
        values = list(status)
        values[1] = zlib.crc32(content.encode("utf-8", "surrogateescape")) | 1 << 40
        values[7:10] = [int(fields[f"st_{which}"]) for which in ("atime", "mtime", "ctime")]
        extra = {name: value for name, value in fields.items() if name not in _FIRST}
        return os.stat_result(values, extra)


_FIRST = ("st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid", "st_size")


def _changes(footprint: Footprint) -> bool:
    return bool(footprint.writes or footprint.entered or footprint.everything)


def _shown(given: Any) -> str:
    return _short(os.fsdecode(given))


def _short(path: str) -> str:
    return path if len(path) <= _SHORT else f"...{path[-_SHORT:]}"


def label(function: str, *arguments: Any) -> str:
    """How reports name a call: the function and the paths that it is given, as the model wrote them."""
    return f"{function}({', '.join(map(_text, arguments))})"


def _text(argument: Any) -> str:
    return repr(argument) if isinstance(argument, int) else repr(_shown(argument))
