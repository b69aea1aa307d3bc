"""`time.tzset` inside a model: the time zone of the process, which none of its executions leaves changed.

The environment of a model is not that of the process (`environment.py`), where C code looks for the zone: the variable
is handed on when the model asks for it. What tells local times afterwards is seen by no hook.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import FunctionType

from dpor.results import AssumptionKind
from dpor.runtime.outside.environment import Environment
from dpor.runtime.outside.real import system
from dpor.runtime.outside.remaining import NativeFunctions
from dpor.runtime.outside.world import Footprint, World

_VARIABLE = "TZ"
_ZONE = "the time zone"


class TimeZone:
    """The time zone of the running execution: the value of TZ that C code was told last, None for the system's own."""

    def __init__(self, world: World, environment: Environment) -> None:
        self._world = world
        self._environment = environment
        self._users: str | None = None
        self._base: str | None = None
        self._told: str | None = None
        # Windows has none.
        self._set: Callable[..., None] | None = getattr(time, "tzset", None)

    def install(self, native: NativeFunctions) -> None:
        """Put the stand-in in place, where the system has the function."""
        self._users = self._base = self._told = os.environ.get(_VARIABLE)
        if self._set is not None:
            native.add(self._set, self._stand_in(self._set))

    def keep(self) -> None:
        """Let every execution begin with what there is now."""
        self._base = self._told

    def forget(self) -> None:
        """Let every execution begin with the time zone of the process, and this one."""
        self._base = self._users
        self.reset()

    def reset(self) -> None:
        """Go back to what executions begin with."""
        if self._told != self._base:
            self._tell(self._base)

    def _stand_in(self, real: Callable[..., None]) -> FunctionType:
        def tzset(*args: object) -> None:
            if args or not self._world.controls():
                return real(*args)
            host = self._world.mode.host
            if host.active and not host.is_alone():
                host.assume(AssumptionKind.CHANGED_DEFINITION.value, _ZONE)
            footprint = self._environment.footprint_of(_VARIABLE).also(Footprint((), (_ZONE,)))
            self._world.perform("time.tzset()", lambda: footprint)
            return self._tell(self._environment.value_in_c(_VARIABLE))

        tzset.__doc__ = real.__doc__
        tzset.__module__ = real.__module__
        assert isinstance(tzset, FunctionType)
        return tzset

    def _tell(self, zone: str | None) -> None:
        if zone is None:
            system.unsetenv(_VARIABLE)
        else:
            system.putenv(_VARIABLE, zone)
        if self._set is not None:
            self._set()
        self._told = zone
