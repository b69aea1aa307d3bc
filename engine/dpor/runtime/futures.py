"""`concurrent.futures.Future` in a model, and as a primitive of the kernel: each operation is one step.

The class stays the library's. What a future has in place of its lock, its state and its waiters is one object of the
kernel. The methods make their step on that, and then have the library's code do what it does in that state. A future is
closed as long as nobody looks inside: code that uses the lock, the state or the waiters runs on the library's own code,
and so do waits with a time limit for several futures. This is learned like all that an exploration rests on.

That nothing is lost: the library's methods are sections of the future's lock. Each reads the state and changes it at
most once, and calls what it calls (callbacks) after the section.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# What is replaced is private to the classes.

from __future__ import annotations

import concurrent.futures
import functools
import logging
import sys
from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, cast

from dpor.instrument.tracebacks import leave_out_own_frames
from dpor.results import AssumptionKind
from dpor.runtime import current, timeouts
from dpor.runtime.mode import Mode
from dpor.runtime.patchset import PatchSet

if TYPE_CHECKING:
    from dpor._kernel import Completion

_KEY = "dpor_inside"
_PARTS = ("_condition", "_state", "_waiters", "_done_callbacks")
_KEPT = ("_result", "_exception")
_OVER = frozenset({"CANCELLED", "CANCELLED_AND_NOTIFIED", "FINISHED"})
_CANCELLED = frozenset({"CANCELLED", "CANCELLED_AND_NOTIFIED"})


class _DropAborts(logging.Filter):
    """Drops the log records about executions that the explorer gave up."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], current.Abort))


class _Open:
    """The lock of a future for the library's code that runs after the step, while nobody else does."""

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *exception: object) -> None:
        return None


class Inside:
    """What stands for the inside of a future: `completion` is the kernel's, `callbacks` what is called when it is over.

    `shown` is the state that the library's code sees while it runs after a step, and None at other times; `calling`
    that it is about to call the callbacks.
    """

    __slots__ = ("callbacks", "calling", "completion", "shown")

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        self.callbacks: list[Callable[[Any], object]] = []
        self.shown: str | None = None
        self.calling = False


def inside_of(future: Any) -> Inside | None:
    """What stands for the inside of a future; None for one that runs on the library's own code."""
    try:
        return object.__getattribute__(future, "__dict__").get(_KEY)
    except AttributeError:
        return None


def note_look_inside() -> None:
    """Say so if it is code of the model that looks at, or changes, what the library's code keeps for itself, which runs
    unseen. To be called by what the attribute is read with.
    """
    host = current.active_host()
    if host is not None and host.is_instrumented(sys._getframe(2).f_globals):
        host.assume(AssumptionKind.UNSEEN_CODE.value, "concurrent.futures")


