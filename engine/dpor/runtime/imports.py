"""Acting on a module as soon as it has been imported, so that no later `from ... import` misses the change.

The standard library's modules are imported with real locks even in the middle of a model: they stay imported when the
check is over.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any

from dpor.runtime.mode import Mode


class ImportWatcher(importlib.abc.MetaPathFinder):
    """Calls `actions[name](module)`: now for modules that are imported already, else after each import of one.

    Before that it calls `first` with each module of the standard library that is imported while it watches.
    """

    def __init__(
        self,
        mode: Mode,
        actions: Mapping[str, Callable[[ModuleType], None]],
        first: Callable[[ModuleType], None],
    ) -> None:
        self._mode = mode
        self._first = first
        self._actions = actions
        self._looking: set[str] = set()

    def install(self) -> None:
        """Run the actions that can run now and wait for the other modules."""
        for name, action in self._actions.items():
            module = sys.modules.get(name)
            if module is not None:
                action(module)
        sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Stop watching."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the module with the other finders and have its loader report back."""
        host = self._mode.host
        if host.active and host.takes_turns() and not _is_asked_by_asyncio():
            # What to load it changes nobody tells.
            host.leave_turns()
        if fullname in self._looking or fullname.partition(".")[0] not in sys.stdlib_module_names:
            return None
        self._looking.add(fullname)
        try:
            spec = self._find_elsewhere(fullname, path, target)
        finally:
            self._looking.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _ReportingLoader(spec.loader, self._mode, self._imported)
        return spec

    def _imported(self, module: ModuleType) -> None:
        self._first(module)
        self._actions.get(module.__name__, _nothing)(module)

    def _find_elsewhere(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None:
                spec = find(fullname, path, target)
                if spec is not None:
                    return spec
        return None


def _is_asked_by_asyncio() -> bool:
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in ("dpor", "importlib"):
            return module.startswith("asyncio.")
        frame = frame.f_back
    return False


def _nothing(module: ModuleType) -> None:
    pass


class _ReportingLoader(importlib.abc.Loader):
    """Loads as another loader does, then acts on the module."""

    def __init__(self, loader: Any, mode: Mode, action: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._mode = mode
        self._action = action

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        with self._mode.suspended(), self._mode.asleep():
            self._loader.exec_module(module)
        self._action(module)
