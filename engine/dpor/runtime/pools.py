"""Letting concurrent.futures run inside a model: its code is the standard library's own.

What is replaced is the state that the modules keep for the process as a whole, because it would carry over from one
execution to the next, and what depends on where objects lie in memory.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from typing import Any

from dpor.results import AssumptionKind
from dpor.runtime import current
from dpor.runtime.execution import Execution
from dpor.runtime.mode import Mode
from dpor.runtime.patchset import PatchSet
from dpor.runtime.thread import Thread


class _OpenLock:
    """A lock that is always free: the interpreter never shuts down while a model runs, which is all it guards."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return True

    def release(self) -> None:
        return None

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *exception: object) -> None:
        return None


class _Forgetful:
    """A mapping that keeps nothing: at exit, the interpreter must not wait for a model's workers."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __setitem__(self, thread: Any, queue: Any) -> None:
        if not isinstance(thread, Thread) or thread.dpor_execution is None:
            self._real[thread] = queue

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._real.items()))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _DropAborts(logging.Filter):
    """Drops the log records about executions that the explorer gave up."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], current.Abort))


def patch_pools(patches: PatchSet, mode: Mode, module: Any) -> None:
    """Prepare `concurrent.futures.thread` (the module given) for a model."""
    real_lock = module._global_shutdown_lock

    class ShutdownLock(_OpenLock):
        def __enter__(self) -> bool:
            return True if mode.controls() else real_lock.__enter__()

        def __exit__(self, *exception: object) -> None:
            if not mode.controls():
                real_lock.release()

    patches.replace(module, "_global_shutdown_lock", ShutdownLock())
    patches.replace(module, "_threads_queues", _Forgetful(module._threads_queues))
    real_counter = module.ThreadPoolExecutor._counter

    class Counter:
        def __call__(self) -> int:
            if not mode.host.active:
                return real_counter()
            execution = mode.host.current_thread().dpor_execution
            execution.pools += 1
            return execution.pools - 1

    patches.replace(module.ThreadPoolExecutor, "_counter", Counter())
    real_submit = module.ThreadPoolExecutor.submit

    @functools.wraps(real_submit)
    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return real_submit(self, current.controlled(fn), *args, **kwargs)

    patches.replace(module.ThreadPoolExecutor, "submit", submit)
    real_worker = module._worker

    @functools.wraps(real_worker)
    def worker(executor: Any, *rest: Any) -> None:
        # Before Python 3.14: the queue, the initializer and its arguments.
        real_worker(executor, *(current.controlled(part) if callable(part) else part for part in rest))

    patches.replace(module, "_worker", worker)
    real_adjust = module.ThreadPoolExecutor._adjust_thread_count

    @functools.wraps(real_adjust)
    def adjust_thread_count(self: Any) -> None:
        if mode.host.active and not self._threads:
            thread: Thread = mode.host.current_thread()
            assert thread.dpor_execution is not None
            # In the order of their creation by a thread; the interleaving must not decide who is shut down first.
            thread.dpor_made += 1
            thread.dpor_execution.open_pools.append((mode.host.current_index(), thread.dpor_made, self))
        real_adjust(self)

    patches.replace(module.ThreadPoolExecutor, "_adjust_thread_count", adjust_thread_count)


def finish_pools(execution: Execution) -> None:
    """What happens to pools when the main thread ends: their workers finish what was submitted, then they end.

    An exception of a task that nobody has asked for is told of, and kept by the pool, as by a real one. Raises one that
    says that an assertion of the model does not hold.
    """
    for *_, pool in sorted(execution.open_pools):
        pool.shutdown(wait=True)
    host = current.active_host()
    for future in execution.failed_futures:
        if future.dpor_retrieved:
            continue
        if isinstance(future._exception, AssertionError):
            raise future._exception
        if host is not None:
            host.assume(AssumptionKind.LOST_EXCEPTION.value, type(future._exception).__name__)


def patch_futures(patches: PatchSet, mode: Mode, module: Any) -> None:
    """Prepare `concurrent.futures._base` (the module given): futures in sets and sorted lists get a fixed order."""

    def stable_hash(future: Any) -> int:
        known: int | None = future.__dict__.get("dpor_hash")
        if known is not None:
            return known
        number: int = object.__hash__(future)
        if mode.host.active:
            number = mode.host.current_thread().dpor_execution.next_hash()
        future.__dict__["dpor_hash"] = number
        return number

    def asking(real: Any) -> Any:
        @functools.wraps(real)
        def ask(self: Any, timeout: float | None = None) -> Any:
            self.dpor_retrieved = True
            try:
                return real(self, timeout)
            except BaseException as error:
                # It is raised anew for each who asks.
                if mode.host.active and error is self._exception:
                    mode.host.raised(error)
                raise

        return ask

    real_add_done_callback = module.Future.add_done_callback

    @functools.wraps(real_add_done_callback)
    def add_done_callback(self: Any, fn: Any) -> None:
        real_add_done_callback(self, current.controlled(fn))

    patches.replace(module.Future, "add_done_callback", add_done_callback)
    real_set_exception = module.Future.set_exception

    @functools.wraps(real_set_exception)
    def set_exception(self: Any, exception: Any) -> None:
        if mode.host.active and isinstance(exception, Exception):
            mode.host.current_thread().dpor_execution.failed_futures.append(self)
        real_set_exception(self, exception)

    patches.define(module.Future, "dpor_retrieved", False)
    patches.replace(module.Future, "set_exception", set_exception)
    for name in ("result", "exception"):
        patches.replace(module.Future, name, asking(getattr(module.Future, name)))
    patches.define(module.Future, "__hash__", stable_hash)
    patches.define(module, "id", stable_hash)
    logger: logging.Logger = module.LOGGER
    patches.replace(logger, "filters", [*logger.filters, _DropAborts()])