class PrimitiveFutures:
    """The methods that take the place of the library's for a check. `kernel` is the module of the primitives."""

    def __init__(self, kernel: Any, module: Any) -> None:
        self._kernel = kernel
        self._module = module
        self._future: type = module.Future
        self._library: dict[str, Any] = dict(self._future.__dict__)

    def install(self, patches: PatchSet) -> None:
        """Replace the methods, before anything else that is replaced of the class."""
        for name, method in self._methods().items():
            functools.update_wrapper(method, self._library[name])
            patches.replace(self._future, name, method)
        for name in _PARTS:
            patches.define(self._future, name, self._part(name))
        for name in _KEPT:
            patches.define(self._future, name, self._kept(name))
        patches.define(self._future, "__getstate__", self._state_of())
        # What `__dict__` shows is not what it is in Python: the kernel refuses to give it.
        patches.define(self._future, "__dpor_fields__", True)
        module = self._module
        for name, function in (
            ("wait", self._wait(module.wait)),
            ("as_completed", self._as_completed(module.as_completed)),
        ):
            functools.update_wrapper(function, getattr(module, name))
            patches.replace(module, name, function)
            patches.replace_if_present(concurrent.futures, name, function)

    def _methods(self) -> dict[str, Any]:
        library, make = self._library, self._kernel.Completion.make

        def init(self: Any) -> None:
            # A second call begins anew, with what waits for the first.
            inside = inside_of(self)
            if inside is not None:
                inside.completion.open()
            made = make()
            if made is None:
                library["__init__"](self)
                return
            self.__dict__[_KEY] = Inside(made)
            self.__dict__["_result"] = self.__dict__["_exception"] = None

        def asking(name: str) -> Callable[..., Any]:
            def ask(self: Any, timeout: Any = None) -> Any:
                inside = inside_of(self)
                if inside is None:
                    return library[name](self, timeout)
                if timeout is None or inside.completion.look(self, False) in _OVER:
                    inside.completion.wait(self)
                else:
                    _pass(timeout)
                    raise TimeoutError
                return _after(inside, library[name], self)

            return ask

        def looking(name: str, exactly: bool) -> Callable[..., Any]:
            def look(self: Any) -> Any:
                inside = inside_of(self)
                if inside is None:
                    return library[name](self)
                if inside.shown is None:
                    inside.completion.look(self, exactly)
                return _after(inside, library[name], self)

            return look

        def cancel(self: Any) -> bool:
            inside = inside_of(self)
            if inside is None:
                return library["cancel"](self)
            if inside.completion.cancel(self) != "PENDING":
                return _after(inside, library["cancel"], self)
            _call_back(inside, library, self)
            return True

        def ending(name: str, kept: str) -> Callable[..., None]:
            def end(self: Any, value: Any) -> None:
                inside = inside_of(self)
                if inside is None:
                    library[name](self, value)
                    return
                keep = functools.partial(self.__dict__.__setitem__, kept, value)
                if inside.completion.finish(self, keep) in _OVER:
                    _after(inside, library[name], self, value)
                    return
                _call_back(inside, library, self)

            return end

        def set_running_or_notify_cancel(self: Any) -> bool:
            inside = inside_of(self)
            if inside is None:
                return library["set_running_or_notify_cancel"](self)
            found = inside.completion.begin(self)
            if found in ("PENDING", "CANCELLED"):
                return found == "PENDING"
            return _after(inside, library["set_running_or_notify_cancel"], self)

        def add_done_callback(self: Any, fn: Callable[[Any], object]) -> None:
            inside = inside_of(self)
            if inside is None:
                library["add_done_callback"](self, fn)
            elif inside.completion.add_callback(self):
                inside.callbacks.append(fn)
            else:
                _call_at_once(inside, library, self, fn)

        return {
            "__init__": init,
            "__repr__": looking("__repr__", True),
            "result": asking("result"),
            "exception": asking("exception"),
            "done": looking("done", False),
            "cancelled": looking("cancelled", False),
            "running": looking("running", True),
            "cancel": cancel,
            "set_result": ending("set_result", "_result"),
            "set_exception": ending("set_exception", "_exception"),
            "set_running_or_notify_cancel": set_running_or_notify_cancel,
            "add_done_callback": add_done_callback,
        }

    def _part(self, name: str) -> property:
        """A part that only the library's own code has, but for what that code sees after a step."""

        def read(future: Any) -> Any:
            inside = inside_of(future)
            if inside is not None:
                if name == "_done_callbacks" and inside.calling:
                    inside.calling = False
                    return inside.callbacks
                if inside.shown is not None:
                    if name == "_state":
                        return inside.shown
                    if name == "_condition":
                        return _Open()
                inside.completion.open()
            note_look_inside()
            return _stored(future, name)

        return property(read, self._writing(name))

    @staticmethod
    def _writing(name: str) -> Callable[[Any, Any], None]:
        def write(future: Any, value: Any) -> None:
            inside = inside_of(future)
            if inside is not None:
                inside.completion.open()
            note_look_inside()
            future.__dict__[name] = value

        return write

    def _kept(self, name: str) -> property:
        """What the future has ended with, which is there once it has."""

        def read(future: Any) -> Any:
            inside = inside_of(future)
            if inside is None:
                note_look_inside()
            elif inside.shown is None:
                inside.completion.look(future, False)
            return _stored(future, name)

        return property(read, self._writing(name))

    def _state_of(self) -> Callable[[Any], Any]:
        def state_of(self: Any) -> Any:
            inside = inside_of(self)
            if inside is not None:
                inside.completion.open()
            host = current.active_host()
            if host is not None:
                host.assume(AssumptionKind.UNSEEN_CODE.value, "concurrent.futures")
            return dict(self.__dict__)

        return state_of

    def _insides(self, futures: Iterable[Any]) -> list[Inside] | None:
        """Those of the futures; None if one runs on the library's own code."""
        found = [inside_of(future) for future in futures]
        return None if None in found else cast("list[Inside]", found)

    def _wait(self, library: Any) -> Any:
        def wait(fs: Any, timeout: Any = None, return_when: Any = self._module.ALL_COMPLETED) -> Any:
            futures = current.controlled(set)(fs)
            insides = self._insides(futures)
            module = self._module
            if insides is None or timeout is not None or return_when != module.ALL_COMPLETED:
                return library(futures, timeout, return_when)
            for future, inside in zip(futures, insides, strict=True):
                inside.completion.wait_settled(future)
            return module.DoneAndNotDoneFutures(futures, set())

        return wait

    def _as_completed(self, library: Any) -> Any:
        def as_completed(fs: Any, timeout: Any = None) -> Generator[Any]:
            futures = current.controlled(set)(fs)
            insides = self._insides(futures)
            if insides is None or timeout is not None:
                yield from library(futures, timeout)
                return
            ordered = list(futures)
            watch, settled = self._kernel.Watch.begin(ordered, [inside.completion for inside in insides])
            # As the library has them: those that are there in the order of the set, from its end.
            finished = list(
                {future for future, is_settled in zip(ordered, settled, strict=True) if is_settled}
            )
            left = len(ordered) - len(finished)
            while finished:
                yield finished.pop()
            for _ in range(left):
                yield ordered[watch.next(ordered)]

        return as_completed


