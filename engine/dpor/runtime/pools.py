"""Letting concurrent.futures run inside a model: its code is the standard library's own.

What is replaced is the state that the modules keep for the process as a whole, because it would carry over from one
execution to the next, and what depends on where objects lie in memory.
"""

from __future__ import annotations

import functools
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
            execution: Execution = mode.host.current_thread().dpor_execution
            return execution.numbers.pools.next(mode.host)

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
        if isinstance(error := future.__dict__["_exception"], AssertionError):
            raise error
        if host is not None:
            host.assume(AssumptionKind.LOST_EXCEPTION.value, type(error).__name__)
