"""Turns of an event loop as events of the exploration: which of asyncio's objects a turn accesses.

The code of asyncio runs unseen, so its objects say themselves who reads and changes them. What happens in a turn of
the loop is one event, and the kernel collects its accesses (`threads/turns.rs` there). This file tells of futures,
locks, queues and their kin; `ready_queue.py` of what is ready, and of those that wait for several.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from dpor.runtime import current

if TYPE_CHECKING:
    from dpor._kernel import Host

# Methods and properties that change nothing that others can tell.
_LOOKS = frozenset(
    {
        "__repr__",
        "__str__",
        "at_eof",
        "broken",
        "cancelled",
        "cancelling",
        "done",
        "empty",
        "exception",
        "full",
        "get_name",
        "get_stack",
        "is_set",
        "locked",
        "maxsize",
        "n_waiting",
        "parties",
        "print_stack",
        "qsize",
        "result",
    }
)

_VALUES = frozenset({bool, bytes, float, int, str, type(None)})
# By the function and the identity of the object that it is bound to.
_COMPARED_BY_PARTS = frozenset({BuiltinFunctionType, FunctionType, MethodType})


def host_of_turns() -> Host | None:
    """The host, if what runs is part of a turn that is an event."""
    host = current.active_host()
    return host if host is not None and host.takes_turns() else None


def number_of(host: Host, owner: Any) -> int:
    """The number that the kernel knows an object of asyncio by."""
    number: int | None = getattr(owner, "dpor_number", None)
    if number is None:
        number = owner.dpor_number = host.turn_object()
    return number


def note_made(owner: Any) -> None:
    """Number an object of asyncio where it is made, so that it does not matter who uses it first."""
    host = current.current_host()
    if host is not None and (host.may_take_turns() or not host.active):
        number_of(host, owner)


def note_access(owner: Any, name: str | None = None) -> None:
    """The running turn uses an object by a method or property (any way if there is no name)."""
    host = host_of_turns()
    if host is not None:
        host.touch_object(number_of(host, owner), name not in _LOOKS)


def note_result(future: Any) -> None:
    """The running turn asks for the result of a future, or its exception: one that was cancelled gives that away."""
    host = host_of_turns()
    if host is not None:
        gives_away = getattr(future, "_cancelled_exc", None) is not None
        host.touch_object(number_of(host, future), gives_away)


def note_group(owner: Any) -> None:
    """The running turn changes whom `owner` waits for, or learns how they have ended."""
    host = host_of_turns()
    if host is not None:
        host.touch_group(number_of(host, owner))


def note_timer(number: int | None) -> None:
    """The running turn decides whether a timer, by its number, is ever over."""
    host = None if number is None else host_of_turns()
    if host is not None and number is not None:
        host.touch_timer(number)


def note_timer_seen(number: int | None) -> None:
    """The running turn asks whether a timer, by its number, will ever be over."""
    host = host_of_turns()
    if host is not None and number is not None:
        host.see_timer(number)


def is_value(item: Any) -> bool:
    """Whether who reads an object, or compares it with others of its class, sees nothing that changes, or tells of it
    by hooks.
    """
    if item.__class__ is tuple:
        return all(map(is_value, item))
    return item.__class__ in _VALUES or (
        isinstance(getattr(item.__class__, "__lt__", None), FunctionType) and has_seen_comparison(item)
    )


def has_seen_comparison(item: Any) -> bool:
    """Whether who compares an object for equality sees nothing that changes, or tells of it by hooks."""
    kind: Any = item.__class__
    return kind in _COMPARED_BY_PARTS or kind.__eq__ is object.__eq__ or isinstance(kind.__eq__, FunctionType)


def leave_turns() -> None:
    """The model does what no access tells: turns cannot be events."""
    host = current.active_host()
    if host is not None:
        host.leave_turns()


class Unseen:
    """Coroutines of asyncio's objects that have not ended.

    Their code runs unseen, and not only where somebody calls it, but in whatever turn they go on. So a turn is found to
    have used the object of each that is not where it was before.
    """

    def __init__(self) -> None:
        self._known: list[tuple[Any, int | None, object, Callable[[], None]]] = []

    def add(self, coroutine: Any, note: Callable[[], None]) -> None:
        """A coroutine is made; `note` tells what it uses where it goes on."""
        self._known.append((coroutine, *_place(coroutine), note))

    def note_advanced(self) -> None:
        """A turn ends: tell of those that have gone on in it."""
        left: list[tuple[Any, int | None, object, Callable[[], None]]] = []
        for coroutine, instruction, awaited, note in self._known:
            now, awaits = _place(coroutine)
            if now != instruction or awaits is not awaited:
                note()
            if now is not None:
                left.append((coroutine, now, awaits, note))
        self._known = left


def _place(coroutine: Any) -> tuple[int | None, object]:
    """Where a coroutine stands, and what it awaits; None for one that has ended."""
    frame = coroutine.cr_frame
    return (None, None) if frame is None else (frame.f_lasti, coroutine.cr_await)
