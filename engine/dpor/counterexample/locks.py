"""Who holds which lock while an execution is recorded."""

from __future__ import annotations

from typing import Any, cast

from dpor.counterexample.operations import Operation
from dpor.counterexample.values import class_module, class_name


class HeldLocks:
    """The locks of one thread, outermost first; a lock acquired twice by its owner is there twice."""

    def __init__(self) -> None:
        self._held: list[object] = []
        self._set_aside: list[object] = []
        self._just_woken = False

    def now(self) -> tuple[object, ...]:
        """The distinct locks that the thread holds, outermost first."""
        return tuple({id(lock_of(lock)): lock for lock in reversed(self._held)}.values())[::-1]

    def holds(self, lock: object) -> bool:
        """True if the thread holds `lock`, or the lock of `lock` if that is a condition."""
        return any(lock_of(held) is lock_of(lock) for held in self._held)

    def update(self, operation: Operation, target: object, value: object) -> None:
        """Take an operation of the thread into account."""
        just_woken, self._just_woken = self._just_woken, False
        if operation in (Operation.ACQUIRE, Operation.TRY_ACQUIRE):
            # A kernel may report the acquisition that ends a wait as a step of its own.
            if value is not False and not (just_woken and self.holds(target)):
                self._held.append(target)
        elif operation is Operation.RELEASE:
            self._release(target)
        elif operation is Operation.WAIT and class_name(target) == "Condition":
            aside = [held for held in self._held if lock_of(held) is lock_of(target)] or self._held[-1:]
            self._set_aside = aside
            self._held = [held for held in self._held if not any(held is other for other in aside)]
        elif operation is Operation.WAKE:
            self._held += self._set_aside
            self._just_woken = bool(self._set_aside)
            self._set_aside = []

    def _release(self, target: object) -> None:
        for position in range(len(self._held) - 1, -1, -1):
            if lock_of(self._held[position]) is lock_of(target):
                del self._held[position]
                return


def lock_of(target: object) -> object:
    """The lock behind a condition; any other object itself."""
    if class_name(target) == "Condition" and class_module(target) == "threading":
        return getattr(cast(Any, target), "_lock", target)
    return target
