"""The locks of the import system: one thread loads a module, and others that import it meanwhile wait.

All threads of a model run in one thread of the system, so that the import system's own locks let each of them in. That
does not matter for modules that are loaded without a switch. But the body of a module of the model is many operations.
So there is a lock of the kernel for each such module that an execution imports, and to import one that is loaded
already is an operation that reads what loading it has written.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import importlib.machinery
import opcode
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

from dpor._kernel import OwnedLock
from dpor.instrument.implicit import import_from
from dpor.results import AssumptionKind
from dpor.runtime.outside.world import Footprint, World
from dpor.runtime.patchset import PatchSet

_IMPORT = opcode.opmap["IMPORT_NAME"]
# Functions of the import system that import, or call what does.
_IMPORTING = frozenset({"_call_with_frames_removed", "_find_and_load"})


def _of_nobody(module: str) -> bool:
    return False


@dataclass
class _Loading:
    """What an execution knows of one module: the thread that has its lock, how often, and whether it is loaded.

    A thread that is alone has it without taking the kernel's `lock`, which is `locked` otherwise.
    """

    lock: OwnedLock
    done: bool
    locked: bool = False
    owner: int | None = None
    depth: int = 0


@dataclass
class _State:
    """What an execution knows of all modules, and for which of them each thread waits.

    `held` says how a thread has taken each lock that it has not given back: True if it has the lock, False if it has
    only looked.
    """

    modules: dict[str, _Loading] = field(default_factory=dict[str, _Loading])
    waiting: dict[int, str] = field(default_factory=dict[int, str])
    held: dict[int, list[bool]] = field(default_factory=dict[int, list[bool]])


class ModuleLocks:
    """Stands in for the locks of modules in the executions of one check.

    `is_looked_into` says of a module's name whether the model's hooks are in its body. `search` is told of each search,
    as `Imports.search` is.
    """

    def __init__(self, world: World, search: Callable[[str, Sequence[str]], None]) -> None:
        self._search = search
        self.is_looked_into: Callable[[str], bool] = _of_nobody
        self._world = world
        self._host = world.mode.host
        self._bootstrap: Any = sys.modules["_frozen_importlib"]
        self._real: Callable[[str], Any] = self._bootstrap._ModuleLock
        self._state = _State()
        names = {"_locks": self, "__module__": importlib.machinery.ModuleSpec.__module__}
        self._late_spec = type(importlib.machinery.ModuleSpec.__name__, (_LateSpec,), names)

    def patch(self, patches: PatchSet) -> None:
        """Have the import system make these locks."""

        def make(name: str) -> _ModuleLock:
            return _ModuleLock(self, name, self._real(name))

        patches.replace(self._bootstrap, "_ModuleLock", make)

    def begin(self) -> None:
        """Begin an execution, which has imported nothing yet."""
        if self._state.held:
            self._state = _State()

    def search(self, name: str, folders: Sequence[str]) -> None:
        """A module is looked for in these folders."""
        self._search(name, folders)

    def load(self, spec: importlib.machinery.ModuleSpec) -> None:
        """A module of the model is about to be loaded from `spec`. If by an execution, imports of it are operations.

        So are those of packages, which get new modules as attributes.
        """
        if self.is_in_execution() or spec.submodule_search_locations is not None:
            spec.__class__ = self._late_spec

    def is_late(self, name: str) -> bool:
        """Whether a module that is loaded is the running execution's alone, which sees what it does.

        A package that is not looked into stays loaded with what it imports, whose code runs unseen: that is noted.
        """
        if self.is_in_execution():
            return True
        slept = self._host.sleep(False)
        try:
            if self.is_in_execution():
                self._host.assume(AssumptionKind.UNSEEN_CODE.value, name)
        finally:
            self._host.sleep(slept)
        return False

    def loaded(self, name: str) -> None:
        """The body of a module has run: it is about to become an attribute of its package."""
        package = name.rpartition(".")[0]
        if package and self.controls(package):
            self._world.look(f"import {name}", Footprint(writes=(_found(package),)))

    def controls(self, name: str) -> bool:
        """Whether the lock of this module is the kernel's, for whoever asks for it now."""
        if not self.is_in_execution():
            return False
        with self._world.mode.asleep():
            return self.is_looked_into(name)

    def acquire(self, name: str) -> None:
        """Take the lock, after whoever has it; or look that the module is loaded."""
        state, me = self._state, self._host.current_index()
        module = self._module(name)
        held = state.held.setdefault(me, [])
        if module.owner == me:
            module.depth += 1
        elif self._host.is_alone():
            module.owner, module.depth = me, 1
        else:
            if module.owner is not None and not module.locked:
                self._world.refuse(f"imports {name} in a thread that was started while {name} was loaded")
            # What the thread does next depends on what it finds when this operation takes place.
            self._world.look(f"import {name}", Footprint(reads=(_found(name),)))
            if module.done and name in sys.modules:
                held.append(False)
                return
            self._take(module, name, me)
        held.append(True)

    def _take(self, module: _Loading, name: str, me: int) -> None:
        # What it stores in sys.modules and in the package it stores unseen.
        self._host.assume(AssumptionKind.LATE_IMPORT.value, name)
        # Which of two threads that would wait for each other goes on depends on the order in which they come to this.
        self._world.look(f"import {name}", Footprint(writes=("threads that wait for imports",)))
        if self._goes_round(module.owner, me):
            raise self._bootstrap._DeadlockError(f"deadlock detected by the lock of {name}")
        self._state.waiting[me] = name
        try:
            module.lock.acquire(self._host.thread_path(me), True, True)
        finally:
            del self._state.waiting[me]
        module.locked, module.owner, module.depth = True, me, 1

    def release(self, name: str) -> None:
        """Give back what the running thread has taken last."""
        if not self._host.active:
            # The execution is given up.
            return
        me = self._host.current_index()
        if not self._state.held[me].pop():
            return
        module = self._module(name)
        module.depth -= 1
        if module.depth:
            return
        locked, is_loaded = module.locked, name in sys.modules
        if locked:
            if is_loaded and not module.done:
                self._world.look(f"import {name}", Footprint(writes=(_found(name),)))
                module.done = True
            module.lock.release(self._host.thread_path(me))
        module.locked, module.owner, module.done = False, None, is_loaded
        found = sys.modules.get(name)
        if locked and isinstance(found, ModuleType) and "__path__" in vars(found):
            # Next it may look which modules are in it.
            self._world.look(f"import {name}", Footprint(reads=(_found(name),)))

    def _module(self, name: str) -> _Loading:
        found = self._state.modules.get(name)
        if found is None:
            lock = OwnedLock(self._world.system, f"lock of {name}", f"import of {name}")
            found = self._state.modules[name] = _Loading(lock, name in sys.modules)
        return found

    def _goes_round(self, owner: int | None, me: int) -> bool:
        """Whether the thread that has a lock waits for this thread, by way of others or not."""
        while owner is not None and owner in self._state.waiting:
            owner = self._state.modules[self._state.waiting[owner]].owner
            if owner == me:
                return True
        return False

    def is_in_execution(self) -> bool:
        """Whether the code that runs is an execution's, and does not load the model's modules before that."""
        return self._host.active and not self._world.mode.is_importing


