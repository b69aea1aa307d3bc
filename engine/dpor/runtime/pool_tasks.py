"""`ThreadPoolExecutor` without workers: each task is a thread of the model, until somebody asks which worker runs it.

The n-th task that is submitted begins when fewer than `max_workers` of those before it are left, in the order of
submission. While there are no more tasks than workers none waits for another, and nothing orders them. Where there are
more, each that ends gives its place to the next that waits.

Which worker runs a task is no event. It can be told from what belongs to a thread: its number and name, thread-local
data, context variables that a task leaves behind, a lock that it keeps, the event loop of the thread, an `initializer`.
A model that asks for one of these runs on the library's own code, which is learned like all that an exploration rests
on. So do pools that modules make, classes that override or look at the insides of a pool, `cancel_futures`, and
callbacks that end a worker.

That nothing is lost, for the library's code of Python 3.11: a worker that is idle is counted, and whoever submits a
task starts a worker unless one is counted or there are enough. So a task waits for no other while there are fewer than
`max_workers`, but for a worker that is about to take it. In Python 3.12 and 3.13 a worker can be counted twice, so that
one is missing: a pool of three or more may then run only two tasks at once. That shows only to a task that waits for
what another one does, and a model in which one does so with such a pool runs on the library's own code. So does every
model on later versions, whose code nobody has compared.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# What is replaced is private to the classes.

from __future__ import annotations

import functools
import sys
from contextvars import Context
from typing import Any, cast

from dpor.runtime import current
from dpor.runtime.futures import inside_of as inside_of_future
from dpor.runtime.futures import note_look_inside
from dpor.runtime.patchset import PatchSet
from dpor.runtime.thread import Thread

_KEY = "dpor_inside"
_PARTS = ("_work_queue", "_idle_semaphore", "_threads", "_broken", "_shutdown", "_shutdown_lock")
# What a class that derives from the pool's cannot have without seeing that the insides are others.
_SEEING = frozenset(
    {
        *_PARTS,
        "_adjust_thread_count",
        "_initializer_failed",
        "__setattr__",
        "__getattribute__",
        "__getattr__",
    }
)
_COUNTS_EXACTLY = sys.version_info < (3, 12)
_IS_KNOWN = sys.version_info < (3, 14)
_FEW = 2


class Inside:
    """What stands for the inside of a pool: `tasks` are the threads of the tasks, in the order of submission.

    `lock` is held by who submits a task or shuts the pool down. `taken` tells, for each task that has to wait, that it
    has begun, and `freed` holds the places that were given free.
    """

    __slots__ = ("freed", "is_shut_down", "lock", "taken", "tasks", "workers")

    def __init__(self, workers: int, kernel: Any) -> None:
        self.workers = workers
        self.lock = kernel.Lock()
        self.freed = kernel.TaskQueue.of_places(kernel.Completion.overflow(0))
        self.is_shut_down = False
        self.taken: list[Any] = []
        self.tasks: list[Thread] = []


class _Drawn:
    """What the library's constructor stores, before it is known where."""

    _counter: Any


