"""The user's files with what the running execution has changed, which is kept in a scratch folder beside them.

Reading looks into the scratch folder first and then at the user's file; whatever changes a file copies it into the
scratch folder before. Files that are gone are only noted. So an execution leaves the user's files as they are, and the
next one begins with them.
"""

from __future__ import annotations

import errno
import importlib.machinery
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator

from dpor.runtime.outside.real import SCRATCH, open_file, system

# A file that is copied in every execution should not be larger than this.
_LARGEST = 64 << 20
_MOST_LINKS = 40
# Links of Linux to what a process has open or works in, such as /proc/self/fd/3.
_HIDDEN_LINK = re.compile("/proc/[0-9]+/(task/[0-9]+/)?(fd/|map_files/|cwd$)")
_FOLDS_CASE = sys.platform in ("win32", "darwin")


class TooLargeError(Exception):
    """A file is too large to be copied for an execution; the argument is its path."""


_OF_MODULES = tuple(importlib.machinery.all_suffixes())


class HiddenLinkError(Exception):
    """A link leads to an open file or folder, whatever its name; the argument is its path."""


class SharedFileError(Exception):
    """A file of the user has several names, of which a copy would change one only; the argument is its path."""


def fold(path: str) -> str:
    """The same text for all ways to write a path that the system may take for one."""
    return path.casefold() if _FOLDS_CASE else path


