"""What stands under the names of the threading classes: gives a controlled object or a real one, by mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dpor.runtime import current, uncontrolled
from dpor.runtime.mode import Mode

_BASE_TYPE = 1 << 10
"""`Py_TPFLAGS_BASETYPE`: other classes may derive from it."""


class Factory:
    """Stands in for a class or factory function of the standard library.

    Calling it makes an instance of `controlled` inside a model and of `real` elsewhere; subclassing it subclasses
    `controlled`; isinstance accepts instances of both. If `real` is a class, it says that it is one, too. It is
    equal to `controlled`, so that either is found where the other is a key. `real` itself is asked for what it does not
    take (a lock has no arguments and no subclasses), so that it raises or warns as it does.
    """

    def __init__(self, mode: Mode, name: str, controlled: type, real: Callable[..., Any]) -> None:
        self._mode = mode
        self._controlled = controlled
        self._real = real
        self._takes_subclasses = isinstance(real, type) and bool(real.__flags__ & _BASE_TYPE)
        self.__name__ = self.__qualname__ = real.__name__ if isinstance(real, type) else name
        self.__module__ = getattr(real, "__module__", "threading")
        self.__doc__ = real.__doc__

    @property
    def __class__(self) -> type:
        return type(self._real) if isinstance(self._real, type) else Factory

    @__class__.setter
    def __class__(self, other: type) -> None:
        raise TypeError(f"the class of {self.__name__} cannot be changed")

    def __setattr__(self, name: str, value: object) -> None:
        self._refuse_change()
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse_change()
        super().__delattr__(name)

    def _refuse_change(self) -> None:
        host = current.active_host()
        if host is not None:
            host.end_uncontrolled(uncontrolled.with_calls(f"changes {self.__module__}.{self.__name__}"))

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._controlled

    def __hash__(self) -> int:
        return hash(self._controlled)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make an instance: controlled or real, as the mode is."""
        # A function such as `threading.RLock` makes what stands in for its class, too.
        if self._mode.controls() and (self._takes_subclasses or not (args or kwargs)):
            return self._controlled(*args, **kwargs)
        return self._real(*args, **kwargs)

    def __dpor_stands_for__(self) -> object:
        """The class that patterns and unions have for it; what is no class is refused there."""
        return self._controlled if isinstance(self._real, type) else self._real

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """What stands among a subclass's bases instead of this object."""
        if not self._takes_subclasses:
            kind: Any = type(self._real)
            kind("", (self._real,), {})
        return (self._controlled,)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._classes())

    def __subclasscheck__(self, subclass: type) -> bool:
        known: Any = subclass
        return issubclass(known._controlled if isinstance(known, Factory) else known, self._classes())

    def _classes(self) -> tuple[type, ...]:
        return (self._controlled, self._real) if isinstance(self._real, type) else (self._controlled,)

    def __or__(self, other: Any) -> Any:
        return _operand(self) | _operand(other)

    def __ror__(self, other: Any) -> Any:
        return _operand(other) | _operand(self)

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __getitem__(self, item: Any) -> Factory:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._controlled, name)

    def __repr__(self) -> str:
        return repr(self._real if not isinstance(self._real, type) else self._controlled)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._real)


class ClassWithoutCalls(Factory):
    """Stands in for a class that makes no instances: a function of the library makes them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """TypeError, in the words of the class."""
        return self._real(*args, **kwargs)


def _operand(value: Any) -> Any:
    return value.__dpor_stands_for__() if isinstance(value, Factory) else value
