"""What stands under the names of the threading classes: gives a controlled object or a real one, by mode."""

# pyright: reportInconsistentConstructor=false
# Whoever asks a stand-in for its type may call that with what a metaclass takes.

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, cast

from dpor.runtime import current, uncontrolled

_IN_C = frozenset({"_thread", "_queue"})
_HEAP_TYPE = 1 << 9
"""`Py_TPFLAGS_HEAPTYPE`: made at run time, by a class statement or by a module in C."""
_BASE_TYPE = 1 << 10
"""`Py_TPFLAGS_BASETYPE`: other classes may derive from it."""


class Factory:
    """Stands in for a class of the standard library, and says that it is one.

    Calling it makes an instance of `controlled` while `controls()` and of `real` elsewhere; subclassing it subclasses
    `controlled`; isinstance accepts instances of both. It is equal to `controlled`, so that either is found where the
    other is a key. `real` itself is asked for what it does not take (a lock has no arguments and no subclasses), so
    that it raises or warns as it does.
    """

    def __new__(cls, *args: Any) -> Any:
        """A stand-in; or a class, where code that asked a stand-in for its type has taken that for a metaclass."""
        if not isinstance(args[0], str):
            return super().__new__(cls)
        name, bases, namespace = args
        known = (
            base.__mro_entries__(bases) if issubclass(type(base), Factory) else (base,) for base in bases
        )
        classes = tuple(itertools.chain.from_iterable(known))
        return type(classes[0])(name, classes, namespace)

    def __init__(self, controls: Callable[[], bool], controlled: type, real: type) -> None:
        self._controls = controls
        self._controlled = controlled
        self._real: Any = real
        self._takes_subclasses = bool(real.__flags__ & _BASE_TYPE)
        # No other thread comes between what code in C does before it makes an instance and after.
        self.dpor_makes_in_c = not real.__flags__ & _HEAP_TYPE or real.__module__ in _IN_C
        self.__name__ = self.__qualname__ = real.__name__
        self.__module__ = real.__module__
        self.__doc__ = real.__doc__

    @property
    def __class__(self) -> type:
        return type(cast("object", self._real))

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

    def __reduce__(self) -> str:
        return self.__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make an instance: controlled or real, as the mode is."""
        if self._controls() and (self._takes_subclasses or not (args or kwargs)):
            return self._controlled(*args, **kwargs)
        return self._real(*args, **kwargs)

    def __dpor_stands_for__(self) -> object:
        """The class that patterns, unions and `type` have for it."""
        return self._controlled

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """What stands among a subclass's bases instead of this object."""
        if not self._takes_subclasses:
            kind: Any = self.__class__
            kind("", (self._real,), {})
        return (self._controlled,)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, (self._controlled, self._real))

    def __subclasscheck__(self, subclass: type) -> bool:
        known: Any = subclass
        own = known._controlled if isinstance(known, Factory) else known
        return issubclass(own, (self._controlled, self._real))

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
        return repr(self._controlled)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._real)


class ClassWithoutCalls(Factory):
    """Stands in for a class that makes no instances: a function of the library makes them."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """TypeError, in the words of the class."""
        return self._real(*args, **kwargs)


def maker(controls: Callable[[], bool], controlled: type, real: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in for a function of the library that makes instances: of `controlled` while `controls()`.

    `real` itself is called with what it does not take, so that it raises or warns as it does.
    """

    def make(*args: Any, **kwargs: Any) -> Any:
        return controlled() if controls() and not (args or kwargs) else real(*args, **kwargs)

    made: Any = make
    made.dpor_makes_in_c = isinstance(real, BuiltinFunctionType)
    return make


def _operand(value: Any) -> Any:
    return value.__dpor_stands_for__() if isinstance(value, Factory) else value
