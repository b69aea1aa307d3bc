"""datetime.date and datetime.datetime with the model's clock for "now"."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# The classes are whatever the module holds, which no checker can know.

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dpor.runtime.clock import Clock
from dpor.runtime.mode import Mode
from dpor.runtime.patchset import PatchSet


def patch_calendar(patches: PatchSet, module: ModuleType, clock: Clock, mode: Mode) -> None:
    """Have the classes of `module` tell the model's time inside a model.

    They stay the classes that they are, since programs derive from them, look them up by type and pickle them: only
    their methods that ask for the time are replaced.
    """
    date: Any = module.__dict__["date"]
    datetime: Any = module.__dict__["datetime"]
    utc: Any = module.__dict__["timezone"].utc
    warns_of_utcnow = _warns(datetime.utcnow)

    def from_timestamp(owner: type, cls: Any, *arguments: Any) -> Any:
        # Not the method of a class of the model: C code calls it for `today` only.
        return vars(owner)["fromtimestamp"].__get__(None, cls)(*arguments)

    def today(cls: Any) -> Any:
        name = "datetime.today" if issubclass(cls, datetime) else "date.today"
        return cls.fromtimestamp(clock.epoch(name))

    def now(cls: Any, tz: Any = None) -> Any:
        return from_timestamp(datetime, cls, clock.epoch("datetime.now"), tz)

    def utcnow(cls: Any) -> Any:
        for warned in warns_of_utcnow:
            warnings.warn(warned.message, warned.category, stacklevel=3)
        told = datetime.fromtimestamp(clock.epoch("datetime.utcnow"), utc)
        # Made anew, not changed: a derived class may have a constructor of its own, which the real method calls.
        return cls(*told.timetuple()[:6], told.microsecond, None)

    _replace(patches, date, today, frozenset(), mode)
    _replace(patches, datetime, now, frozenset({"tz"}), mode)
    _replace(patches, datetime, utcnow, frozenset(), mode)


def _replace(
    patches: PatchSet, owner: Any, method: Callable[..., Any], parameters: frozenset[str], mode: Mode
) -> None:
    name = method.__name__
    real = vars(owner)[name]

    def asked(cls: Any, *args: Any, **kwargs: Any) -> Any:
        # What does not fit is for the real one to refuse.
        fits = len(args) + len(kwargs) <= len(parameters) and kwargs.keys() <= parameters
        told = mode.controls() and fits
        return method(cls, *args, **kwargs) if told else real.__get__(None, cls)(*args, **kwargs)

    asked.__name__ = name
    asked.__qualname__ = f"{owner.__qualname__}.{name}"
    asked.__module__ = owner.__module__
    asked.__doc__ = getattr(owner, name).__doc__
    patches.replace(owner, name, classmethod(asked))


def _warns(method: Callable[[], object]) -> list[warnings.WarningMessage]:
    """What this version of Python says against calling the method."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        method()
    return told
