"""Which event loop a thread of a model has: asyncio's own policies, on loops and threads of the model."""

# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportDeprecated=false
# Policies are deprecated, and type stubs hide what they are made of.

from __future__ import annotations

import asyncio
import asyncio.events
import functools
import sys
from collections.abc import Callable
from typing import Any

from dpor.runtime.event_loop import EventLoop
from dpor.runtime.mode import Mode
from dpor.runtime.outside.world import Footprint, World
from dpor.runtime.patchset import PatchSet
from dpor.runtime.thread import LoopOfThread, Thread

_LOOPS = ("SelectorEventLoop", "ProactorEventLoop", "EventLoop")
_VARIABLE = "_event_loop_policy"
_POLICY = "the policy of event loops"


class LoopPolicies:
    """The policy of the running execution, and the loops that policies make."""

    def __init__(self, patches: PatchSet, mode: Mode, world: World) -> None:
        self._patches = patches
        self._mode = mode
        self._world = world
        # The policy that the model's modules have set when they were imported.
        self._imported: Any = None
        self._has_begun = False

    def install(self) -> None:
        """Put the replacements in place."""
        events: Any = asyncio.events
        self._patches.replace(events, _VARIABLE, None)
        loops: dict[Any, Any] = {}
        for name in _LOOPS:
            real: Any = getattr(asyncio, name, None)
            if real is not None and real not in loops:
                loops[real] = _model_loop(real, self._mode)
        for module in {asyncio, *(sys.modules[real.__module__] for real in loops)}:
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value in loops:
                    self._patches.replace(module, name, loops[value])
        local = _local(self._mode)
        for policy in _policies():
            if "_Local" in vars(policy):
                self._patches.replace(policy, "_Local", local)
            if vars(policy).get("_loop_factory") in loops:
                self._patches.replace(policy, "_loop_factory", loops[policy._loop_factory])
        reading, writing = Footprint(reads=(_POLICY,)), Footprint(writes=(_POLICY,))
        for name, footprint in (("get_event_loop_policy", reading), ("set_event_loop_policy", writing)):
            for known in (name, f"_{name}"):
                if hasattr(events, known):
                    visible = self._visible(getattr(events, known), footprint, f"asyncio.{name}")
                    self._patches.replace(events, known, visible)
                    self._patches.replace_if_present(asyncio, known, visible)

    def begin(self) -> None:
        """Start an execution with the policy that the model's modules have set."""
        events: Any = asyncio.events
        if not self._has_begun:
            self._imported = getattr(events, _VARIABLE)
            self._has_begun = True
        setattr(events, _VARIABLE, self._imported)

    def _visible(self, real: Callable[..., Any], footprint: Footprint, label: str) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(*args: Any) -> Any:
            if self._mode.host.active:
                self._world.look(label, footprint)
            return real(*args)

        return call


def _policies() -> list[Any]:
    """The classes of policies that asyncio has, from the most general one."""
    names = ("AbstractEventLoopPolicy", "_AbstractEventLoopPolicy")
    found: list[Any] = [
        next(getattr(asyncio.events, name) for name in names if hasattr(asyncio.events, name))
    ]
    for policy in found:
        found += [part for part in policy.__subclasses__() if part.__module__.startswith("asyncio.")]
    return found


def _local(mode: Mode) -> type:
    """What a policy keeps for each thread: its loop, and whether one was set."""

    class Local:
        def __init__(self) -> None:
            self._outside = LoopOfThread()

        def _of_thread(self) -> LoopOfThread:
            if not mode.host.active:
                return self._outside
            thread: Thread = mode.host.current_thread()
            if thread.dpor_loops is None:
                thread.dpor_loops = {}
            return thread.dpor_loops.setdefault(self, LoopOfThread())

        @property
        def _loop(self) -> Any:
            return self._of_thread().loop

        @_loop.setter
        def _loop(self, loop: Any) -> None:
            self._of_thread().loop = loop

        @property
        def _set_called(self) -> bool:
            return self._of_thread().set_called

        @_set_called.setter
        def _set_called(self, called: bool) -> None:
            self._of_thread().set_called = called

    return Local


def _model_loop(real: Any, mode: Mode) -> type:
    """A class of loops for models, which stands for one of asyncio's."""

    class ModelLoop(EventLoop):
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            # Whoever makes a loop outside of executions has no use for a model's.
            return super().__new__(cls) if mode.host.active else real(*args, **kwargs)

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(mode.host)

    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(ModelLoop, name, getattr(real, name))
    return ModelLoop
