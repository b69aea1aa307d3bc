"""A small stand-in for the kernel, in Python: every interleaving, no reduction.

It implements what the runtime layer uses of the contract, so that the layer is tested on its own.
"""

from __future__ import annotations

import collections
import queue
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import greenlet

from dpor.options import TaskOrder


class Abort(BaseException):
    pass


class Uncontrolled(BaseException):
    """What `Host.end_uncontrolled` ends the exploration with."""


@dataclass
class Outcome:
    """One explored execution: its result, or the exception that left a thread, or who is left waiting."""

    error: BaseException | None = None
    blocked: list[str] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)


class _Thread:
    def __init__(self, index: int, path: str, thread: Any, target: Callable[[], None]) -> None:
        self.index = index
        self.path = path
        self.thread = thread
        self.target = target
        self.children = 0
        self.clock = 0.0
        self.finished = False
        self.ready: Callable[[], bool] | None = None
        self.greenlet: Any = None


_installed: list[Host] = []


def current_host() -> Host | None:
    return _installed[-1] if _installed else None


def active_host() -> Host | None:
    host = current_host()
    return host if host is not None and host.active else None


class Host:
    id = staticmethod(id)

    def __init__(self) -> None:
        self.active = False
        self.execution = 0
        self.asleep = False
        self._threads: list[_Thread] = []
        self._current: _Thread | None = None
        self._prefix: list[int] = []
        self._choices: list[tuple[int, int]] = []
        self._outcome = Outcome()
        self._hub: Any = None
        self._steps = 0
        self._dice: random.Random | None = None

    def sleep(self, asleep: bool) -> bool:
        slept, self.asleep = self.asleep, asleep
        return slept

    @property
    def probing(self) -> bool:
        return False

    def outside(self, *touched: Any) -> bool:
        return False

    def mark_module_state(self) -> None:
        pass

    def install(self) -> None:
        _installed.append(self)

    def uninstall(self) -> None:
        _installed.remove(self)

    def __enter__(self) -> Host:
        self.install()
        return self

    def __exit__(self, *exception: object) -> None:
        self.uninstall()

    # Hooks: this kernel takes built-in code for invisible

    def set_importing(self, importing: bool) -> bool:
        return False

    def unpacked(self, value: Any, names: int | None, /) -> Any:
        return value

    def merged(self, value: Any, /) -> Any:
        return value

    def callee(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def created(self, value: Any) -> Any:
        return value

    def is_alone(self) -> bool:
        return True

    def next_thread(self) -> int:
        raise AssertionError("nothing is learned here")

    def is_held_by_another(self, lock: object) -> bool:
        return False

    def begin_anew(self) -> None:
        raise AssertionError("nothing is learned here")

    def keep(self, kept: Any, named: bool) -> None:
        pass

    def access_whole(self, container: Any, writes: bool, owner: object = None) -> None:
        pass

    def together(self, containers: Any, *, writes: bool) -> None:
        pass

    def load_attribute(self, owner: Any, name: str) -> Any:
        return getattr(owner, name)

    def store_attribute(self, value: Any, owner: Any, name: str) -> None:
        setattr(owner, name, value)

    def load_item(self, container: Any, key: Any) -> Any:
        return container[key]

    def store_item(self, value: Any, container: Any, key: Any) -> None:
        container[key] = value

    def delete_item(self, container: Any, key: Any) -> None:
        del container[key]

    def contains(self, item: Any, container: Any) -> bool:
        return item in container

    def method(self, owner: Any, name: str) -> Callable[..., Any]:
        return getattr(owner, name)

    # Exploration

    def explore(
        self, main: Any, function: Callable[[], None], samples: int = 0, limit: int = 20000
    ) -> list[Outcome]:
        """Run every execution, depth first, or `samples` random ones; raises Uncontrolled."""
        outcomes: list[Outcome] = []
        self._prefix = []
        if samples:
            self._dice = random.Random(0)
            for _ in range(samples):
                self._run(main, function)
                outcomes.append(self._outcome)
            self._dice = None
            return outcomes
        while True:
            self._run(main, function)
            outcomes.append(self._outcome)
            if len(outcomes) >= limit:
                raise AssertionError(f"more than {limit} executions")
            while self._choices and self._choices[-1][0] + 1 >= self._choices[-1][1]:
                self._choices.pop()
            if not self._choices:
                return outcomes
            self._prefix = [taken for taken, _ in self._choices]
            self._prefix[-1] += 1

    def _run(self, main: Any, function: Callable[[], None]) -> None:
        self.execution += 1
        self._choices = []
        self._outcome = Outcome()
        self._steps = 0
        self._hub = greenlet.getcurrent()
        self._threads = []
        self._add("main", main, function)
        self.active = True
        try:
            while self._outcome.error is None:
                enabled = [t for t in self._threads if not t.finished and (t.ready is None or t.ready())]
                if not enabled:
                    break
                thread = enabled[self._pick(len(enabled))]
                self._current = thread
                thread.greenlet.switch()
            self._outcome.blocked = [t.path for t in self._threads if not t.finished]
            for thread in self._threads:
                thread.finished = thread.finished or not thread.greenlet
                while not thread.finished:
                    self._current = thread
                    thread.greenlet.throw(Abort)
        finally:
            self.active = False
            self._outcome.choices = [taken for taken, _ in self._choices]
        if isinstance(self._outcome.error, Uncontrolled):
            raise self._outcome.error

    def _add(self, path: str, thread: Any, target: Callable[[], None]) -> _Thread:
        added = _Thread(len(self._threads), path, thread, target)

        def body() -> None:
            try:
                target()
            except Abort:
                pass
            except BaseException as error:
                if self._outcome.error is None:
                    self._outcome.error = error
            finally:
                added.finished = True

        added.greenlet = greenlet.greenlet(body, self._hub)
        self._threads.append(added)
        return added

    def _pick(self, count: int) -> int:
        if count == 1:
            return 0
        if self._dice is not None:
            return self._dice.choice(range(count))
        position = len(self._choices)
        taken = self._prefix[position] if position < len(self._prefix) else 0
        assert taken < count, "not deterministic"
        self._choices.append((taken, count))
        return taken

    def step(self, ready: Callable[[], bool] | None = None) -> None:
        """A visible operation is about to happen; returns when this thread may perform it."""
        if not self.active:
            assert ready is None or ready(), "would block outside of an execution"
            return
        self._steps += 1
        if self._steps > 2000:
            raise AssertionError("endless execution")
        thread = self._current
        assert thread is not None
        if sum(not t.finished for t in self._threads) == 1 and (ready is None or ready()):
            return
        thread.ready = ready
        self._hub.switch()
        thread.ready = None

    # Services

    def spawn(self, thread: object, target: Callable[[], None], daemon: bool) -> int:
        self.step()
        parent = self._current
        assert parent is not None
        child = self._add(f"{parent.path}.{parent.children}", thread, target)
        parent.children += 1
        child.clock = parent.clock
        return child.index

    def join(self, index: int, timed: bool) -> bool:
        target = self._threads[index]
        if timed:
            self.step()
            return target.finished or (not self._pick(2) and (self.step(lambda: target.finished) or True))
        self.step(lambda: target.finished)
        assert self._current is not None
        self._current.clock = max(self._current.clock, target.clock)
        return True

    def is_finished(self, index: int) -> bool:
        self.step()
        return self._threads[index].finished

    def held_locks(self) -> list[int]:
        return []

    def current_thread(self) -> Any:
        assert self._current is not None
        return self._current.thread

    def current_index(self) -> int:
        assert self._current is not None
        return self._current.index

    def do_not_count(self, calls: int) -> None:
        pass

    def uncounted_calls(self) -> int:
        return 0

    def recursion_limit(self) -> int:
        return sys.getrecursionlimit()

    def note_recursion_limit(self, limit: int) -> None:
        pass

    def thread_path(self, index: int) -> str:
        return self._threads[index].path

    def choose(self, count: int, describe: Callable[[int], object] | None = None) -> int:
        del describe
        return self._pick(count)

    def stop_unless(self, condition: bool) -> None:
        if not condition:
            self.step(lambda: False)

    def set_importing_unseen(self, importing: bool) -> bool:
        return importing

    def use_barriers(self, barriers: type) -> None:
        del barriers

    def meeting(self, parties: int) -> None:
        del parties

    def use_stand_in_classes(self, classes: dict[type, object]) -> None:
        pass

    def processor_time(self) -> float:
        return 0.0

    def assume(self, kind: str, subject: str) -> None:
        del kind, subject

    def had_effect(self, what: str) -> None:
        del what

    def outside_predicates(self, what: str) -> None:
        del what

    def raised(self, exception: BaseException) -> BaseException:
        return exception

    def wait_until(self, predicate: Callable[[], object]) -> None:
        self.step(lambda: bool(predicate()))

    def fence(self, order: str = "seq_cst") -> None:
        self.step()

    def advance_time(self, seconds: float) -> None:
        assert self._current is not None
        self._current.clock += seconds

    def time(self) -> float:
        assert self._current is not None
        return self._current.clock

    deadline_time = time

    def enter_lane(self, lane: int) -> None:
        pass

    def let_clock_jump(self) -> bool:
        return False

    def is_instrumented(self, namespace: dict[str, Any]) -> bool:
        return False

    def is_first_party(self, namespace: dict[str, Any]) -> bool:
        return False

    def may_take_turns(self) -> bool:
        return False

    def takes_turns(self) -> bool:
        return False

    def note_started(self, coroutine: object, task: int | None) -> None:
        pass

    def leave_turns(self) -> None:
        pass

    def fail(self, exception: BaseException) -> None:
        self._outcome.error = self._outcome.error or exception

    def end_uncontrolled(self, message: str) -> None:
        raise Uncontrolled(message)

    def timed_step(self, ready: Callable[[], bool], timeout: float | None) -> bool:
        """Block until `ready`; with a timeout (None for none) maybe give up. Returns whether `ready` held."""
        if timeout is None:
            self.step(ready)
            return True
        self.step()
        if ready():
            return True
        if self._pick(2):
            self.step(ready)
            return True
        self.advance_time(timeout + 1e-6)
        return False


def _host() -> Host:
    host = current_host()
    assert host is not None
    return host


class Lock:
    def __init__(self) -> None:
        self.owner: Any = None
        self.count = 0

    reentrant = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        host = _host()
        me = host.current_thread() if host.active else "outside"

        def free() -> bool:
            return self.owner is None or (self.reentrant and self.owner is me)

        if not blocking:
            host.step()
            if not free():
                return False
        elif not host.timed_step(free, None if timeout == -1 else timeout):
            return False
        self.owner = me
        self.count += 1
        return True

    def release(self) -> None:
        _host().step()
        if self.owner is None:
            raise RuntimeError("release unlocked lock")
        self.count -= 1
        if not self.count:
            self.owner = None

    def locked(self) -> bool:
        _host().step()
        return self.owner is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exception: object) -> None:
        self.release()