def _pass(timeout: Any) -> None:
    """The time of a wait that found nothing passes."""
    host = current.active_host()
    seconds = timeouts.of_wait(timeout)
    if host is not None:
        host.advance_time(seconds)


def _after(inside: Inside, method: Callable[..., Any], future: Any, *args: Any) -> Any:
    """What the library's code does in the state that a step has found."""
    before, inside.shown = inside.shown, inside.completion.stage
    try:
        return method(future, *args)
    finally:
        inside.shown = before


def _call_back(inside: Inside, library: dict[str, Any], future: Any) -> None:
    inside.calling = True
    try:
        library["_invoke_callbacks"](future)
    finally:
        inside.calling = False


def _call_at_once(inside: Inside, library: dict[str, Any], future: Any, fn: Callable[[Any], object]) -> None:
    """Have the library's code call a callback of a future that is over, as it sees from the state."""

    def call(future: Any) -> object:
        inside.shown = None
        return fn(future)

    _after(inside, library["add_done_callback"], future, call)


def _stored(future: Any, name: str) -> Any:
    try:
        return future.__dict__[name]
    except KeyError:
        error = AttributeError(f"{type(future).__name__!r} object has no attribute {name!r}")
        error.name, error.obj = name, future
        raise error from None


def patch_futures(patches: PatchSet, mode: Mode, module: Any, kernel: Any) -> None:
    """Prepare `concurrent.futures._base` (the module given): futures in sets and sorted lists get a fixed order."""
    PrimitiveFutures(kernel, module).install(patches)

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
                if mode.host.active and error is self.__dict__.get("_exception"):
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
            leave_out_own_frames(exception)
        real_set_exception(self, exception)

    patches.define(module.Future, "dpor_retrieved", False)
    patches.replace(module.Future, "set_exception", set_exception)
    for name in ("result", "exception"):
        patches.replace(module.Future, name, asking(getattr(module.Future, name)))
    patches.define(module.Future, "__hash__", stable_hash)
    patches.define(module, "id", stable_hash)
    logger: logging.Logger = module.LOGGER
    patches.replace(logger, "filters", [*logger.filters, _DropAborts()])
