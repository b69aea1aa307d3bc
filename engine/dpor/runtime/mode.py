"""Whether the code that is running belongs to a model: in an execution, or while the model's file is imported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING

from dpor.asleep import Asleep
from dpor.results import AssumptionKind

if TYPE_CHECKING:
    from dpor._kernel import Host

_real_get_ident = threading.get_ident
# Here, since to ask an enumeration would be a step of the execution.
_UNSEEN_CODE = AssumptionKind.UNSEEN_CODE.value


class Mode:
    """Answers `controls()` for one host; every replacement asks it before it leaves the real thing aside."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._importing: int | None = None
        self._importing_unseen: int | None = None
        self._suspended = 0

    def controls(self) -> bool:
        """True in a model thread, and in the thread that imports the model's modules while it does so."""
        if self._suspended:
            return False
        return self.host.active or self.is_importing

    def makes_primitives(self) -> bool:
        """Whether a lock, or what else threads wait for, that is made now is a controlled one: also where a package is
        imported that nobody looks into, since threads of the model meet there.
        """
        return self.controls() or (not self._suspended and self._importing_unseen == _real_get_ident())

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

    def asleep(self) -> Asleep:
        """While this lasts, hooks go straight through: what runs is no part of an execution."""
        return Asleep(self.host)

    def importing(self) -> Importing:
        """While this lasts, this thread imports model modules: what they make is the model's."""
        return Importing(self)

    def importing_unseen(self, module: str) -> ImportingUnseen:
        """While this lasts, this thread runs the body of a module of a package that nobody looks into."""
        return ImportingUnseen(self, module)

    def import_unseen_by(self, thread: int | None) -> int | None:
        """Have a thread, or none, run the body of such a module for the model. Returns which did so far."""
        before, self._importing_unseen = self._importing_unseen, thread
        self.host.set_importing_unseen(thread is not None)
        return before

    def import_by(self, thread: int | None, imported: bool) -> tuple[int | None, bool]:
        """Have a thread, or none, import the model's modules; `imported` is for the kernel. Returns what was so far."""
        before, self._importing = self._importing, thread
        return before, self.host.set_importing(imported)


class Importing:
    """A context in which a thread imports the model's modules. It is no generator: see `Asleep`."""

    __slots__ = ("_before", "_mode")

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._before: tuple[int | None, bool] = (None, False)

    def __enter__(self) -> None:
        self._before = self._mode.import_by(_real_get_ident(), True)

    def __exit__(self, *exception: object) -> None:
        self._mode.import_by(*self._before)


class ImportingUnseen:
    """A context in which a module is imported that nobody looks into. It is no generator: see `Asleep`.

    Its body is no part of an execution, which is noted if one imports it. What it makes that threads wait for is the
    model's if the model imports it.
    """

    __slots__ = ("_asleep", "_before", "_mode", "_module")

    def __init__(self, mode: Mode, module: str) -> None:
        self._mode = mode
        self._module = module
        self._asleep = mode.asleep()
        self._before: int | None = None

    def __enter__(self) -> None:
        mode = self._mode
        if mode.host.active and not mode.is_importing:
            mode.host.assume(_UNSEEN_CODE, self._module.partition(".")[0])
        thread = _real_get_ident() if mode.makes_primitives() else None
        self._before = mode.import_unseen_by(thread)
        self._asleep.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._asleep.__exit__(*exception)
        self._mode.import_unseen_by(self._before)
