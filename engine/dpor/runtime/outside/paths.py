"""The functions of os that take paths."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, cast

from dpor.runtime.outside.descriptors import Descriptors, changes, looks
from dpor.runtime.outside.entries import Entries, Entry
from dpor.runtime.outside.filesystem import CURRENT_FOLDER, UMASK, FileSystem, Target, label
from dpor.runtime.outside.real import system
from dpor.runtime.outside.world import Footprint

_READ_STATUS = ("getxattr", "listxattr", "statvfs", "pathconf")
# They change a file's status or content, and leave where it is.
_CHANGE_STATUS = (
    "chmod",
    "chown",
    "lchown",
    "lchmod",
    "chflags",
    "lchflags",
    "utime",
    "setxattr",
    "removexattr",
    "truncate",
)
_NOT_FOLLOWING = frozenset({"lchown", "lchmod", "lchflags"})
_REFUSED = {
    "mkfifo": "makes a pipe (os.mkfifo)",
    "mknod": "makes a device or pipe (os.mknod)",
    "chroot": "changes the root folder (os.chroot)",
    "startfile": "starts a process (os.startfile)",
}


def _all_names(target: Target) -> Footprint:
    return Footprint(target.names)


class Paths:
    """Stand-ins for the functions of os that take paths. `replacements()` gives them by name."""

    def __init__(self, files: FileSystem, descriptors: Descriptors) -> None:
        self._files = files
        self._descriptors = descriptors
        self._controls = files.world.controls
        self._overlay = files.overlay

    def replacements(self) -> dict[str, Callable[..., Any]]:
        """Name in os to what stands in for it, for the names that this system has."""
        table: dict[str, Callable[..., Any]] = {
            "access": self._access,
            "chdir": self._chdir,
            "fchdir": self._chdir,
            "getcwd": self._getcwd,
            "getcwdb": self._getcwdb,
            "link": self._link,
            "listdir": self._listdir,
            "lstat": self._lstat,
            "mkdir": self._mkdir,
            "readlink": self._readlink,
            "remove": self._unlink,
            "rename": self._renaming("rename"),
            "replace": self._renaming("replace"),
            "rmdir": self._rmdir,
            "scandir": self._scandir,
            "stat": self._stat,
            "symlink": self._symlink,
            "umask": self._umask,
            "unlink": self._unlink,
        }
        for name in _READ_STATUS:
            table[name] = self._reading(name)
        for name in _CHANGE_STATUS:
            table[name] = self._changing(name)
        for name, what in _REFUSED.items():
            table[name] = self._refused(name, what)
        return {
            name: self._checked(name, function) for name, function in table.items() if hasattr(system, name)
        }

    def _checked(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function inside a model, the real one elsewhere; errors are about the paths that the model gave."""
        real = getattr(system, name)
        controls = self._controls

        def call(*args: Any, **kwargs: Any) -> Any:
            if not controls():
                return real(*args, **kwargs)
            try:
                return function(*args, **kwargs)
            except OSError as error:
                _fix_paths(error, args)
                raise

        call.__name__ = call.__qualname__ = name
        call.__doc__ = real.__doc__
        return call

    # Reading

    def _stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        files = self._files
        if isinstance(path, int):
            return self._descriptors.call("fstat", system.fstat, looks, path)
        overlay = self._overlay

        def footprint(target: Target) -> Footprint:
            has_content = overlay.exists(target.path) and not overlay.is_folder(target.path)
            return Footprint((*target.names, files.content(target.path)) if has_content else target.names)

        function = "os.stat" if follow_symlinks else "os.lstat"
        target = files.reach(label(function, path), path, footprint, follow=follow_symlinks, dir_fd=dir_fd)
        place = files.place(target)
        status = system.stat(place, follow_symlinks=follow_symlinks)
        mine = target.installed or overlay.place(target.path) is target.path
        return files.shown(status, target.path, files.content(target.path), mine)

    def _lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        return self._stat(path, dir_fd=dir_fd, follow_symlinks=False)

    def exists(self, path: Any, follow: bool) -> Target | None:
        """What a path leads to, or None, for functions that tell no more of it than that; as one operation."""
        files = self._files
        try:
            target = files.reach(label("os.stat", path), path, _all_names, follow=follow)
            system.lstat(files.place(target))
        except (OSError, ValueError):
            return None
        return target

    def _access(
        self,
        path: Any,
        mode: int,
        *,
        dir_fd: int | None = None,
        effective_ids: bool = False,
        follow_symlinks: bool = True,
    ) -> bool:
        files = self._files

        def footprint(target: Target) -> Footprint:
            return Footprint((*target.names, files.content(target.path)))

        target = files.reach(label("os.access", path), path, footprint, follow=follow_symlinks, dir_fd=dir_fd)
        more: dict[str, Any] = {"effective_ids": True} if effective_ids else {}
        return system.access(files.place(target), mode, **more)

    def _readlink(self, path: Any, *, dir_fd: int | None = None) -> Any:
        files = self._files
        target = files.reach(label("os.readlink", path), path, _all_names, follow=False, dir_fd=dir_fd)
        found = system.readlink(files.place(target))
        return os.fsencode(found) if isinstance(path, bytes) else found

    def _reading(self, name: str) -> Callable[..., Any]:
        files, real = self._files, getattr(system, name, None)

        def call(path: Any, *args: Any, follow_symlinks: bool = True) -> Any:
            assert real is not None
            if isinstance(path, int):
                return self._descriptors.call(name, real, looks, path, *args)

            def footprint(target: Target) -> Footprint:
                return Footprint((*target.names, files.content(target.path)))

            target = files.reach(label(f"os.{name}", path), path, footprint, follow=follow_symlinks)
            return real(files.place(target), *args)

        return call

    def _names(self, function: str, path: Any) -> tuple[Any, Target]:
        """The path of a folder as an argument and where it leads, after an operation that reads its entries."""
        files = self._files

        def footprint(target: Target) -> Footprint:
            return Footprint((*target.names, files.entries(target.path)))

        target = files.reach(label(function, path), path, footprint, numbers=True)
        return (target.path if isinstance(path, int) else path), target

    def _note_listed(self, target: Target) -> None:
        if self._overlay.is_users(target.path):
            self._files.note_read(target, entries=True)

    def _listdir(self, path: Any = None) -> list[Any]:
        path, target = self._names("os.listdir", os.curdir if path is None else path)
        if not self._overlay.is_folder(target.path):
            return system.listdir(self._files.place(target))
        names = self._overlay.names(target.path)
        self._note_listed(target)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else list(names)

    def _scandir(self, path: Any = None) -> Entries:
        given = os.curdir if path is None else path
        path, target = self._names("os.scandir", given)
        if not self._overlay.is_folder(target.path):
            system.scandir(self._files.place(target))
        self._note_listed(target)
        self._files.number_order.moved()
        prefix = os.fsdecode(path)
        encode = os.fsencode if isinstance(path, bytes) else str
        found = (
            Entry(
                encode(name),
                encode(name if isinstance(given, int) else os.path.join(prefix, name)),
                os.path.join(prefix, name),
                system.lstat(self._overlay.place(os.path.join(target.path, name))),
            )
            for name in self._overlay.names(target.path)
        )
        return Entries(self._files.world, found)

    # The current folder and the umask

    def _getcwd(self) -> str:
        self._files.world.perform("os.getcwd()", lambda: Footprint((CURRENT_FOLDER,)))
        return self._overlay.current()

    def _getcwdb(self) -> bytes:
        return os.fsencode(self._getcwd())

    def _chdir(self, path: Any) -> None:
        files = self._files
        if isinstance(path, int):
            path = self._names("os.fchdir", path)[0]

        def footprint(target: Target) -> Footprint:
            return Footprint(target.names, (CURRENT_FOLDER,))

        target = files.reach(label("os.chdir", path), path, footprint)
        if not self._overlay.is_folder(target.path):
            # The system says what is wrong.
            system.scandir(files.place(target)).close()
        self._overlay.cwd = target.path

    def _umask(self, mask: int) -> int:
        self._files.world.perform("os.umask()", lambda: Footprint((), (UMASK,)))
        return system.umask(mask)

    # Changing

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        files, overlay = self._files, self._overlay

        def footprint(target: Target) -> Footprint:
            path = target.path
            if overlay.exists(path) or not overlay.is_folder(os.path.dirname(path)):
                return Footprint(target.names)
            return Footprint(
                (*target.names, UMASK), (files.name(path), files.entries(path)), files.siblings(path)
            )

        target = files.reach(label("os.mkdir", path), path, footprint, follow=False, dir_fd=dir_fd)
        if overlay.exists(target.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        overlay.change_entry(target.path)
        system.mkdir(overlay.created(target.path), mode)

    def _rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        files, overlay = self._files, self._overlay

        def footprint(target: Target) -> Footprint:
            path = target.path
            if not overlay.is_folder(path):
                return Footprint(target.names)
            names = (files.name(path), files.entries(path))
            return Footprint(target.names, names, files.siblings(path), everything=overlay.is_users(path))

        target = files.reach(label("os.rmdir", path), path, footprint, follow=False, dir_fd=dir_fd)
        path = target.path
        if not overlay.is_folder(path):
            system.rmdir(files.place(target))
        if overlay.names(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target.given)
        overlay.change_entry(path)
        place = overlay.place(path)
        if place is not path:
            system.rmdir(place)
        if overlay.is_users(path):
            overlay.hide(path)
        files.removed(path)
        overlay.reshape()

    def _unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        files, overlay = self._files, self._overlay

        def footprint(target: Target) -> Footprint:
            path = target.path
            if not overlay.exists(path) or overlay.is_folder(path):
                return Footprint(target.names)
            names = (files.name(path), files.content(path))
            users_link = overlay.is_users(path) and os.path.islink(path)
            return Footprint(target.names, names, files.siblings(path), everything=users_link)

        target = files.reach(label("os.unlink", path), path, footprint, follow=False, dir_fd=dir_fd)
        path = target.path
        if not overlay.exists(path) or overlay.is_folder(path) or target.slash:
            # The system says what is wrong.
            place = files.place(target)
            raise _unlinking_fails(place)
        overlay.change_entry(path)
        place = overlay.place(path)
        if place is not path:
            system.unlink(place)
        if overlay.is_users(path):
            overlay.hide(path)
        if _is_link(place):
            overlay.reshape()
        files.removed(path)

    def _renaming(self, name: str) -> Callable[..., None]:
        real = getattr(system, name)

        def call(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
            self._rename(f"os.{name}", real, src, dst, src_dir_fd, dst_dir_fd)

        return call

    def _rename(
        self,
        function: str,
        real: Callable[..., None],
        src: Any,
        dst: Any,
        src_fd: int | None,
        dst_fd: int | None,
    ) -> None:
        files, overlay = self._files, self._overlay
        ends: list[Target] = []

        def footprint(source: Target) -> Footprint:
            target = files.target(dst, False, dst_fd)
            ends[:] = [source, target]
            if target.number is not None:
                return files.descriptors.footprint_if_closed(target.number)
            names = source.names + target.names
            if not overlay.exists(source.path) or not overlay.is_folder(os.path.dirname(target.path)):
                return Footprint(names)
            writes = tuple(name(end.path) for end in ends for name in (files.name, files.content))
            entered = files.siblings(source.path) + files.siblings(target.path)
            moves = any(overlay.is_folder(end.path) or _is_link(overlay.place(end.path)) for end in ends)
            return Footprint(names, writes, entered, everything=moves)

        files.reach(label(function, src, dst), src, footprint, follow=False, dir_fd=src_fd)
        source, target = ends
        files.require_open(target)
        parent = os.path.dirname(target.path)
        if not overlay.exists(source.path) or not overlay.is_folder(parent):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), src, None, dst)
        if target.installed:
            files.world.refuse(f"changes an installed file ({function})")
        if source.path == target.path or _are_names_of_one_file(*(overlay.place(end.path) for end in ends)):
            return
        overlay.change_entry(source.path)
        overlay.change_entry(target.path)
        is_folder = overlay.is_folder(source.path)
        moved = overlay.gather(source.path) if is_folder else files.changed(source)
        onto = overlay.gather(target.path) if overlay.exists(target.path) else overlay.created(target.path)
        try:
            real(moved, onto)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, src, None, dst) from None
        for end in (source, target):
            if overlay.is_users(end.path):
                overlay.hide(end.path)
        files.removed(target.path)
        files.renamed(source.path, target.path)
        if is_folder or _is_link(onto):
            overlay.reshape()

    def _link(
        self,
        src: Any,
        dst: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        files, overlay = self._files, self._overlay
        ends: list[Target] = []

        def footprint(source: Target) -> Footprint:
            target = files.target(dst, False, dst_dir_fd)
            ends[:] = [source, target]
            if target.number is not None:
                return files.descriptors.footprint_if_closed(target.number)
            names = source.names + target.names
            if not overlay.exists(source.path) or overlay.exists(target.path):
                return Footprint(names)
            return Footprint(
                names, (files.name(target.path), files.content(source.path)), files.siblings(target.path)
            )

        files.reach(label("os.link", src, dst), src, footprint, follow=False, dir_fd=src_dir_fd)
        source, target = ends
        files.require_open(target)
        if not overlay.exists(source.path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), src, None, dst)
        if overlay.exists(target.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), src, None, dst)
        if not files.world.mode.host.active:
            # Executions begin with copies of what the import has made, each of one name.
            files.world.refuse("gives a file a second name (os.link) while its modules are imported")
        overlay.change_entry(target.path)
        system.link(files.changed(source), overlay.created(target.path))
        files.linked(source.path, target.path)

    def _symlink(
        self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None
    ) -> None:
        files, overlay = self._files, self._overlay

        def footprint(target: Target) -> Footprint:
            path = target.path
            if overlay.exists(path):
                return Footprint(target.names)
            return Footprint(target.names, (files.name(path),), files.siblings(path))

        target = files.reach(label("os.symlink", src, dst), dst, footprint, follow=False, dir_fd=dir_fd)
        if overlay.exists(target.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), src, None, dst)
        overlay.change_entry(target.path)
        system.symlink(src, overlay.created(target.path), target_is_directory)
        overlay.reshape()

    def _changing(self, name: str) -> Callable[..., Any]:
        files, overlay, real = self._files, self._overlay, getattr(system, name, None)

        def call(
            path: Any, *args: Any, dir_fd: int | None = None, follow_symlinks: bool = True, **more: Any
        ) -> Any:
            assert real is not None
            if isinstance(path, int):
                return self._descriptors.call(name, real, changes, path, *args, **more)

            def footprint(target: Target) -> Footprint:
                if not overlay.exists(target.path):
                    return Footprint(target.names)
                is_folder = overlay.is_folder(target.path)
                return Footprint(target.names, (files.content(target.path),), everything=is_folder)

            follow = follow_symlinks and name not in _NOT_FOLLOWING
            target = files.reach(label(f"os.{name}", path), path, footprint, follow=follow, dir_fd=dir_fd)
            if not overlay.exists(target.path):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            if name == "truncate" and not system.access(overlay.place(target.path), os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return real(files.changed(target), *args, **more)

        return call

    def _refused(self, name: str, what: str) -> Callable[..., Any]:
        real = getattr(system, name, None)

        def call(*args: Any, **kwargs: Any) -> Any:
            assert real is not None
            self._files.world.refuse(f"{what}, which cannot be controlled")
            return real(*args, **kwargs)

        return call


def _is_link(path: str) -> bool:
    try:
        return system.lstat(path).st_mode & 0o170000 == 0o120000
    except (OSError, ValueError):
        return False


def _are_names_of_one_file(first: str, second: str) -> bool:
    """Whether two paths of the system lead to one file, so that to rename one to the other does nothing."""
    try:
        one, other = system.lstat(first), system.lstat(second)
    except (OSError, ValueError):
        return False
    # Where case does not matter, a file can be renamed to another way to write its one name.
    return os.name != "nt" and os.path.samestat(one, other) and one.st_nlink > 1


def _unlinking_fails(place: str) -> OSError:
    """The error of the system for removing what is no file, without the risk that it does remove something."""
    try:
        status = system.lstat(place)
    except OSError as error:
        return error
    number = errno.EISDIR if status.st_mode & 0o170000 == 0o040000 and os.name != "nt" else errno.EACCES
    return OSError(number, os.strerror(number), place)


def _fix_paths(error: OSError, args: tuple[Any, ...]) -> None:
    """Let an error name the path that the model gave."""
    if error.filename is not None and args and isinstance(args[0], str | bytes | os.PathLike):
        error.filename = os.fspath(cast("str | bytes | os.PathLike[Any]", args[0]))
    other: Any = error.filename2
    if isinstance(other, os.PathLike):
        error.filename2 = os.fspath(cast("os.PathLike[Any]", other))
