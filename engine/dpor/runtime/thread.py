"""threading.Thread, Timer and the module's functions about threads, on model threads."""

# pyright: reportIncompatibleVariableOverride=false
# The stubs of threading.Thread declare as attributes what are properties.

from __future__ import annotations

import _thread
import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

from dpor.results import AssumptionKind
from dpor.runtime import current, timeouts, uncontrolled
from dpor.runtime.draws import Draws
from dpor.runtime.execution import Execution
from dpor.runtime.identifiers import MAIN, STARTING, ident_of, told_ident
from dpor.runtime.started_flag import StartedFlag
from dpor.runtime.unrun import PLAIN, unrun

if TYPE_CHECKING:
    from dpor._kernel import Host

RealThread = threading.Thread
real_lock: Any = threading.Lock
real_allocate_lock = _thread.allocate_lock
real_reentrant_lock = _thread.RLock

# The attributes of a thread that was never started, in this version of Python.
_KEPT = frozenset(vars(RealThread(name="never started")))

_STARTED = "started"

STARTER = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"
"""What `threading` starts its threads by, in this version of Python."""


def seen(owner: Any, name: str) -> Any:
    """An attribute of a thread, which other threads can change."""
    host = current.active_host()
    return getattr(owner, name) if host is None else host.load_attribute(owner, name)


def passed(args: Iterable[Any], kwargs: Mapping[str, Any]) -> tuple[Iterable[Any], Mapping[str, Any]]:
    """What a call with `*args` and `**kwargs` passes, which other threads may change until the call."""
    host = current.active_host()
    return (args, kwargs) if host is None else (host.unpacked(args, None), host.merged(kwargs))


def note_unrun(function: Callable[..., object], result: object) -> None:
    """Say so if what a thread called has only made a generator, which nobody runs: plain Python says nothing."""
    host = current.active_host()
    made = unrun(result)
    if host is not None and made is not None:
        name = getattr(function, "__qualname__", None) or type(function).__name__
        host.assume(AssumptionKind.UNRUN_GENERATOR.value, f"{name} ({made})")


@dataclass
class LoopOfThread:
    """The event loop of a thread under one policy, and whether one was set."""

    loop: Any = None
    set_called: bool = False


class _Signature:
    """What `inspect` tells of how a thread is made: `__new__` takes whatever `__init__` does."""

    def __get__(self, instance: object, owner: type) -> Any:
        import inspect

        return inspect.signature(RealThread) if owner.__init__ is Thread.__init__ else None