class RLock(Lock):
    reentrant = True

    def _is_owned(self) -> bool:
        return self.owner is _host().current_thread()


class Condition:
    def __init__(self, lock: Any = None) -> None:
        self.lock = RLock() if lock is None else lock
        self.acquire = self.lock.acquire
        self.release = self.lock.release
        self.waiters: collections.deque[list[bool]] = collections.deque()

    def __enter__(self) -> bool:
        return self.lock.__enter__()

    def __exit__(self, *exception: object) -> None:
        self.lock.__exit__()

    def wait(self, timeout: float | None = None) -> bool:
        woken = [False]
        self.waiters.append(woken)
        count, self.lock.count = self.lock.count, 1
        self.lock.release()
        notified = _host().timed_step(lambda: woken[0], timeout)
        if not notified and woken in self.waiters:
            self.waiters.remove(woken)
        self.lock.acquire()
        self.lock.count = count
        return notified

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        result = predicate()
        while not result:
            if not self.wait(timeout):
                return predicate()
            result = predicate()
        return result

    def notify(self, n: int = 1) -> None:
        for _ in range(min(n, len(self.waiters))):
            self.waiters.popleft()[0] = True

    def notify_all(self) -> None:
        self.notify(len(self.waiters))


class Semaphore:
    def __init__(self, value: int = 1) -> None:
        self.value = value

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        host = _host()
        if not blocking or timeout == 0:
            host.step()
            if not self.value:
                return False
        elif not host.timed_step(lambda: self.value > 0, timeout):
            return False
        self.value -= 1
        return True

    __enter__ = acquire

    def release(self, n: int = 1) -> None:
        _host().step()
        self.value += n

    def __exit__(self, *exception: object) -> None:
        self.release()