class _ModuleLock:
    """The lock of one module, as the import system uses it."""

    def __init__(self, locks: ModuleLocks, name: str, real: Any) -> None:
        self.name = name
        self._locks = locks
        self._real = real
        # Whether the kernel's lock was taken, by each thread that has not released it yet.
        self._controlled: list[bool] = []

    def acquire(self) -> bool:
        """Take the lock. Raises the import system's error where threads would wait for each other."""
        controlled = self._locks.controls(self.name)
        if controlled:
            self._locks.acquire(self.name)
        else:
            self._real.acquire()
        self._controlled.append(controlled)
        return True

    def release(self) -> None:
        """Give it back."""
        if self._controlled.pop():
            self._locks.release(self.name)
        else:
            self._real.release()


class _LateSpec(importlib.machinery.ModuleSpec):
    """Of a package, and of a module that an execution has imported: whoever imports it again is sent to its lock."""

    _locks: ModuleLocks

    @property
    def _initializing(self) -> bool:
        return vars(self).get("_initializing", False) or (
            self._locks.controls(self.name) and _is_import(sys._getframe(1), self._locks)
        )

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        vars(self)["_initializing"] = value


def _is_import(frame: FrameType, locks: ModuleLocks) -> bool:
    """Whether a frame imports a module. The interpreter asks for `_initializing` when it words errors, too."""
    code = frame.f_code
    if code is import_from.__code__:
        return True
    if frame.f_globals is vars(locks._bootstrap):
        return code.co_name in _IMPORTING
    position = frame.f_lasti
    return position >= 0 and code.co_code[position] == _IMPORT


def _found(name: str) -> str:
    """What an import reads and loading a module writes: whether it is there, and which modules are in it."""
    return f"module {name}"
