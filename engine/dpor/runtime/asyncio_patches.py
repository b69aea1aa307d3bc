"""Letting asyncio run inside a model: which loop, task and future classes it uses, and what "running" means.

asyncio's C parts keep the running loop and the current task per operating system thread; the model threads share one,
so the pure-Python parts stand in for them while a check lasts.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import asyncio.futures
import asyncio.runners
import asyncio.tasks
import functools
import inspect
import itertools
import signal
import sys
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any, cast

from dpor.runtime import current
from dpor.runtime.asyncio_objects import alike, gathering_future, patch_classes
from dpor.runtime.event_loop import EventLoop
from dpor.runtime.loop_policies import LoopPolicies
from dpor.runtime.mode import Mode
from dpor.runtime.outside.world import World
from dpor.runtime.patchset import PatchSet
from dpor.runtime.tasks import ModelFuture, ModelTask
from dpor.runtime.thread_bound import note_use

_TASK_SETS = ("_all_tasks", "_scheduled_tasks", "_eager_tasks")


class AsyncioPatches:
    """The replacements in the asyncio package, for one check; `turns` says that turns of loops may be events."""

    def __init__(self, patches: PatchSet, mode: Mode, world: World, turns: bool) -> None:
        self._patches = patches
        self._turns = turns
        self._mode = mode
        self._policies = LoopPolicies(patches, mode, world)

    def install(self) -> None:
        """Put the replacements in place."""
        events: Any = asyncio.events
        tasks: Any = asyncio.tasks
        futures: Any = asyncio.futures
        self._everywhere(events, "_get_running_loop", self._get_running_loop(events._get_running_loop))
        self._everywhere(events, "_set_running_loop", self._set_running_loop(events._set_running_loop))
        for name in ("get_running_loop", "get_event_loop", "_get_event_loop"):
            python: Any = getattr(events, "_py_" + name, None)
            if python is not None:
                self._in_place_of_native(events, name, python)
                self._everywhere(events, name, python)
        self._policies.install()
        for name in (
            "_register_task",
            "_register_eager_task",
            "_unregister_task",
            "_unregister_eager_task",
            "_enter_task",
            "_leave_task",
            "_swap_current_task",
        ):
            python = getattr(tasks, "_py" + name, None)
            if python is not None:
                self._in_place_of_native(tasks, name, python)
                self._everywhere(tasks, name, python)
        if hasattr(tasks, "_py_current_task"):
            self._in_place_of_native(tasks, "current_task", tasks._py_current_task)
            self._everywhere(tasks, "current_task", tasks._py_current_task)
        all_tasks = self._noting_loop(getattr(tasks, "_py_all_tasks", tasks.all_tasks))
        self._in_place_of_native(tasks, "all_tasks", all_tasks)
        self._everywhere(tasks, "all_tasks", all_tasks)
        for name in _TASK_SETS:
            self._patches.replace_if_present(tasks, name, getattr(tasks, name, None))
        patch_classes(self._patches, self._turns)
        condition: Any = asyncio.locks.Condition
        self._patches.replace(condition, "wait_for", self._wait_for(condition.wait_for))
        self._everywhere(tasks, "as_completed", self._as_completed(tasks.as_completed))
        if self._turns:
            self._everywhere(tasks, "wait", self._reading_items(tasks.wait))
            # From Python 3.13 on it is a function inside the other.
            name = "_wrap_awaitable" if hasattr(tasks, "_wrap_awaitable") else "ensure_future"
            self._everywhere(tasks, name, self._noting_wrapped(getattr(tasks, name)))
        self._everywhere(tasks, "wait_for", self._noting_awaited(tasks.wait_for))
        self._everywhere(tasks, "Task", ModelTask)
        if hasattr(tasks, "eager_task_factory"):
            # The library's one makes tasks of the class in C.
            self._everywhere(tasks, "eager_task_factory", tasks.create_eager_task_factory(ModelTask))
        self._everywhere(futures, "Future", ModelFuture)
        self._patches.replace(
            tasks, "_GatheringFuture", gathering_future(tasks._GatheringFuture, ModelFuture)
        )
        self._in_place_of_native(tasks, "Task", ModelTask)
        self._in_place_of_native(futures, "Future", ModelFuture)
        self._patches.replace(
            asyncio.runners,
            "signal",
            SimpleNamespace(
                SIGINT=signal.SIGINT,
                default_int_handler=signal.default_int_handler,
                getsignal=self._getsignal,
                signal=signal.signal,
            ),
        )

    def begin(self) -> None:
        """Start the numbering of tasks afresh for an execution, and forget the tasks of the last one.

        Those have the same hashes: left in a set until the garbage collector comes, they would slow it down.
        """
        self._policies.begin()
        setattr(asyncio.tasks, "_task_name_counter", self._task_counter())  # noqa: B010 -- private there
        with self._mode.asleep():
            for name in _TASK_SETS:
                if hasattr(asyncio.tasks, name):
                    setattr(asyncio.tasks, name, type(getattr(asyncio.tasks, name))())

    def _task_counter(self) -> Callable[[], int]:
        host = self._mode.host
        # Loops that are not the model's run tasks too while a check lasts.
        real = itertools.count(1).__next__

        def next_number() -> int:
            return host.current_thread().dpor_execution.numbers.tasks.next(host) if host.active else real()

        return next_number

    def _everywhere(self, module: Any, name: str, value: Any) -> None:
        """Replace a name in the module that defines it and where the package exports it."""
        self._patches.replace(module, name, value)
        self._patches.replace_if_present(asyncio, name, value)

    def _in_place_of_native(self, module: Any, name: str, value: Any) -> None:
        """Replace what programs find of the module in C: it knows the loops and tasks of the system's threads."""
        native = sys.modules.get("_asyncio")
        written_in_c = vars(native).get(name) if native is not None else None
        if written_in_c is None:
            return
        self._patches.replace(native, name, value)
        # The library keeps it under this and another name, such as `_CTask` and `_c_register_task`.
        names = cast("dict[str, Any]", vars(module))
        for kept in [kept for kept, known in names.items() if known is written_in_c]:
            self._patches.replace(module, kept, value)

    def _get_running_loop(self, real: Callable[[], Any]) -> Callable[[], Any]:
        host = self._mode.host

        def get_running_loop() -> Any:
            return host.current_thread().dpor_running_loop if host.active else real()

        return get_running_loop

    def _set_running_loop(self, real: Callable[[Any], None]) -> Callable[[Any], None]:
        host = self._mode.host

        def set_running_loop(loop: Any, /) -> None:
            if host.active:
                host.current_thread().dpor_running_loop = loop
            else:
                real(loop)

        return set_running_loop

    def _noting_loop(self, real: Callable[[Any], Any]) -> Callable[..., Any]:
        host = self._mode.host

        @functools.wraps(real)
        def ask(loop: Any = None) -> Any:
            asked = asyncio._get_running_loop() if loop is None else loop
            if host.active and isinstance(asked, EventLoop):
                asked.note_tasks()
            if host.active and isinstance(loop, EventLoop) and loop.dpor_execution.threads:
                note_use(loop)
            return real(loop)

        return ask

    def _as_completed(self, real: Callable[..., Any]) -> Callable[..., Any]:
        host = self._mode.host

        def in_order(fs: Any) -> Any:
            self._note_items(fs)
            # The library puts coroutines into a set, whose order depends on where they lie in memory.
            if host.active and not (asyncio.isfuture(fs) or asyncio.iscoroutine(fs)):
                return [asyncio.ensure_future(awaitable) for awaitable in dict.fromkeys(fs)]
            return fs

        def as_completed(fs: Any, *, timeout: float | None = None) -> Any:
            return real(in_order(fs), timeout=timeout)

        def generate_as_completed(fs: Any, *, timeout: float | None = None) -> Any:
            # Before Python 3.13 nothing happens until somebody asks for the first one.
            yield from real(in_order(fs), timeout=timeout)

        generates = inspect.isgeneratorfunction(real)
        return functools.wraps(real)(generate_as_completed if generates else as_completed)

    def _reading_items(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """For a function of which the coroutine reads the items of what it is given when it begins."""

        @functools.wraps(real)
        async def wait(
            fs: Any, *, timeout: float | None = None, return_when: str = asyncio.ALL_COMPLETED
        ) -> Any:
            self._note_items(fs)
            return await real(fs, timeout=timeout, return_when=return_when)

        return wait

    def _note_items(self, container: Any) -> None:
        host = self._mode.host
        if host.active and host.takes_turns() and isinstance(container, Collection):
            host.callee(list)(container)

    def _noting_wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """For what makes a coroutine that awaits an object, unless it is one."""
        host = self._mode.host

        @functools.wraps(real)
        def wrap(awaitable: Any, **options: Any) -> Any:
            if host.active and not asyncio.isfuture(awaitable) and not asyncio.iscoroutine(awaitable):
                host.note_started(awaitable, None)
            return real(awaitable, **options)

        return alike(wrap, real)

    def _noting_awaited(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """For a function of which the coroutines await what it is given."""
        host = self._mode.host

        @functools.wraps(real)
        def wait_for(fut: Any, timeout: float | None) -> Any:
            # Before Python 3.12 it makes a task of a coroutine for which there is a limit.
            makes_task = sys.version_info < (3, 12) and timeout is not None
            if host.active and not (makes_task and asyncio.iscoroutine(fut)):
                host.note_started(fut, None)
            return real(fut, timeout)

        return alike(wait_for, real)

    def _wait_for(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        async def wait_for(condition: Any, predicate: Callable[[], Any]) -> Any:
            return await real(condition, current.controlled(predicate))

        return wait_for

    def _getsignal(self, number: int) -> Any:
        """asyncio.run replaces Python's handler of SIGINT where it finds it; a model must not."""
        return None if self._mode.host.active else signal.getsignal(number)
