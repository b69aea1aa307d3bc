"""All stand-ins for what reaches outside of the interpreter, as one reversible step."""

from __future__ import annotations

import io
import os
import random
import types
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from dpor.contents import Contents
from dpor.results import AssumptionKind
from dpor.runtime.identifiers import ident_of
from dpor.runtime.mode import Mode
from dpor.runtime.outside.asking import is_asked_by_model
from dpor.runtime.outside.databases import Databases
from dpor.runtime.outside.descriptors import Descriptors
from dpor.runtime.outside.environment import Environment
from dpor.runtime.outside.file_locks import FileLocks
from dpor.runtime.outside.filesystem import FileSystem
from dpor.runtime.outside.overlay import first_usable
from dpor.runtime.outside.paths import Paths
from dpor.runtime.outside.real import open_file, system
from dpor.runtime.outside.registries import Registries
from dpor.runtime.outside.remaining import NativeFunctions, StandIns
from dpor.runtime.outside.settings import Settings
from dpor.runtime.outside.streams import Streams
from dpor.runtime.outside.time_zone import TimeZone
from dpor.runtime.outside.world import World
from dpor.runtime.patchset import PatchSet
from dpor.runtime.thread import Thread
from dpor.runtime.turn_events import note_access

# Faster ways to copy, which go past the file objects; there are slower ones for systems that do not have them.
_SHORT_CUTS = {
    "shutil": ("_HAS_FCOPYFILE", "_USE_CP_COPY_FILE_RANGE", "_USE_CP_SENDFILE", "_use_fd_functions"),
    "pathlib._os": ("_copy_file_range", "_fcopyfile", "_ficlone", "_sendfile"),
}
# They open files past the interpreter.
_NATIVE_DATABASES = ("_dbm", "_gdbm")
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