class Overlay:
    """What files there are for the running execution.

    Paths are absolute and resolved (`resolve`) in all methods, except where it is said. `cwd` is the current folder,
    and `copied` is told of a user's file and its copy in the scratch folder.
    Raises OSError as the system does, with the paths of the scratch folder in it: who calls fixes that.
    """

    def __init__(self, copied: Callable[[str, str], None]) -> None:
        self._copied = copied
        self.cwd: str | None = None
        self._folder = ""
        self._scratch: str | None = None
        self._top = ""
        self._hidden: set[str] = set()
        self._dirty = False
        # Whether links were made or folders moved, so that what is known of the user's folders may not hold.
        self._reshaped = False
        self._plain: set[str] = set()
        self._base: tuple[str, frozenset[str], str | None, bool] | None = None

    def install(self) -> None:
        """Find out where temporary files belong, before anything stands in for what tells, and clean up there."""
        self._folder = _temporary_folder()
        _remove_abandoned(self._folder)

    # From one execution to the next

    def keep(self) -> None:
        """Let every execution begin with what there is now."""
        if not self._dirty:
            self._base = None if self.cwd is None else ("", frozenset(), self.cwd, False)
            return
        base = f"{self._scratch}{os.sep}base"
        _remove_tree(base)
        _copy_tree(self._top, base)
        self._base = (base, frozenset(self._hidden), self.cwd, self._reshaped)

    def forget(self) -> None:
        """Let every execution begin with the user's files alone, and this one."""
        self._base = None
        self.reset()

    def reset(self) -> None:
        """Go back to what executions begin with."""
        if self._dirty:
            _remove_tree(self._top)
        self._hidden.clear()
        self._dirty = self._reshaped = False
        self.cwd = None
        if self._base is not None:
            folder, hidden, self.cwd, self._reshaped = self._base
            if folder:
                _copy_tree(folder, self._top)
                self._hidden.update(hidden)
                self._dirty = True

    def close(self) -> None:
        """Remove the scratch folder."""
        self.forget()
        if self._scratch is not None:
            _remove_tree(self._scratch)
            self._scratch = None

    def owns(self, path: str) -> bool:
        """Whether a path of the system, as an audit event gives it, is in the scratch folder."""
        return self._scratch is not None and path.startswith(self._scratch)

    # Where files are

    def current(self) -> str:
        """The current folder."""
        return self.cwd if self.cwd is not None else system.getcwd()

    def resolve(self, path: str, follow: bool = True) -> tuple[str, tuple[str, ...]]:
        """Any path as an absolute one without links, and the links on the way that the execution has made.

        With `follow` a link at the end is followed too. Raises OSError for links that go round, and HiddenLinkError.
        """
        if not os.path.isabs(path):
            path = os.path.join(self.current(), path)
        ends_in_folder = path.endswith(os.sep) and len(path) > 1
        drive, rest = os.path.splitdrive(path)
        root = drive + os.sep
        pending = list(reversed(_parts(rest)))
        found = root
        passed: list[str] = []
        links = 0
        while pending:
            part = pending.pop()
            if part == os.pardir:
                found = os.path.dirname(found)
                continue
            here = found + part if found.endswith(os.sep) else f"{found}{os.sep}{part}"
            if here in self._plain and not self._reshaped:
                found = here
                continue
            if not pending and not follow and not ends_in_folder:
                return here, tuple(passed)
            place = self.place(here)
            try:
                mode = system.lstat(place).st_mode
            except OSError:
                found = here
                continue
            if stat.S_ISLNK(mode):
                if _HIDDEN_LINK.match(here):
                    raise HiddenLinkError(here)
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if place is not here:
                    passed.append(here)
                target = system.readlink(place)
                if os.path.isabs(target):
                    drive, target = os.path.splitdrive(target)
                    found = drive + os.sep
                pending += reversed(_parts(target))
                continue
            if stat.S_ISDIR(mode) and place is here and not self._reshaped:
                self._plain.add(here)
            found = here
        return found, tuple(passed)

    def place(self, path: str) -> str:
        """Where a file is, or would be: at its own place (the same string), or in the scratch folder."""
        if not self._dirty:
            return path
        upper = self._top + _below_root(path)
        return upper if _exists(upper) or self.is_hidden(path) else path

    def exists(self, path: str) -> bool:
        """Whether there is something, a broken link included."""
        return _exists(self.place(path))

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder (not a link to one)."""
        try:
            return stat.S_ISDIR(system.lstat(self.place(path)).st_mode)
        except OSError:
            return False

    def is_hidden(self, path: str) -> bool:
        """Whether the user's file is not to be seen, because it or a folder around it was removed."""
        if not self._hidden:
            return False
        folded: str = fold(path)
        while folded not in self._hidden:
            parent: str = os.path.dirname(folded)
            if parent == folded:
                return False
            folded = parent
        return True

    def is_users(self, path: str) -> bool:
        """Whether there is something, and it is the user's own, unchanged or not."""
        return not self.is_hidden(path) and _exists(path)

    def has_module(self, folder: str, name: str) -> bool:
        """Whether the execution has written or removed what would be imported by this name from a folder."""
        if not self._dirty:
            return False
        package = os.path.join(folder, name)
        files = (
            stem + ending for stem in (package, os.path.join(package, "__init__")) for ending in _OF_MODULES
        )
        is_new = self.place(package) is not package and not _exists(package)
        return is_new or any(self.place(file) is not file for file in files)

    def names(self, folder: str) -> list[str]:
        """The names of what is in a folder, in order."""
        place = self.place(folder)
        names = set(system.listdir(place))
        if place is not folder and self.is_users(folder):
            mine = system.listdir(folder)
            names.update(name for name in mine if not self.is_hidden(os.path.join(folder, name)))
        elif place is folder and self._hidden:
            names = {name for name in names if not self.is_hidden(os.path.join(folder, name))}
        return sorted(names)

    # Changing files

    def changed(self, path: str) -> str:
        """Where a file is that is about to be changed: a copy of the user's, if there is one."""
        upper = self.created(path)
        if not _exists(upper) and not self.is_hidden(path) and _exists(path):
            _require_writable(path)
            _copy(path, upper)
            self._copied(path, upper)
        return upper

    def created(self, path: str) -> str:
        """Where a file is that may be about to be made."""
        self._begin()
        parent = os.path.dirname(path)
        if not self.is_folder(parent):
            # The system says what is wrong.
            return self.place(parent) + os.sep + os.path.basename(path)
        self._make_folder(parent)
        return self._top + _below_root(path)

    def change_entry(self, path: str) -> None:
        """Raise PermissionError unless entries of the folder around the path may be changed."""
        parent = self.place(os.path.dirname(path))
        if _exists(parent) and not system.access(parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    def hide(self, path: str) -> None:
        """Note that the user's file is gone."""
        self._begin()
        self._hidden.add(fold(path))

    def reshape(self) -> None:
        """Note that links were made or folders moved."""
        self._reshaped = True

    def gather(self, path: str) -> str:
        """Have a folder, with all that is in it, in the scratch folder; or a file. Gives where."""
        upper = self.changed(path)
        if self.is_folder(path):
            for name in self.names(path):
                self.gather(os.path.join(path, name))
        return upper

    def _begin(self) -> None:
        if self._scratch is None:
            self._scratch = os.path.join(self._folder, f"{SCRATCH}{system.getpid()}-{id(self):x}")
            system.mkdir(self._scratch, 0o700)
            self._top = os.path.join(self._scratch, "files")
        if not self._dirty:
            self._dirty = True
            if not _exists(self._top):
                system.mkdir(self._top, 0o700)

    def _make_folder(self, folder: str) -> None:
        upper = self._top + _below_root(folder)
        if _exists(upper):
            return
        parent = os.path.dirname(folder)
        if parent != folder:
            self._make_folder(parent)
        system.mkdir(upper)
        system.chmod(upper, stat.S_IMODE(system.stat(folder).st_mode) | 0o700)


def _parts(path: str) -> list[str]:
    if os.altsep:
        path = path.replace(os.altsep, os.sep)
    return [part for part in path.split(os.sep) if part not in ("", os.curdir)]


def _below_root(path: str) -> str:
    drive, rest = os.path.splitdrive(path)
    return os.sep + drive.replace(":", "").replace(os.sep, "_") + rest if drive else rest


def _exists(path: str) -> bool:
    try:
        system.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _require_writable(path: str) -> None:
    mode = system.lstat(path)
    if stat.S_ISREG(mode.st_mode):
        if mode.st_size > _LARGEST:
            raise TooLargeError(path)
        if mode.st_nlink > 1:
            raise SharedFileError(path)


def _copy(source: str, target: str) -> None:
    """Copy one file, link or empty folder."""
    status = system.lstat(source)
    if stat.S_ISLNK(status.st_mode):
        system.symlink(system.readlink(source), target)
        return
    if stat.S_ISDIR(status.st_mode):
        system.mkdir(target)
    else:
        with open_file(source, "rb") as old, open_file(target, "wb") as new:
            new.write(old.read())
    system.chmod(
        target,
        stat.S_IMODE(status.st_mode) | stat.S_IRWXU
        if stat.S_ISDIR(status.st_mode)
        else stat.S_IMODE(status.st_mode),
    )
    system.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _copy_tree(source: str, target: str) -> None:
    _copy(source, target)
    if stat.S_ISDIR(system.lstat(source).st_mode):
        for name in system.listdir(source):
            _copy_tree(os.path.join(source, name), os.path.join(target, name))


def _remove_tree(path: str, again: bool = True) -> None:
    try:
        entries: Iterator[os.DirEntry[str]]
        with system.scandir(path) as entries:
            found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for inner, is_folder in found:
            if is_folder:
                _remove_tree(inner)
            else:
                system.unlink(inner)
        system.rmdir(path)
    except PermissionError:
        if again:
            system.chmod(path, 0o700)
            _remove_tree(path, again=False)
    except OSError:
        pass


def _temporary_folder() -> str:
    variables = (system.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    folder = first_usable(
        (*variables, "/tmp", "/var/tmp", "/usr/tmp", r"C:\TEMP", r"C:\TMP", system.getcwd())
    )
    if folder is None:
        raise OSError(errno.ENOENT, "there is no folder for temporary files")
    return folder


def first_usable(folders: Iterable[str | None]) -> str | None:
    """The first of `folders` that files can be made in, as tempfile.gettempdir has it, which writes a file to find out.
    That file stays where its process is killed.
    """
    for folder in folders:
        if folder and os.path.isabs(folder) and _is_usable(folder):
            return folder
    return None


def _is_usable(folder: str) -> bool:
    try:
        is_folder = stat.S_ISDIR(system.stat(folder).st_mode)
    except (OSError, ValueError):
        return False
    return is_folder and system.access(folder, os.W_OK | os.X_OK)


def _remove_abandoned(folder: str) -> None:
    """Remove the scratch folders of processes that have ended without doing so."""
    for name in system.listdir(folder):
        if not name.startswith(SCRATCH):
            continue
        number = name[len(SCRATCH) :].partition("-")[0]
        if number.isdecimal() and not _is_alive(int(number)):
            _remove_tree(os.path.join(folder, name))


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":
        # Asking would end it; the folder is in the way of nobody.
        return True
    try:
        system.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
