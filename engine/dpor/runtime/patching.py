"""Everything that is replaced in the standard library for the time of a check, as one reversible step."""

from __future__ import annotations

import _thread
import builtins
import concurrent.futures
import functools
import os
import queue
import random
import reprlib
import sys
import threading
import time
import types
from collections.abc import Callable
from contextvars import Context
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from dpor.asleep import Asleep
from dpor.codes import Code
from dpor.errors import DporError
from dpor.options import TaskOrder
from dpor.runtime import bare_threads, known_threads, thread, thread_functions, uncontrolled
from dpor.runtime.barriers import Barrier
from dpor.runtime.caches import patch_caches
from dpor.runtime.cancellations import Cancellations
from dpor.runtime.clock import Clock
from dpor.runtime.factories import ClassWithoutCalls, Factory, maker
from dpor.runtime.futures import patch_futures
from dpor.runtime.import_time_objects import ImportTimeObjects
from dpor.runtime.imports import ImportWatcher
from dpor.runtime.local import RealLocal, like, local
from dpor.runtime.logger_levels import LoggerLevels
from dpor.runtime.main_thread import MainThread
from dpor.runtime.mode import Importing, ImportingUnseen, Mode
from dpor.runtime.module_locks import ModuleLocks
from dpor.runtime.outside.stand_ins import Outside
from dpor.runtime.patchset import PatchSet
from dpor.runtime.pool_tasks import PrimitivePools
from dpor.runtime.pools import finish_pools, patch_pools
from dpor.runtime.queues import PrimitiveQueues
from dpor.runtime.randomness import Randomness
from dpor.runtime.shared_fields import patch_queues
from dpor.runtime.slot_names import patch_slot_names
from dpor.runtime.timer import Timer
from dpor.runtime.uncontrolled import ThreadWatch, report

if TYPE_CHECKING:
    from dpor._kernel import Host

_PRIMITIVES = ("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event")
_PROCESSORS = 4


