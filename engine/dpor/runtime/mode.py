"""Whether the code that is running belongs to a model: in an execution, or while the model's file is imported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpor._kernel import Host

_real_get_ident = threading.get_ident


class Mode:
    """Answers `controls()` for one host; every replacement asks it before it leaves the real thing aside."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._importing: int | None = None
        self._suspended = 0

    def controls(self) -> bool:
        """True in a model thread, and in the thread that imports the model's modules while it does so."""
        if self._suspended:
            return False
        return self.host.active or self.is_importing

    @property
    def is_importing(self) -> bool:
        """True in the thread that imports the model's modules, while it does so."""
        return self._importing is not None and self._importing == _real_get_ident()

    @contextlib.contextmanager
    def suspended(self) -> Generator[None]:
        """While this lasts, real things are made: a module of the standard library outlives the check."""
        self._suspended += 1
        try:
            yield
        finally:
            self._suspended -= 1

    @contextlib.contextmanager
    def asleep(self) -> Generator[None]:
        """While this lasts, hooks go straight through: what runs is no part of an execution."""
        slept = self.host.sleep(True)
        try:
            yield
        finally:
            self.host.sleep(slept)

    @contextlib.contextmanager
    def importing(self) -> Generator[None]:
        """While this lasts, this thread imports model modules: what they make is the model's."""
        previous, self._importing = self._importing, _real_get_ident()
        imported = self.host.set_importing(True)
        try:
            yield
        finally:
            self._importing = previous
            self.host.set_importing(imported)