class Outside:
    """What is outside of the interpreter, for the executions of one check."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self.world = World(mode)
        self._files = FileSystem(self.world)
        self._descriptors = Descriptors(self._files)
        self._paths = Paths(self._files, self._descriptors)
        self._streams = Streams(self._files, self._descriptors)
        self._locks = FileLocks(self._files, self._descriptors)
        self._databases = Databases(self._files)
        self._environment = Environment(self.world)
        self._settings = Settings(self.world)
        self._registries = Registries(self.world)
        self._time_zone = TimeZone(self.world, self._environment)
        self._native = NativeFunctions(
            self.world,
            {
                **self._registries.described(),
                **self._settings.described(),
                "atexit": self._exit_functions,
                "fcntl": self._locks.functions,
                "threading": self._watching_functions,
            },
        )
        self._imported = False
        self._umask = 0o022

    def install(self, patches: PatchSet) -> None:
        """Put the stand-ins in place."""
        self.world.install()
        self._files.install()
        self._umask = system.umask(0o077)
        system.umask(self._umask)
        for name, function in {**self._paths.replacements(), **self._descriptors.replacements()}.items():
            self._native.add(getattr(system, name), function)
        self._native.add(open_file, self._streams.open())
        self._time_zone.install(self._native)
        self._native.install(patches)
        patches.replace(io, "FileIO", self._streams.raw())
        self._environment.patch(patches)
        self._settings.patch(patches)
        self._registries.patch(patches)

    def on_import(self, patches: PatchSet) -> dict[str, Callable[[ModuleType], None]]:
        """What is to be done to modules of the library when they have been imported, by name."""
        return {
            **{name: lambda module: self._patch_copying(patches, module) for name in _SHORT_CUTS},
            **{
                name: lambda module: self._patch_native_database(patches, module)
                for name in _NATIVE_DATABASES
            },
            **self._settings.on_import(patches),
            **self._registries.on_import(patches),
            "cProfile": lambda module: self._patch_profiler(patches, module),
            "sqlite3": lambda module: self._databases.patch(patches, module),
            "tempfile": lambda module: self._patch_temporary_files(patches, module),
        }

    def imported(self, patches: PatchSet, module: ModuleType) -> None:
        """Put the stand-ins in place in a module of the library that has been imported."""
        self._native.imported(patches, module)

    def uninstall(self) -> None:
        """Remove what was written; the stand-ins are taken away by who has the patches."""
        self._native.uninstall()
        self._databases.reset()
        self._streams.reset(imported=True)
        self._files.overlay.close()
        self._environment.forget()
        self._settings.forget()
        self._registries.forget()
        self._time_zone.forget()
        system.umask(self._umask)

    def read(self) -> frozenset[str]:
        """The user's files whose content the executions so far have read."""
        return frozenset(self._files.read)

    @property
    def contents(self) -> Contents:
        """What the check rests on outside of its process."""
        return self._files.contents

    def refuse_written_module(self, name: str, folders: Sequence[str]) -> None:
        """End the check with DPOR108, if the import system would find a module in these folders that the execution has
        written: it looks at the user's files.
        """
        if not self._mode.host.active or self._mode.is_importing:
            return
        overlay = self._files.overlay
        with self._mode.asleep():
            name = name.rpartition(".")[2]
            written = any(overlay.has_module(os.path.abspath(folder), name) for folder in folders)
        if written:
            self.world.refuse(f"imports a module that it has written ({name})")

    def before_import(self) -> None:
        """The model's modules are about to be imported: they find the world as it is without the model."""
        self._databases.reset()
        self._streams.reset(imported=True)
        self._files.overlay.forget()
        self._files.reset()
        self._environment.forget()
        self._settings.forget()
        self._registries.forget()
        self._time_zone.forget()
        system.umask(self._umask)
        self._imported = not self._mode.host.active

    def begin(self) -> None:
        """Start an execution with the world as it was when the model's modules had been imported."""
        self.world.begin()
        if self._imported:
            self._imported = False
            self._files.overlay.keep()
            self._environment.keep()
            self._settings.keep()
            self._registries.keep()
            self._time_zone.keep()
        # What is kept in plain lists and dicts is changed without a stand-in.
        self._environment.reset()
        self._settings.reset()
        self._registries.reset()
        self._time_zone.reset()
        if self.world.was_used():
            self._databases.reset()
            self._streams.reset()
            self._files.reset()
            system.umask(self._umask)

    def _replace_defaults(self, patches: PatchSet, owner: ModuleType | type) -> None:
        """Replace functions that are default values of parameters."""
        table = self._native.table()
        for value in list(vars(owner).values()):
            if isinstance(value, type) and value.__module__ == owner.__name__:
                self._replace_defaults(patches, value)
            elif isinstance(value, types.FunctionType) and value.__defaults__:
                now = tuple(
                    patches.alike(table[default], default)
                    if isinstance(default, types.BuiltinFunctionType) and default in table
                    else default
                    for default in value.__defaults__
                )
                if now != value.__defaults__:
                    patches.replace_defaults(value, now)

    def _exit_functions(self, module: ModuleType) -> StandIns:
        """What a model registers is not run: the process goes on when an execution ends."""
        names = dict(vars(module))

        def register(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if not (self.world.controls() and self._mode.host.active):
                return names["register"](function, *args, **kwargs)
            if not callable(function):
                raise TypeError("the first argument must be callable")
            if is_asked_by_model():
                name = getattr(function, "__qualname__", type(function).__name__)
                self._mode.host.assume(AssumptionKind.UNRUN_AT_EXIT.value, str(name))
            return function

        def unregister(function: Callable[..., Any], /) -> None:
            if not (self.world.controls() and self._mode.host.active):
                names["unregister"](function)

        return {"register": register, "unregister": unregister}

    def _watching_functions(self, module: ModuleType) -> StandIns:
        """Functions that debuggers and profilers call to watch every thread, which are not written in C."""

        def refused(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def watch(*args: Any, **kwargs: Any) -> Any:
                if self.world.controls() and self._mode.host.active and is_asked_by_model():
                    self.world.refuse(f"has a function watch all threads (threading.{name})")
                return real(*args, **kwargs)

            watch.__name__ = watch.__qualname__ = name
            watch.__doc__ = real.__doc__
            return watch

        names = ("setprofile", "setprofile_all_threads", "settrace", "settrace_all_threads")
        return {name: refused(name, vars(module)[name]) for name in names if name in vars(module)}

    def _patch_profiler(self, patches: PatchSet, module: ModuleType) -> None:
        """Have no profiler started, which would go on in the next execution."""
        owner = vars(module)["Profile"]
        real = owner.enable

        def enable(profiler: Any, *args: Any, **kwargs: Any) -> None:
            if self.world.controls() and self._mode.host.active:
                self.world.refuse("starts a profiler (cProfile.Profile.enable)")
            real(profiler, *args, **kwargs)

        patches.define(owner, "enable", enable)

    def _patch_copying(self, patches: PatchSet, module: ModuleType) -> None:
        """Have files copied through file objects."""
        for name in _SHORT_CUTS[module.__name__]:
            if vars(module).get(name):
                patches.replace(module, name, False if isinstance(vars(module)[name], bool) else None)

    def _patch_native_database(self, patches: PatchSet, module: ModuleType) -> None:
        real = vars(module)["open"]

        def open_database(*args: Any, **kwargs: Any) -> Any:
            if self.world.controls():
                self.world.refuse(f"opens a database in C ({module.__name__}.open)")
            return real(*args, **kwargs)

        patches.replace(module, "open", open_database)

    def _patch_temporary_files(self, patches: PatchSet, module: ModuleType) -> None:
        """Let every thread draw names of its own, the same in every execution."""
        self._replace_defaults(patches, module)
        mode = self._mode
        real = vars(module)["_get_candidate_names"]

        def candidates() -> Iterator[str]:
            if not mode.controls():
                return real()
            return _names(mode)

        patches.replace(module, "_get_candidate_names", candidates)
        if vars(module)["tempdir"] is None:
            # What the module finds out once outlives the execution that asks first.
            with mode.suspended():
                folders = vars(module)["_candidate_tempdir_list"]()
                vars(module)["tempdir"] = first_usable(
                    os.path.abspath(folder) for folder in folders if folder != os.curdir
                )


def _names(mode: Mode) -> Iterator[str]:
    host = mode.host
    thread: Thread | None = host.current_thread() if host.active else None
    while True:
        number = 0
        if thread is not None:
            draws = thread.dpor_drawn()
            note_access(draws)
            draws.names += 1
            number = draws.names
        seed = f"{ident_of(thread) if thread is not None else 0}:{number}"
        draw = random.Random(seed)
        yield "".join(draw.choices(_CHARACTERS, k=8))
