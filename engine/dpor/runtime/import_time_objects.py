"""Objects of the standard library that a model's modules make when they are imported.

What their own code does to them is hidden from the kernel, which therefore cannot see that an execution has changed
them. They are put back to what they were when the modules had been imported.
"""

from __future__ import annotations

import collections
import copy
import functools
import weakref
from typing import Any

from dpor.runtime.mode import Mode
from dpor.runtime.patchset import PatchSet

_COPIED = (dict, list, set, collections.deque)


class ImportTimeObjects:
    """The instances of watched classes that were made while model modules were imported."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._made: list[weakref.ref[Any]] = []
        self._states: list[tuple[weakref.ref[Any], dict[str, Any]]] = []

    def watch(self, patches: PatchSet, owner: type) -> None:
        """Keep an eye on the instances of a class that has a constructor of its own."""
        real: Any = owner.__dict__["__init__"]

        @functools.wraps(real)
        def init(instance: Any, *args: Any, **kwargs: Any) -> None:
            real(instance, *args, **kwargs)
            if self._mode.controls() and not self._mode.host.active:
                self._made.append(weakref.ref(instance))

        patches.replace(owner, "__init__", init)

    def begin(self) -> None:
        """Put every instance back to its state at the end of the import."""
        while self._made:
            reference = self._made.pop()
            instance = reference()
            if instance is not None:
                self._states.append((reference, _copy(instance.__dict__)))
        for reference, state in self._states:
            instance = reference()
            if instance is not None:
                instance.__dict__.clear()
                instance.__dict__.update(_copy(state))


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {name: copy.copy(value) if type(value) in _COPIED else value for name, value in state.items()}