class BoundedSemaphore(Semaphore):
    pass


class Event:
    def __init__(self) -> None:
        self.flag = False

    def is_set(self) -> bool:
        _host().step()
        return self.flag

    def set(self) -> None:
        _host().step()
        self.flag = True

    def clear(self) -> None:
        _host().step()
        self.flag = False

    def wait(self, timeout: float | None = None) -> bool:
        return _host().timed_step(lambda: self.flag, timeout)


class TaskQueue:
    """Queues run on the library's own code here."""

    @staticmethod
    def make(capacity: int, last_first: bool) -> None:
        return None


class Completion:
    """Futures and pools run on the library's own code here."""

    @staticmethod
    def make() -> None:
        return None

    @staticmethod
    def are_closed() -> bool:
        return False


class SimpleQueue:
    def __init__(self) -> None:
        self.items: collections.deque[Any] = collections.deque()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        _host().step()
        self.items.append(item)

    put_nowait = put

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        host = _host()
        if not block:
            host.step()
            if not self.items:
                raise queue.Empty
        elif not host.timed_step(lambda: bool(self.items), timeout):
            raise queue.Empty
        return self.items.popleft()

    def get_nowait(self) -> Any:
        return self.get(False)

    def empty(self) -> bool:
        _host().step()
        return not self.items

    def qsize(self) -> int:
        _host().step()
        return len(self.items)


class Atomic:
    def __init__(self, initial: Any) -> None:
        self._value = initial

    def load(self, order: str = "seq_cst") -> Any:
        _host().step()
        return self._value

    def store(self, value: Any, order: str = "seq_cst") -> None:
        _host().step()
        self._value = value

    value = property(load, store)


class Explore(Protocol):
    """Explores a function: every execution, or as many random ones as asked."""

    def __call__(
        self, function: Callable[[], None], samples: int = 0, task_order: TaskOrder = TaskOrder.LOOP
    ) -> list[Outcome]: ...


def passes(outcomes: list[Outcome]) -> list[Outcome]:
    """Raise the first error that an execution ended with."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return outcomes
