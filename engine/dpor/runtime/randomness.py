"""Deterministic randomness inside a model: every thread, and every task, draws from generators of its own.

A generator that all threads shared would order all draws, and for nothing: what is drawn is arbitrary. Once the model
has seeded the module's generator itself, what is drawn is not: then the threads share it, and the order of draws is
explored.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from types import MethodType
from typing import Any

from dpor.results import AssumptionKind
from dpor.runtime.draws import Source
from dpor.runtime.identifiers import ident_of
from dpor.runtime.mode import Mode
from dpor.runtime.patchset import PatchSet
from dpor.runtime.thread import Thread
from dpor.runtime.turn_events import note_access

# What os.urandom is seeded with, beside the thread, so that it does not repeat what random gives.
_ENTROPY = 0x5EED
_SEEDED = "seeded generator"
_REPLACING = ("seed", "setstate")


class Randomness:
    """Replaces what random, os.urandom, secrets and uuid draw from."""

    def __init__(self, mode: Mode, seed: int) -> None:
        self._mode = mode
        self._seed = seed
        self._drawn_at_import = random.Random(seed)
        self._entropy_at_import = random.Random(seed ^ _ENTROPY)
        # Where the seeded generator of the running execution is; a dict, because looking there is an operation.
        self._places: dict[str, random.Random | None] = {_SEEDED: None}
        self._seeded_at_import = False

    def patch(self, patches: PatchSet) -> None:
        """Put the replacements in place."""
        self._mode.host.created(self._places)
        for name in random.__all__:
            real = getattr(random, name)
            if getattr(real, "__self__", None) is not None:
                patches.replace(random, name, self._dispatching(name, real))
        patches.replace(random.Random, "seed", self._seeding(random.Random.seed))

    def begin(self) -> None:
        """Start an execution: with the generator that the model's modules seeded, if they did."""
        shared: random.Random | None = None
        if self._seeded_at_import:
            shared = random.Random(0)
            shared.setstate(self._drawn_at_import.getstate())
        self._places[_SEEDED] = shared

    def urandom(self, real: Callable[[int], bytes]) -> Callable[[int], bytes]:
        """What stands in for os.urandom."""

        def urandom(size: int, /) -> bytes:
            if not self._mode.controls():
                return real(size)
            self._drawn("os.urandom")
            return self._entropy().randbytes(size)

        return urandom

    def _dispatching(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            if not self._mode.controls():
                return real(*args, **kwargs)
            host = self._mode.host
            if not host.active:
                self._seeded_at_import |= name in _REPLACING
                return getattr(self._drawn_at_import, name)(*args, **kwargs)
            if name in _REPLACING:
                generator = random.Random(0)
                getattr(generator, name)(*args, **kwargs)
                host.store_item(generator, self._places, _SEEDED)
                return None
            shared = host.load_item(self._places, _SEEDED)
            if shared is None:
                self._drawn(f"random.{name}")
                return getattr(self._of_thread(Source.SHARED), name)(*args, **kwargs)
            return host.method(shared, name)(*args, **kwargs)

        if not isinstance(real, MethodType):
            return draw

        def method(owner: random.Random, *args: Any, **kwargs: Any) -> Any:
            del owner
            return draw(*args, **kwargs)

        function: Any = real.__func__
        functools.update_wrapper(method, function)
        return MethodType(method, real.__self__)

    def _seeding(self, real: Callable[..., None]) -> Callable[..., None]:
        def seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
            if a is None and self._mode.controls():
                self._drawn("random.Random without a seed")
                a = self._entropy().getrandbits(64)
            host = self._mode.host
            (host.callee(real) if host.active else real)(generator, a, version)

        return seed

    def _drawn(self, what: str) -> None:
        """Note that the model draws a value that others could stand for: no iteration that does so only looks."""
        host = self._mode.host
        if host.active:
            host.had_effect(f"draws with {what}")
            host.assume(AssumptionKind.DRAWN_VALUE.value, what)

    def _entropy(self) -> random.Random:
        return self._of_thread(Source.ENTROPY) if self._mode.host.active else self._entropy_at_import

    def _of_thread(self, source: Source) -> random.Random:
        thread: Thread = self._mode.host.current_thread()
        draws = thread.dpor_drawn()
        task: int = getattr(thread.dpor_running_loop, "dpor_activity", 0)
        if task == 0:
            note_access(draws)
        generator = draws.generators.get((source, task))
        if generator is None:
            seed = self._seed if source is Source.SHARED else self._seed ^ _ENTROPY
            seed = (seed * 1_000_003 + ident_of(thread)) * 1_000_003 + task
            generator = draws.generators[source, task] = random.Random(seed)
        return generator