class PrimitivePools:
    """The methods that take the place of the library's for a check. `kernel` is the module of the primitives."""

    def __init__(self, kernel: Any, module: Any) -> None:
        self._kernel = kernel
        self._module = module
        self._pool: type = module.ThreadPoolExecutor
        self._library: dict[str, Any] = dict(self._pool.__dict__)

    def install(self, patches: PatchSet) -> None:
        """Replace the methods, after all else that is replaced of the class."""
        if not _IS_KNOWN:
            return
        for name, method in self._methods().items():
            functools.update_wrapper(method, self._library[name])
            patches.replace(self._pool, name, method)
        for name in _PARTS:
            patches.define(self._pool, name, self._part(name))
        # What `__dict__` shows is not what it is in Python: the kernel refuses to give it.
        patches.define(self._pool, "__dpor_fields__", True)

    def _methods(self) -> dict[str, Any]:
        library = self._library

        def init(self_: Any, *args: Any, **kwargs: Any) -> None:
            if _inside_of(self_) is not None:
                self._open()
            made = self._made(self_, *args, **kwargs)
            if made is None:
                library["__init__"](self_, *args, **kwargs)
                return
            self_.__dict__.update(made)

        def submit(self_: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            inside = _inside_of(self_)
            if inside is None:
                return library["submit"](self_, fn, *args, **kwargs)
            with inside.lock:
                return self._submit(self_, inside, fn, args, kwargs)

        def shutdown(self_: Any, wait: Any = True, *, cancel_futures: Any = False) -> None:
            inside = _inside_of(self_)
            if inside is None:
                library["shutdown"](self_, wait, cancel_futures=cancel_futures)
                return
            self._shut_down(self_, inside, bool(wait), bool(cancel_futures))

        return {"__init__": init, "submit": submit, "shutdown": shutdown}

    def _made(self, owner: Any, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The attributes of a new pool; None for one that is to run on the library's own code."""
        kind = type(cast("object", owner))
        sees = any(
            not _SEEING.isdisjoint(base.__dict__) for base in kind.__mro__[: kind.__mro__.index(self._pool)]
        )
        if sees or not self._kernel.Completion.are_closed():
            return None
        drawn = _Drawn()
        drawn._counter = owner._counter
        # It checks the arguments, and raises what it raises.
        self._library["__init__"](drawn, *args, **kwargs)
        found = {name: value for name, value in vars(drawn).items() if name not in {*_PARTS, "_counter"}}
        if found["_initializer"] is not None or type(found["_max_workers"]) is not int:
            self._open()
        found[_KEY] = Inside(found["_max_workers"], self._kernel)
        return found

    def _open(self) -> None:
        """Something asks what only the library's own code can tell: explore again with that."""
        host = current.active_host()
        if host is not None:
            host.open_pools()

    def _submit(
        self, pool: Any, inside: Inside, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        host = current.active_host()
        if host is None:
            # Between executions: what is left of one that is over.
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        parent: Thread = host.current_thread()
        execution: Any = parent.dpor_execution
        if execution.main.dpor_listed:
            # Somebody asks which threads there are, maybe before the task is one.
            self._open()
        execution.has_pool_tasks = True
        if inside.is_shut_down:
            raise RuntimeError("cannot schedule new futures after shutdown")
        number = len(inside.tasks)
        waits = number - inside.workers
        if waits >= 0:
            self._kernel.Completion.overflow(waits + 1)
        future = self._module._base.Future()
        if inside_of_future(future) is None:
            self._open()
        item = self._module._WorkItem(future, current.controlled(fn), args, kwargs)
        if not inside.tasks:
            # In the order of their creation by a thread; the interleaving must not decide who is shut down first.
            parent.dpor_made += 1
            execution.open_pools.append((host.current_index(), parent.dpor_made, pool))
        if waits >= 0:
            inside.taken.append(self._kernel.Event())
        child = Thread.__new__(Thread)
        child.dpor_execution = execution
        child.dpor_made_inside = True
        child.dpor_task = True
        child._target = None
        child._args = ()
        child._kwargs = {}
        child._name = f"{pool._thread_name_prefix} task {number}"
        child._daemonic = False
        child._initialized = True
        inside.tasks.append(child)
        run = functools.partial(self._run, child, pool, inside, item, waits)
        child.dpor_index = host.spawn(child, run, False)
        execution.threads.append(child)
        return future

    def _run(self, thread: Thread, pool: Any, inside: Inside, item: Any, waits: int) -> None:
        """What the thread of a task does; `waits` is how many have waited before it, below zero if it need not wait."""
        context = Context()
        if waits >= 0:
            if waits > 0:
                inside.taken[waits - 1].wait()
            inside.freed.get(pool, True, None)
            inside.taken[waits].set()
        if inside.workers > _FEW and not _COUNTS_EXACTLY:
            self._kernel.Completion.must_not_wait()
        try:
            context.run(item.run)
        except current.Abort:
            raise
        except BaseException:
            # It ends a worker.
            self._open()
        host = current.active_host()
        if host is not None and (len(context) or thread.dpor_loops or host.held_locks()):
            self._open()
        if self._kernel.Completion.overflow(0):
            inside.freed.put(pool, None, True, None)
        execution = thread.dpor_execution
        assert execution is not None
        execution.raise_failures(thread)
        thread.dpor_finished = True

    def _shut_down(self, pool: Any, inside: Inside, wait: bool, cancel_futures: bool) -> None:
        host = current.active_host()
        if host is None:
            inside.is_shut_down = True
            return
        if cancel_futures:
            self._open()
        with inside.lock:
            inside.is_shut_down = True
        if not wait:
            return
        if any(task is host.current_thread() for task in inside.tasks):
            # A worker that would wait for itself, or for others: which, the library tells.
            self._open()
        for task in inside.tasks:
            if task.dpor_index is not None:
                host.join(task.dpor_index, False)

    def _part(self, name: str) -> property:
        def read(pool: Any) -> Any:
            if _inside_of(pool) is not None:
                self._open()
            note_look_inside()
            try:
                return pool.__dict__[name]
            except KeyError:
                error = AttributeError(f"{type(pool).__name__!r} object has no attribute {name!r}")
                error.name, error.obj = name, pool
                raise error from None

        def write(pool: Any, value: Any) -> None:
            if _inside_of(pool) is not None:
                self._open()
            note_look_inside()
            pool.__dict__[name] = value

        return property(read, write)


def _inside_of(pool: Any) -> Inside | None:
    return object.__getattribute__(pool, "__dict__").get(_KEY)
