"""System calls as operations of the model: each is one event on what it accesses, which is said by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import AssumptionKind
from dpor.runtime.mode import Mode
from dpor.runtime.outside.asking import is_apart
from dpor.runtime.turn_events import note_access
from dpor.runtime.uncontrolled import with_calls


class Footprint(NamedTuple):
    """What a call reads and writes, by name; `entered` are folders of which one entry changes.

    `latent` is changed in a way that matters only to a call that depends on it: it is taken for read until such a call
    has raced with this one. `everything` says that it may change whatever there is.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    entered: tuple[str, ...] = ()
    latent: tuple[str, ...] = ()
    everything: bool = False

    def also(self, other: Footprint) -> Footprint:
        """What a call accesses that accesses this and the other."""
        return Footprint(
            self.reads + other.reads,
            self.writes + other.writes,
            self.entered + other.entered,
            self.latent + other.latent,
            self.everything or other.everything,
        )


class System(dict[str, object]):
    """What stands for all that is outside of the interpreter in what the kernel is told; it holds nothing."""


class World:
    """Makes system calls visible to the kernel."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self.system = System()
        self._calls = 0
        self._used = True
        self._assumed: list[str] = []

    def install(self) -> None:
        """Make the outside known to the host, before executions begin."""
        self.mode.host.created(self.system)

    def perform(self, label: str, footprint: Callable[[], Footprint]) -> None:
        """Let a call take place here: one operation on what `footprint()` says when its turn has come.

        `label` is what reports say. A predicate of wait_until that makes a system call ends the check with DPOR108.
        """
        host = self.mode.host
        names = self._asleep(footprint)
        if not host.active:
            return
        if host.probing:
            self.refuse(
                f"calls {label} in a predicate of wait_until, which looks at files or the environment"
            )
        # Another thread may have moved what a path leads to, up to the moment of the call.
        while host.outside(self.system, *names, label):
            now = self._asleep(footprint)
            if now == names:
                return
            names = now

    def _asleep(self, footprint: Callable[[], Footprint]) -> Footprint:
        """What `footprint()` says. The model does not see how often it is asked, though it uses instrumented code."""
        with self.mode.asleep():
            return footprint()

    def look(self, label: str, footprint: Footprint) -> None:
        """Let a call take place here that reads the same whenever its turn comes, and that a predicate may make."""
        host = self.mode.host
        if host.active:
            host.outside(self.system, *footprint, label)

    def controls(self) -> bool:
        """Whether the caller of a stand-in belongs to the model."""
        controls = self.mode.controls() and not is_apart()
        self._used |= controls
        return controls

    def was_used(self) -> bool:
        """Whether the model has called a stand-in since this was last asked."""
        used, self._used = self._used, False
        return used

    def begin(self) -> None:
        """An execution begins: what was assumed while modules were imported, it rests on too."""
        for subject in self._assumed:
            self.mode.host.assume(AssumptionKind.FIXED_WORLD.value, subject)

    def assume(self, subject: str) -> None:
        """The verdict rests on what something outside gives here and now."""
        if self.mode.host.active:
            self.mode.host.assume(AssumptionKind.FIXED_WORLD.value, subject)
        elif subject not in self._assumed:
            self._assumed.append(subject)

    def refuse(self, what: str) -> None:
        """End the check with DPOR108, because the model `what` (a verb phrase).

        Raises DporError while modules are imported.
        """
        host = self.mode.host
        before = host.sleep(False)
        try:
            if host.active:
                host.end_uncontrolled(with_calls(what))
                return
        finally:
            host.sleep(before)
        if self.mode.controls():
            raise DporError(
                Code.UNCONTROLLED,
                f"the model {what}",
                "keep it out of the model, or replace it with a stand-in",
            )

    def next_name(self, kind: str) -> str:
        """A name for something that the calling thread makes, the same in every execution that comes to it."""
        host = self.mode.host
        thread = host.current_thread() if host.active else None
        if thread is None:
            # No thread runs either while what an execution has left is let go.
            self._calls += 1
            return f"{kind} {self._calls} of the import"
        draws = thread.dpor_drawn()
        note_access(draws)
        draws.made += 1
        return f"{kind} {draws.made} of {host.thread_path(host.current_index())}"