class Patches:
    """The replacements that make one process's Python controllable by `host`, while installed.

    `kernel` is the module that the primitives come from (`dpor._kernel` unless given), `seed` what randomness inside
    the model starts from. `main_thread` is the Thread object of the model's main thread, to be given to the kernel.
    `task_order` says how event loops serve what is ready, `turns`, set before it is installed, whether their turns may
    be events.
    Import the model's modules under `importing()`; run each execution through `run`. Usable as a context manager.
    """

    def __init__(self, host: Host, kernel: Any = None, seed: int = 0) -> None:
        if kernel is None:
            import dpor._kernel as kernel
        self._host = host
        self._kernel = kernel
        self._mode = Mode(host)
        self._patches = PatchSet()
        self._clock = Clock(self._mode)
        self._randomness = Randomness(self._mode, seed)
        self._threads = ThreadWatch(self._mode)
        self._import_time_objects = ImportTimeObjects(self._mode)
        self._levels = LoggerLevels(kernel.RLock)
        self.outside = Outside(self._mode)
        self.module_locks = ModuleLocks(self.outside.world, self.outside.refuse_written_module)
        self._watcher = ImportWatcher(
            self._mode,
            {
                "asyncio": self._patch_asyncio,
                "concurrent.futures.thread": self._patch_pools,
                "datetime": self._patch_datetime,
                "logging": lambda module: self._levels.patch(self._patches, module),
                "multiprocessing.process": self._patch_processes,
                "multiprocessing.synchronize": self._patch_semaphores,
                "_queue": self._patch_simple_queue,
                "_threading_local": self._patch_local,
                "uuid": self._patch_uuid,
                **self.outside.on_import(self._patches),
            },
            self._module_imported,
        )
        self.task_order = TaskOrder.LOOP
        self.cancellations = 0
        self.turns = False
        # What stands in for functions that make locks.
        self._makers: dict[Callable[..., Any], Callable[..., Any]] = {}
        # What programs have in place of the classes of the kernel's primitives.
        self._classes: dict[type, object] = {}
        self._begin: list[Callable[[], None]] = []
        self._imported: list[Callable[[ModuleType], None]] = []
        self._simple_queue: object = None
        self.main_thread = MainThread()

    # For the checker

    def install(self) -> None:
        """Replace everything; `uninstall` puts it back."""
        uncontrolled.install_audit_hook()
        self._patches.replace(builtins, "id", self._host.id)
        self._patch_threading()
        self._patch_thread_module()
        self._patch_importlib()
        self._patch_time()
        self._patch_randomness()
        patch_caches(self._patches, self._mode)
        patch_slot_names(self._patches)
        queues = PrimitiveQueues(self._kernel)
        patch_queues(self._patches, queues.open)
        queues.install(self._patches)
        uncontrolled.patch_blocking_calls(self._patches)
        self.outside.install(self._patches)
        futures = sys.modules[concurrent.futures.Future.__module__]
        patch_futures(self._patches, self._mode, futures, self._kernel)
        self._watcher.install()

    def uninstall(self) -> None:
        """Put everything back as it was."""
        self._watcher.uninstall()
        self.outside.uninstall()
        self._patches.undo()
        self._begin.clear()
        self._imported.clear()

    def __enter__(self) -> Self:
        self.install()
        return self

    def __exit__(self, *exception: object) -> None:
        self.uninstall()

    def when_beginning(self, action: Callable[[], None]) -> None:
        """Have `action` called whenever an execution begins, until `uninstall`."""
        self._begin.append(action)

    def when_imported(self, action: Callable[[ModuleType], None]) -> None:
        """Have `action` called with each module of the standard library that is imported, until `uninstall`."""
        self._imported.append(action)

    def stand_ins(self) -> dict[type, Callable[[Any], object]]:
        """What makes a controlled lock or thread-local data, of the real one in whose place it is to stand, by type."""
        return {
            type(thread.real_allocate_lock()): lambda _: self._kernel.Lock(),
            type(thread.real_reentrant_lock()): lambda _: self._kernel.RLock(),
            RealLocal: like,
        }

    def importing(self) -> Importing:
        """While this lasts, this thread imports modules of the model, whose locks are the model's."""
        self.outside.before_import()
        return self._mode.importing()

    def asleep(self) -> Asleep:
        """While this lasts, hooks go straight through: what runs is the checker's."""
        return self._mode.asleep()

    def importing_unseen(self, module: str) -> ImportingUnseen:
        """While this lasts, this thread runs the body of a module that nobody looks into."""
        return self._mode.importing_unseen(module)

    def begin(self) -> None:
        """Make the runtime's state fresh; called in the main model thread when an execution begins."""
        # Functions of the library that this uses may be instrumented: it is no part of the execution.
        with self.asleep():
            execution = self.main_thread.begin()
            execution.task_order = self.task_order
            execution.cancellations = Cancellations(self.cancellations)
            self._threads.begin()
            self._randomness.begin()
            self._import_time_objects.begin()
            self.outside.begin()
            self.module_locks.begin()
            for action in self._begin:
                action()
        execution = self.main_thread.dpor_execution
        if execution is not None and self.main_thread.dpor_listed:
            self._host.created(execution.threads)

    def end(self) -> None:
        """Look for what an execution has left behind; called in the main model thread when it ends."""
        execution = self.main_thread.dpor_execution
        self._threads.end()
        if execution is not None:
            finish_pools(execution)
            execution.raise_failures(self.main_thread)
        self.main_thread.dpor_finished = True

    def run(self, function: Callable[[], object]) -> None:
        """What the kernel runs as the main model thread: `function` between `begin` and `end`."""
        self.begin()
        try:
            Context().run(function)
        except BaseException as error:
            if not self._was_cancelled(error):
                raise
        self.end()

    def _was_cancelled(self, error: BaseException) -> bool:
        """Whether a cancellation that the model has not asked for has come to its end, as it may."""
        execution = self.main_thread.dpor_execution
        if execution is None or not execution.cancellations.made:
            return False
        return isinstance(error, sys.modules["asyncio"].CancelledError)

    # The replacements

    def _module_imported(self, module: ModuleType) -> None:
        self.outside.imported(self._patches, module)
        for action in self._imported:
            action(module)

    def _patch_threading(self) -> None:
        patches, mode, kernel = self._patches, self._mode, self._kernel
        for name in _PRIMITIVES:
            real = getattr(threading, name)
            patches.replace(threading, name, self._factory(getattr(kernel, name), real))
        for name, value in (
            ("Thread", thread.Thread),
            ("_MainThread", MainThread),
            ("Timer", Timer),
            ("Barrier", Barrier),
            ("local", local),
            ("current_thread", thread_functions.current_thread),
            ("main_thread", thread_functions.main_thread),
            ("enumerate", thread_functions.enumerate_threads),
            ("active_count", thread_functions.active_count),
            ("get_ident", thread_functions.get_ident),
            ("get_native_id", thread_functions.get_native_id),
            ("_counter", thread_functions.next_number),
        ):
            patches.replace(threading, name, value)
        names = vars(threading)
        for name in ("_CRLock", "_RLock", "_PyRLock"):
            real: Any = names.get(name)
            if real is not None:
                patches.replace(threading, name, Factory(mode.makes_primitives, kernel.RLock, real))
        # Behind the classes that were imported before: their instances would wait or run outside of all control.
        patches.replace(threading, "_allocate_lock", self._guarded(thread.real_allocate_lock))
        for name, known in (("_active", known_threads.active()), ("_limbo", known_threads.limbo())):
            patches.replace(threading, name, known)
        self._host.use_barriers(Barrier)
        patches.replace(threading, "_DummyThread", bare_threads.DummyThread)
        self._patch_excepthook(threading.__excepthook__)
        simple_queue = self._factory(kernel.SimpleQueue, queue.SimpleQueue)
        self._simple_queue = simple_queue
        patches.replace(queue, "SimpleQueue", simple_queue)

    def _patch_excepthook(self, real: Callable[[Any], object]) -> None:
        """Have the number of a thread without an object be that of the model."""

        def excepthook(args: Any, /) -> None:
            if self._host.active and isinstance(args, threading.ExceptHookArgs) and args.thread is None:
                named = types.SimpleNamespace(name=str(thread_functions.get_ident()))
                args = threading.ExceptHookArgs((*args[:3], named))
            real(args)

        for module, name in (
            (threading, "excepthook"),
            (threading, "__excepthook__"),
            (_thread, "_excepthook"),
        ):
            if vars(module).get(name) is real:
                self._patches.replace(module, name, excepthook)

    def _factory(self, controlled: type, real: Callable[..., Any]) -> Callable[..., Any]:
        if not isinstance(real, type):
            return self._makers.setdefault(real, maker(self._mode.makes_primitives, controlled, real))
        factory = Factory(self._mode.makes_primitives, controlled, real)
        self._classes[controlled] = factory
        self._host.use_stand_in_classes(self._classes)
        return factory

    def _guarded(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            report("uses a threading object of a module that was imported before the check began")
            return real(*args, **kwargs)

        return call

    def _refused_at_import(self, real: Callable[..., Any]) -> Callable[..., Any]:
        guarded = self._guarded(real)

        def start(*args: Any, **kwargs: Any) -> Any:
            if self._mode.is_importing and not self._host.active:
                raise DporError(
                    Code.UNCONTROLLED,
                    "a thread is started while the model's modules are imported",
                    "start threads inside the model",
                )
            if self._mode.makes_primitives() and not self._host.active:
                what = "starts a thread in the import of a package that is not instrumented"
                self._host.end_uncontrolled(uncontrolled.with_calls(what))
            return guarded(*args, **kwargs)

        return start

    def _patch_thread_module(self) -> None:
        patches, mode, kernel = self._patches, self._mode, self._kernel
        allocate = self._factory(kernel.Lock, thread.real_allocate_lock)
        for name in ("allocate_lock", "allocate"):
            patches.replace_if_present(_thread, name, allocate)
        reentrant = self._factory(kernel.RLock, _thread.RLock)
        patches.replace(_thread, "RLock", reentrant)
        patches.replace_if_present(functools, "RLock", reentrant)
        patches.replace(_thread, "_local", local)
        patches.replace(_thread, "_count", thread_functions.count)
        patches.replace(_thread, "get_ident", thread_functions.get_ident)
        patches.replace(reprlib, "get_ident", thread_functions.get_ident)
        self._patch_starts()
        if not isinstance(thread.real_lock, type):
            lock_class = type(thread.real_allocate_lock())
            self._classes[kernel.Lock] = ClassWithoutCalls(mode.makes_primitives, kernel.Lock, lock_class)
            self._host.use_stand_in_classes(self._classes)

        patches.replace(_thread, "interrupt_main", self._interrupting(vars(_thread)["interrupt_main"]))

    def _interrupting(self, real: Callable[..., None]) -> Callable[..., None]:
        """The main thread may interrupt itself, which happens at once; nobody else can come in the middle of it."""

        def interrupt_main(*args: Any) -> None:
            if self._host.active and self._host.current_index() != self.main_thread.dpor_index:
                report("interrupts the main thread from another one (_thread.interrupt_main)")
            real(*args)

        return interrupt_main

    def _patch_starts(self) -> None:
        patches = self._patches
        start = self._start_new_thread(_thread.start_new_thread)
        for name in ("start_new_thread", "start_new"):
            patches.replace_if_present(_thread, name, start)
        patches.replace_if_present(threading, "_start_new_thread", start)
        joinable: Any = vars(_thread).get("start_joinable_thread")
        if joinable is not None:
            start = self._start_joinable_thread(joinable)
            for module, prefix in ((_thread, ""), (threading, "_")):
                patches.replace(module, f"{prefix}start_joinable_thread", start)
            for module in (_thread, threading):
                patches.replace(module, "_ThreadHandle", bare_threads.ThreadHandle)
        self.main_thread.dpor_starter = vars(threading)[thread.STARTER]

    def _start_new_thread(self, real: Callable[..., int]) -> Callable[..., int]:
        guarded = self._refused_at_import(real)

        def start_new_thread(function: Any, args: Any, kwargs: Any = None, /) -> int:
            if self._host.active:
                return bare_threads.start_new_thread(function, args, kwargs)
            return guarded(function, args) if kwargs is None else guarded(function, args, kwargs)

        return start_new_thread

    def _start_joinable_thread(self, real: Callable[..., Any]) -> Callable[..., Any]:
        guarded = self._refused_at_import(real)

        def start_joinable_thread(function: Any, handle: Any = None, daemon: bool = True) -> Any:
            if self._host.active:
                return bare_threads.start_joinable_thread(function, handle, daemon)
            return guarded(function, handle, daemon)

        return start_joinable_thread

    def _patch_importlib(self) -> None:
        """Keep the import system on real locks: it runs between two operations of one thread."""
        bootstrap: Any = sys.modules["_frozen_importlib"]
        real = types.SimpleNamespace(**vars(_thread))
        real.allocate_lock = thread.real_allocate_lock
        real.RLock = thread.real_reentrant_lock
        real.get_ident = thread_functions.real_get_ident
        self._patches.replace(bootstrap, "_thread", real)
        self.module_locks.patch(self._patches)

    def _patch_time(self) -> None:
        table = self._clock.replacements()
        deadlines = self._clock.deadlines()
        for name, value in table.items():
            self._patches.replace(time, name, value)
        # Bound under other names when these modules were imported.
        self._patches.replace(queue, "time", deadlines)
        self._patches.replace(threading, "_time", deadlines)

    def _patch_randomness(self) -> None:
        self._randomness.patch(self._patches)
        urandom = self._randomness.urandom(os.urandom)
        self._patches.replace(os, "urandom", urandom)
        self._patches.replace(random, "_urandom", urandom)
        for name in ("cpu_count", "process_cpu_count"):
            if hasattr(os, name):
                self._patches.replace(os, name, self._processors(getattr(os, name)))

    def _processors(self, real: Callable[[], int | None]) -> Callable[[], int | None]:
        """The same number on every machine: the size of a pool by default depends on it."""

        def cpu_count() -> int | None:
            return _PROCESSORS if self._mode.controls() else real()

        return cpu_count

    def _patch_asyncio(self, module: ModuleType) -> None:
        import asyncio.locks
        import asyncio.queues

        from dpor.runtime.asyncio_patches import AsyncioPatches

        del module
        asyncio_patches = AsyncioPatches(self._patches, self._mode, self.outside.world, self.turns)
        asyncio_patches.install()
        for module, names in (
            (asyncio.locks, ("Lock", "Event", "Condition", "Semaphore", "BoundedSemaphore", "Barrier")),
            (asyncio.queues, ("Queue",)),
        ):
            for name in names:
                owner: type = getattr(module, name)
                if "__init__" in owner.__dict__:
                    self._import_time_objects.watch(self._patches, owner)
        self._begin.append(asyncio_patches.begin)

    def _patch_pools(self, module: ModuleType) -> None:
        patch_pools(self._patches, self._mode, module)
        PrimitivePools(self._kernel, module).install(self._patches)
        self._import_time_objects.watch(self._patches, vars(module)["ThreadPoolExecutor"])

    def _patch_datetime(self, module: ModuleType) -> None:
        from dpor.runtime.calendar import patch_calendar

        patch_calendar(self._patches, module, self._clock, self._mode)

    def _patch_uuid(self, module: ModuleType) -> None:
        self._patches.replace_if_present(module, "_generate_time_safe", None)
        self._patches.replace_if_present(module, "_UuidCreate", None)
        self._patches.replace(module, "getnode", lambda: 0x0200_0000_0001)
        self._begin.append(lambda: setattr(module, "_last_timestamp", None))

    def _patch_simple_queue(self, module: ModuleType) -> None:
        # A program may import a second copy of the module, whose queues are those of the check and raise what those do.
        self._patches.replace(module, "SimpleQueue", self._simple_queue)
        self._patches.replace(module, "Empty", queue.Empty)

    def _patch_local(self, module: ModuleType) -> None:
        self._patches.replace(module, "local", local)

    def _patch_processes(self, module: ModuleType) -> None:
        self._patch_method(module, "BaseProcess", "start", "starts a process (multiprocessing.Process)")

    def _patch_semaphores(self, module: ModuleType) -> None:
        self._patch_method(module, "SemLock", "__init__", "makes a lock between processes (multiprocessing)")

    def _patch_method(self, module: ModuleType, class_name: str, name: str, what: str) -> None:
        owner = getattr(module, class_name)
        real = getattr(owner, name)

        @functools.wraps(real)
        def method(*args: Any, **kwargs: Any) -> Any:
            report(what)
            return real(*args, **kwargs)

        self._patches.replace(owner, name, method)
