"""datetime.date and datetime.datetime whose "now" is the model's clock."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# The base classes are whatever the module holds, which no checker can know.

from __future__ import annotations

from types import ModuleType
from typing import Any

from dpor.runtime.clock import Clock
from dpor.runtime.mode import Mode


class _AnyOf(type):
    """Takes instances of the standard class for its own: values made elsewhere stay dates."""

    def __instancecheck__(cls, instance: object) -> bool:
        real = cls.__dict__.get("dpor_real")
        return type.__instancecheck__(cls, instance) if real is None else isinstance(instance, real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        real = cls.__dict__.get("dpor_real")
        return type.__subclasscheck__(cls, subclass) if real is None else issubclass(subclass, real)


def calendar_classes(module: ModuleType, clock: Clock, mode: Mode) -> tuple[type, type]:
    """Stand-ins for the date and datetime classes of `module`, which give the model's time inside a model."""
    real_date: Any = module.__dict__["date"]
    real_datetime: Any = module.__dict__["datetime"]
    utc: Any = module.__dict__["timezone"].utc

    class date(real_date, metaclass=_AnyOf):  # noqa: N801 -- the standard library's name
        dpor_real = real_date

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(clock.epoch("date.today")) if mode.controls() else super().today()

    class datetime(real_datetime, metaclass=_AnyOf):  # noqa: N801 -- the standard library's name
        dpor_real = real_datetime

        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return cls.fromtimestamp(clock.epoch("datetime.now"), tz) if mode.controls() else super().now(tz)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

        @classmethod
        def utcnow(cls) -> Any:
            return (
                cls.fromtimestamp(clock.epoch("datetime.utcnow"), utc).replace(tzinfo=None)
                if mode.controls()
                else super().utcnow()
            )

    def show(self: Any) -> str:
        text = real_repr[isinstance(self, real_datetime)](self)
        # The interpreter shows the module of its own classes only.
        return f"datetime.{text}" if type(self) in (date, datetime) else text

    real_repr: dict[bool, Any] = {False: real_date.__repr__, True: real_datetime.__repr__}
    for stand_in, real in ((date, real_date), (datetime, real_datetime)):
        stand_in.__repr__ = show
        stand_in.__module__ = real.__module__
        stand_in.__qualname__ = real.__qualname__
        stand_in.__doc__ = real.__doc__
    return date, datetime
