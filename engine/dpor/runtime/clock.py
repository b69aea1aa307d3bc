"""The time module's clocks inside a model: virtual, deterministic, one for each thread.

A clock is moved by sleeping, by what others have seen of a sleep, and where `clock_jumps` lets time pass between two
looks: the kernel keeps it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dpor.results import AssumptionKind
from dpor.runtime import current, timeouts
from dpor.runtime.mode import Mode

if TYPE_CHECKING:
    from dpor._kernel import Host

# A real sleep lasts a little longer than asked, so that a deadline computed from it has passed for certain.
MARGIN = 1e-6

# Where each clock stands when an execution starts, in seconds. Large enough for `deadline - now` to be exact.
_EPOCH = 1_700_000_000.0
_MONOTONIC = 1_000_000.0
_PROCESS = 1.0

# Modules of the standard library that look at a clock for time limits alone, which may be over at any moment here.
_FOR_TIME_LIMITS = frozenset({"asyncio.base_events", "concurrent.futures._base", "queue", "threading"})

# Modules of the standard library that ask for the date and let nothing depend on it: records are shown with their time.
_ONLY_SHOWN = frozenset({"logging"})


def _module_of_caller() -> str:
    """The module that called the stand-in of a clock."""
    frame = sys._getframe(3)  # pyright: ignore[reportPrivateUsage]
    return frame.f_globals.get("__name__", "")


def look_at_clock(host: Host, asked: str) -> None:
    """Model code is about to look at the clock `asked`: time may pass first, and reports say what is not explored."""
    jumps = host.let_clock_jump()
    host.assume((AssumptionKind.CLOCK_JUMPS if jumps else AssumptionKind.FIXED_CLOCK).value, asked)


class Clock:
    """Replacements for the functions of the time module; outside a model each calls the real one."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    def replacements(self) -> Mapping[str, Callable[..., Any]]:
        """Name in the time module to what stands in for it."""
        table: dict[str, Callable[..., Any]] = {"sleep": self._sleep()}
        for name, start in (
            ("time", _EPOCH),
            ("monotonic", _MONOTONIC),
            ("perf_counter", _MONOTONIC),
        ):
            table[name] = self._seconds(getattr(time, name), start)
            table[name + "_ns"] = self._nanoseconds(getattr(time, name + "_ns"), start)
        for name in ("process_time", "thread_time"):
            table[name] = self._processor(getattr(time, name), None)
            table[name + "_ns"] = self._processor(getattr(time, name + "_ns"), 10**9)
        for name in ("localtime", "gmtime", "ctime"):
            table[name] = self._calendar(getattr(time, name))
        table["strftime"] = self._formatted(time.strftime)
        return table

    def now(self, start: float) -> float:
        """The current thread's clock, in seconds, if it stood at `start` when the execution began."""
        return start + (self._mode.host.time() if self._mode.host.active else 0.0)

    def epoch(self, asked: str) -> float:
        """What `time.time()` says inside the model, for `asked`, which tells the date."""
        self._tell_date(asked)
        return self.now(_EPOCH)

    def _tell_date(self, asked: str) -> None:
        """Note that the model was told the date, which is the same in every execution and on every day."""
        host = self._mode.host
        if host.active and _module_of_caller() not in _ONLY_SHOWN:
            host.let_clock_jump()
            host.assume(AssumptionKind.FIXED_WORLD.value, asked)

    def _tell_clock(self, asked: str) -> None:
        """Let time pass, and note that the model looked at a clock which moves no other way but by sleeps."""
        host = self._mode.host
        if host.active and _module_of_caller() not in _FOR_TIME_LIMITS:
            look_at_clock(host, asked)

    def _seconds(self, real: Callable[[], float], start: float) -> Callable[[], float]:
        name = f"time.{real.__name__}"

        def clock() -> float:
            if not self._mode.controls():
                return real()
            if start == _EPOCH:
                self._tell_date(name)
            else:
                self._tell_clock(name)
            return self.now(start)

        return clock

    def deadlines(self) -> Callable[[], float]:
        """The monotonic clock for the standard library's own time-outs, which only look at differences: looking at it
        does not make an iteration of a loop differ from the one before.
        """
        real = time.monotonic

        def clock() -> float:
            if not self._mode.controls():
                return real()
            return _MONOTONIC + (self._mode.host.deadline_time() if self._mode.host.active else 0.0)

        return clock

    def _nanoseconds(self, real: Callable[[], int], start: float) -> Callable[[], int]:
        name = f"time.{real.__name__}"

        def clock() -> int:
            if not self._mode.controls():
                return real()
            if start == _EPOCH:
                self._tell_date(name)
            else:
                self._tell_clock(name)
            return int(start) * 1_000_000_000 + round((self.now(start) - start) * 1e9)

        return clock

    def _processor(self, real: Callable[[], Any], unit: int | None) -> Callable[[], Any]:
        """What a processor has done does not depend on what time it is. It is given in seconds, or so many a second."""
        name = f"time.{real.__name__}"

        def clock() -> Any:
            if not self._mode.controls():
                return real()
            seconds = _PROCESS
            if self._mode.host.active:
                self._mode.host.assume(AssumptionKind.FIXED_CLOCK.value, name)
                seconds += self._mode.host.processor_time()
            return seconds if unit is None else round(seconds * unit)

        return clock

    def _calendar(self, real: Callable[..., Any]) -> Callable[..., Any]:
        name = f"time.{real.__name__}"

        def convert(seconds: float | None = None, /) -> Any:
            if seconds is None and self._mode.controls():
                seconds = self.epoch(name)
            return real(seconds)

        return convert

    def _formatted(self, real: Callable[..., str]) -> Callable[..., str]:
        def strftime(pattern: str, *moment: Any) -> str:
            return real(pattern, *(moment or (time.localtime(),)))

        return strftime

    def _sleep(self) -> Callable[[float], None]:
        real = time.sleep

        def sleep(seconds: float, /) -> None:
            host = current.active_host()
            if host is None:
                real(seconds)
                return
            host.advance_time(timeouts.of_sleep(seconds) + MARGIN)

        return sleep