class _Kept:
    """What the standard library keeps for itself in a thread under a name, and a thread of a model does not need."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, thread: Thread | None, owner: type) -> Any:
        if thread is None:
            return self
        kept = vars(thread)
        return kept[self._name] if self._name in kept else thread.dpor_kept(self._name)

    def __set__(self, thread: Thread, value: object) -> None:
        vars(thread)[self._name] = value

    def __delete__(self, thread: Thread) -> None:
        if self._name not in vars(thread):
            raise AttributeError(self._name)
        del vars(thread)[self._name]


class Thread(RealThread):
    """A thread of the model if it is used inside an execution, an ordinary thread anywhere else.

    Same constructor, methods and errors as `threading.Thread`. Attributes that begin with `dpor_` belong to the
    runtime: `dpor_index` is the kernel's number of the thread (None before start), `dpor_execution` the execution
    that it was made or started in, `dpor_lane` what the thread is doing at the moment if it runs several
    activities (the name of an asyncio task), `dpor_children` what it has spawned with `dpor.spawn`.
    """

    # In slots, so that `vars(thread)` does not show them.
    __slots__ = (
        "dpor_children",
        "dpor_draws",
        "dpor_execution",
        "dpor_finished",
        "dpor_hash",
        "dpor_index",
        "dpor_lane",
        "dpor_loops",
        "dpor_made",
        "dpor_made_inside",
        "dpor_reserved",
        "dpor_running_loop",
        "dpor_started_by",
        "dpor_states",
        "dpor_task",
    )

    __signature__ = _Signature()

    # The kernel takes classes with this mark for the checker's own, whatever module they name.
    __dpor_own__ = True

    dpor_unmet = False
    """Whether `threading` does not know the thread, which was started without it."""

    dpor_index: int | None
    dpor_execution: Execution | None
    dpor_made_inside: bool
    dpor_finished: bool
    dpor_made: int
    dpor_hash: int | None
    dpor_lane: str | None
    dpor_children: list[Thread] | None
    # The index that it is going to have while it is being started, where a program asks which threads there are.
    dpor_reserved: int | None
    # None before it has drawn.
    dpor_draws: Draws | None
    # Whether it was started, and runs, for those who ask; None if only its starter knows the thread before it runs.
    dpor_states: dict[str, bool] | None
    # The index of the thread that has started it.
    dpor_started_by: int
    # Whether it stands for a task of a pool, and for whichever worker runs that.
    dpor_task: bool
    dpor_running_loop: Any
    # By what a policy keeps for all threads.
    dpor_loops: dict[object, LoopOfThread] | None

    _name: str
    _daemonic: bool
    _initialized: bool
    _target: Callable[..., object] | None
    _args: Iterable[Any]
    _kwargs: Mapping[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a thread that was not initialised; the arguments are for `__init__`."""
        self = object.__new__(cls)
        self.dpor_index = None
        self.dpor_execution = None
        self.dpor_made_inside = False
        self.dpor_finished = False
        self.dpor_made = 0
        self.dpor_hash = None
        self.dpor_lane = None
        self.dpor_children = None
        self.dpor_draws = None
        self.dpor_reserved = None
        self.dpor_states = None
        self.dpor_started_by = 0
        self.dpor_running_loop = None
        self.dpor_loops = None
        self.dpor_task = False
        return self

    def __init__(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        host = current.active_host()
        if host is None:
            super().__init__(group, target, name, args, kwargs, daemon=daemon)
            return
        assert group is None, "group argument must be None for now"
        host.outside_predicates("makes a thread")
        if self._initialized and not host.is_alone():
            host.end_uncontrolled(
                uncontrolled.with_calls("makes a threading.Thread anew while other threads run")
            )
        parent: Thread = host.current_thread()
        execution = parent.dpor_execution
        assert execution is not None
        self.dpor_execution = execution
        self.dpor_made_inside = True
        parent.dpor_made += 1
        self.dpor_hash = hash((parent.dpor_index, parent.dpor_made))
        self.dpor_states = {}
        host.created(self.dpor_states)
        self._target = target
        self._args = args
        self._kwargs = {} if kwargs is None else kwargs
        self._daemonic = parent._daemonic if daemon is None else daemon
        self._initialized = True
        # Programs put something else in the place of the counter.
        self._name = str(name) if name else execution.numbers.names.of(vars(threading)["_counter"](), target)

    def __hash__(self) -> int:
        """The same in every execution: executors keep their threads in sets and join them in that order."""
        if self.dpor_hash is not None:
            return self.dpor_hash
        return hash(self.dpor_index) if self.dpor_made_inside else super().__hash__()

    def start(self) -> None:
        """Start the thread; RuntimeError if it was started before."""
        host = current.active_host()
        if host is None:
            super().start()
            return
        if not self._initialized:
            raise RuntimeError("thread.__init__() not called")
        parent: Thread = host.current_thread()
        execution = parent.dpor_execution
        assert execution is not None
        states = self.dpor_states
        if states is not None:
            host.access_whole(states, True, self)
            if states:
                self.dpor_refuse_second_start(host)
            states[_STARTED] = False
        elif self.dpor_index is not None and self.dpor_execution is execution:
            self.dpor_refuse_second_start(host)
        self.dpor_execution = execution
        self.dpor_started_by = host.current_index()
        self.dpor_finished = False
        # Marked before the visible operation, at which another thread may try to start the same object.
        self.dpor_index = STARTING
        execution.add_thread(host, self)
        starter = vars(threading)[STARTER]
        if starter is execution.main.dpor_starter or self.dpor_unmet:
            self.dpor_begin(host)
        else:
            self.dpor_begin_by(host, execution, starter)
        if states is not None:
            host.access_whole(states, True, self)
            states[_STARTED] = True

    def dpor_refuse_second_start(self, host: Host) -> NoReturn:
        """The library looks whether it was started and starts it without a lock: of two threads both can do so."""
        starter = self.dpor_started_by
        if starter != host.current_index() and (starter == MAIN or not host.is_finished(starter)):
            host.assume(AssumptionKind.THREAD_UNSAFE.value, "threading.Thread")
        raise RuntimeError("threads can only be started once")

    def dpor_begin(self, host: Host) -> int:
        """Let a thread that is being started run; returns its identifier."""
        self.dpor_index = host.spawn(self, self.dpor_run, seen(self, "_daemonic"))
        return ident_of(self)

    def dpor_begin_by(self, host: Host, execution: Execution, starter: Callable[..., object]) -> None:
        """Have the thread started by a function that a program has put in the place of the library's."""
        if execution.main.dpor_listed and not host.is_alone():
            what = f"asks which threads there are and has them started by another function than {STARTER}"
            host.end_uncontrolled(uncontrolled.with_calls(what))
        call = current.controlled(starter)
        try:
            if STARTER == "_start_new_thread":
                call(self._bootstrap, ())
            else:
                call(self._bootstrap, handle=vars(threading)["_ThreadHandle"](), daemon=self.daemon)
        except Exception:
            execution.remove_thread(host, self)
            self.dpor_index = None
            if self.dpor_states is not None:
                host.access_whole(self.dpor_states, True, self)
                self.dpor_states.clear()
            raise
        if self.dpor_index == STARTING:
            host.end_uncontrolled(
                uncontrolled.with_calls(f"has a threading.Thread started by another function than {STARTER}")
            )

    def _bootstrap(self) -> None:
        """What the library's function that starts threads is given."""
        host = current.active_host()
        if host is not None:
            host.end_uncontrolled(uncontrolled.with_calls("runs a threading.Thread by itself (_bootstrap)"))
        super()._bootstrap()  # type: ignore[misc]

    def dpor_spawn(
        self,
        host: Host,
        function: Callable[..., object],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Thread:
        """What `dpor.spawn` does in this thread: the constructor and `start`, without what it does not need."""
        execution = self.dpor_execution
        assert execution is not None
        child = Thread.__new__(Thread)
        child.dpor_execution = execution
        child.dpor_made_inside = True
        child._target = function
        child._args = args
        child._kwargs = kwargs
        numbers = execution.numbers
        child._name = numbers.names.of(numbers.threads.next(host, self.dpor_index), function)
        child._daemonic = self._daemonic
        child._initialized = True
        child.dpor_index = STARTING
        execution.add_thread(host, child)
        child.dpor_index = host.spawn(child, child.dpor_run, self._daemonic)
        children = self.dpor_children
        if children is None:
            self.dpor_children = [child]
        else:
            children.append(child)
        return child

    def dpor_run(self) -> None:
        """What the model thread executes; an exception that leaves it is for the kernel to report."""
        execution = self.dpor_execution
        assert execution is not None
        try:
            with contextlib.suppress(SystemExit):
                # Kernels reuse greenlets, and with them their context; a thread begins with an empty one.
                run = self.run if self.dpor_states is None else seen(self, "run")
                result = Context().run(run)
                if result is not None and type(result) not in PLAIN:
                    note_unrun(run, result)
            execution.raise_failures(self)
        finally:
            self.dpor_finished = True

    def run(self) -> None:
        """Call the target with the arguments given to the constructor; subclasses may override it."""
        try:
            if self.dpor_states is None:
                # Of one that was spawned nobody else has what it was given.
                target, args, kwargs = self._target, self._args, self._kwargs
            else:
                target = seen(self, "_target")
                args, kwargs = self.dpor_passed(target is not None)
            if target is not None:
                host = current.active_host()
                result = (target if host is None else host.callee(target))(*args, **kwargs)
                if result is not None and type(result) not in PLAIN:
                    note_unrun(target, result)
        finally:
            # One that was made when its module was imported is started anew by every execution.
            if self.dpor_execution is None or self.dpor_made_inside:
                del self._target, self._args, self._kwargs

    def dpor_passed(self, used: bool) -> tuple[Iterable[Any], Mapping[str, Any]]:
        """What the target is called with, where there is one: other threads may change it until then."""
        return passed(seen(self, "_args"), seen(self, "_kwargs")) if used else ((), {})

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread ends; a timed wait may give up at any moment."""
        host = current.active_host()
        if host is None:
            if self.dpor_execution is None:
                super().join(timeout)
            return
        if not self._initialized:
            raise RuntimeError("Thread.__init__() not called")
        index = self.dpor_started_index(host)
        if index is None:
            raise RuntimeError("cannot join thread before it is started")
        if index == host.current_index():
            raise RuntimeError("cannot join current thread")
        if timeout is None:
            host.join(index, False)
        else:
            seconds = timeouts.of_wait(timeout)
            if not host.join(index, True):
                host.advance_time(seconds)

    def is_alive(self) -> bool:
        """Whether the thread was started and has not ended yet."""
        host = current.active_host()
        if host is None:
            return super().is_alive() if self.dpor_execution is None else False
        assert self._initialized, "Thread.__init__() not called"
        index = self.dpor_started_index(host)
        return index is not None and not host.is_finished(index)

    def dpor_started_index(self, host: Host) -> int | None:
        """The kernel's number of the thread if it was started in this execution."""
        states = self.dpor_states
        # A thread that runs was started, though whoever starts it may not have gone on yet: to itself it says the same.
        if states is not None and self is not host.current_thread():
            host.access_whole(states, False, self)
            if not states.get(_STARTED):
                return None
        index = self.dpor_index
        return None if index == STARTING or self.dpor_is_stale(host) else index

    def __deepcopy__(self, memo: object) -> Thread:
        """TypeError, as its locks cannot be copied; RuntimeError if it ends while its attributes are."""
        host = current.active_host()
        if host is not None and self.dpor_has_ended(host) != self.dpor_has_ended(host):
            raise RuntimeError("dictionary changed size during iteration")
        raise TypeError("cannot pickle '_thread.lock' object")

    def dpor_is_started(self) -> bool:
        """Whether the thread was started in this execution."""
        host = current.active_host()
        return (self.dpor_index if host is None else self.dpor_started_index(host)) is not None

    def dpor_has_ended(self, host: Host) -> bool:
        """Whether the thread was started in this execution and has ended."""
        index = self.dpor_started_index(host)
        return index is not None and host.is_finished(index)

    def dpor_drawn(self) -> Draws:
        """What the thread draws from."""
        draws = self.dpor_draws
        if draws is None:
            draws = self.dpor_draws = Draws()
        return draws

    def dpor_meet(self, host: Host) -> None:
        """`threading` comes to know the thread."""

    def dpor_is_known(self) -> bool:
        """Whether `threading` knows the thread, as long as it has not ended."""
        return True

    def dpor_is_listed(self, host: Host) -> bool:
        """Whether `threading` lists the thread, which it knows, as one that there is."""
        index = self.dpor_reserved if self.dpor_index == STARTING else self.dpor_index
        # While it is being started it is asked for like a thread that runs, as nobody else sees when it begins to.
        return index is None or not host.is_finished(index)

    def dpor_is_starting(self, host: Host) -> bool:
        """Whether the thread, which `threading` lists, is only being started."""
        return self.dpor_states is not None and self.dpor_started_index(host) is None

    def dpor_shows_end(self, host: Host | None, index: int) -> bool:
        """Whether a thread that was started shows as one that has ended."""
        return self.dpor_finished if host is None else host.is_finished(index)

    def dpor_is_stale(self, host: Host) -> bool:
        """Whether the thread was started in an execution that is over."""
        return self.dpor_execution is not host.current_thread().dpor_execution

    @property
    def name(self) -> str:
        """The thread's name, by default `Thread-N (target)`."""
        assert self._initialized, "Thread.__init__() not called"
        host = current.active_host()
        if host is not None and self.dpor_execution is not None:
            self.dpor_execution.numbers.threads.see(host)
        return seen(self, "_name")

    @name.setter
    def name(self, name: str) -> None:
        assert self._initialized, "Thread.__init__() not called"
        host = current.active_host()
        if host is None:
            self._name = str(name)
        else:
            host.store_attribute(str(name), self, "_name")

    @property
    def ident(self) -> int | None:
        """A number that no other thread of the execution has; None before the thread is started."""
        if self.dpor_execution is None:
            return super().ident
        host = current.active_host()
        index = self.dpor_index if host is None else self.dpor_started_index(host)
        return None if index is None or index == STARTING else told_ident(self)

    @property
    def native_id(self) -> int | None:
        """The same number as `ident`: a model thread is no thread of the operating system."""
        return super().native_id if self.dpor_execution is None else self.ident

    @property
    def daemon(self) -> bool:
        """Whether the program may end while this thread runs; RuntimeError if set after start."""
        assert self._initialized, "Thread.__init__() not called"
        return seen(self, "_daemonic")

    @daemon.setter
    def daemon(self, daemonic: bool) -> None:
        if self.dpor_execution is None:
            # The standard library's setter checks whether an ordinary thread runs.
            RealThread.daemon.fset(self, daemonic)  # type: ignore[attr-defined]
            return
        host = current.active_host()
        if (self.dpor_index if host is None else self.dpor_started_index(host)) is not None:
            raise RuntimeError("cannot set daemon status of active thread")
        if host is None:
            self._daemonic = daemonic
        else:
            host.store_attribute(daemonic, self, "_daemonic")

    def __repr__(self) -> str:
        if self.dpor_execution is None:
            return super().__repr__()
        host = current.active_host()
        index = self.dpor_index if host is None else self.dpor_started_index(host)
        status = "initial"
        if index is not None:
            status = "stopped" if self.dpor_shows_end(host, index) else "started"
        if self.daemon:
            status += " daemon"
        if index is not None:
            status += f" {ident_of(self)}"
        return f"<{type(self).__name__}({self.name}, {status})>"

    def dpor_kept(self, name: str) -> Any:
        """What an attribute of the standard library would be in a thread of a model."""
        if self.dpor_execution is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        host = current.active_host()
        index = self.dpor_index if host is None else self.dpor_started_index(host)
        if name in ("_ident", "_native_id"):
            return self.ident
        if name == "_started":
            return StartedFlag(self.dpor_is_started)
        if name == "_is_stopped":
            return index is not None and (self.dpor_finished if host is None else host.is_finished(index))
        if host is not None:
            host.end_uncontrolled(uncontrolled.with_calls(f"uses {name} of a threading.Thread"))
        raise AttributeError(f"a thread of a model has no {name}", name=name, obj=self)


# What no thread of a model has in its dict. Not a `__getattr__`, which would slow down each look at a thread.
for _name in _KEPT - {"_args", "_daemonic", "_initialized", "_kwargs", "_name", "_target"}:
    setattr(Thread, _name, _Kept(_name))


Thread.__module__ = RealThread.__module__
Thread.__name__ = Thread.__qualname__ = "Thread"


def known_thread(host: Host) -> Thread:
    """The calling thread, where it matters which it is: what runs a task of a pool only the library's code knows."""
    thread: Thread = host.current_thread()
    if thread.dpor_task:
        host.open_pools()
    return thread
