"""What the interpreter does without a call in the source, where no expression in its place would do the same."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Mapping
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    TracebackType,
    WrapperDescriptorType,
)
from typing import Any

from dpor import _kernel
from dpor.instrument.tracebacks import leave_out_own_frames

_Leaving = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]

_namespace: Callable[[type], Mapping[str, Any]] = vars(type)["__dict__"].__get__
_classes: Callable[[type], tuple[type, ...]] = vars(type)["__mro__"].__get__


class Implicit(enum.StrEnum):
    """What instrumented code calls around what the interpreter then does."""

    CAUGHT = "caught"
    DELEGATED = "delegated"
    MANAGED = "managed"
    IMPORTED = "imported"
    IMPORTED_ALL = "imported_all"

    @property
    def identifier(self) -> str:
        """The name that stands for it."""
        return f"__dpor_{self.value}__"


def implicit_entries(
    hooks: Mapping[str, Any], instruments: Callable[[dict[str, Any]], bool]
) -> dict[str, object]:
    """The functions behind the names; they tell `hooks`. `instruments` tells the namespaces of instrumented modules."""
    functions = _Functions(hooks, instruments)
    return {
        Implicit.CAUGHT.identifier: _caught,
        Implicit.DELEGATED.identifier: functions.delegated,
        Implicit.MANAGED.identifier: functions.managed,
        Implicit.IMPORTED.identifier: functions.imported,
        Implicit.IMPORTED_ALL.identifier: functions.imported_all,
    }


def _caught() -> None:
    """An exception is about to be handled: its traceback has none of the frames of the checker."""
    leave_out_own_frames(sys.exception())


class _Managed:
    """A context manager whose entry and exit are code that is not instrumented."""

    __slots__ = ("_enter", "_exit")

    def __init__(self, enter: Callable[[], Any], leave: Callable[..., Any]) -> None:
        self._enter = enter
        self._exit = leave

    def __enter__(self) -> Any:
        return self._enter()

    def __exit__(self, *leaving: Any) -> Any:
        return self._exit(*leaving)


class _Functions:
    def __init__(self, hooks: Mapping[str, Any], instruments: Callable[[dict[str, Any]], bool]) -> None:
        self._awaited: Callable[[Any], Any] = hooks["awaited"]
        self._callee: Callable[[Any], Callable[..., Any]] = hooks["callee"]
        self._iterate: Callable[[Any], Any] = hooks["iterate"]
        self._load_attribute: Callable[[object, str], Any] = hooks["load_attribute"]
        self._observe: Callable[[Any], Any] = hooks["observe"]
        self._instruments = instruments
        # The primitives, by far the commonest managers, are operations by themselves. They have the names of CPython's.
        self._own: set[type] = {
            _kernel.Lock,
            _kernel.RLock,
            _kernel.Condition,
            _kernel.Semaphore,
            _kernel.BoundedSemaphore,
        }

    def delegated(self, source: object) -> Any:
        """What `yield from` runs over: generators as they are, since they are sent to; others step by step."""
        if hasattr(type(source), "send"):
            return self._awaited(self._observe(source))
        made = self._iterate(source)
        # A generator that the object's `__iter__` has given is sent to as well.
        inner: object = getattr(made, "inner", None) if type(made).__module__ == _kernel.__name__ else None
        return self._awaited(self._observe(inner)) if hasattr(type(inner), "send") else made

    def managed(self, manager: object) -> Any:
        """What `with` enters and leaves: the manager, or one whose methods announce what they do."""
        kind = type(manager)
        if kind in self._own:
            return manager
        if str(_namespace(kind).get("__module__")).startswith("dpor."):
            self._own.add(kind)
            return manager
        enter, leave = _special(kind, "__enter__"), _special(kind, "__exit__")
        if self._needs_nothing(enter) and self._needs_nothing(leave):
            return manager
        if enter is None or leave is None:
            # The interpreter says so.
            return manager
        bound = (_bound(enter, manager, kind), _bound(leave, manager, kind))
        seen = (self._callee(bound[0]), self._callee(bound[1]))
        needs_nothing = seen[0] is bound[0] and seen[1] is bound[1]
        # The interpreter would bind them a second time.
        return manager if needs_nothing and {type(enter), type(leave)} <= _PLAIN else _Managed(*seen)

    def _needs_nothing(self, method: object) -> bool:
        """True for instrumented code, and for what is not there, which the interpreter refuses."""
        return method is None or (type(method) is FunctionType and self._instruments(method.__globals__))

    def imported(self, module: str, level: int, name: str) -> object:
        """What `from module import name` binds, with `level` dots before the module: a variable of a module is read in
        sight of the check, also where there is none. Raises ImportError as the interpreter does.
        """
        namespace = _variables_of_caller()
        found = import_from(module, namespace, name, level)
        if isinstance(found, ModuleType):
            try:
                return self._load_attribute(found, name)
            except AttributeError:
                # Perhaps a module that is still being loaded.
                pass
        variables = {key: namespace[key] for key in _PACKAGE if key in namespace}
        exec(f"from {'.' * level}{module} import {name}", variables)
        return variables[name]

    def imported_all(self, module: str, level: int) -> None:
        """After `from module import *`: unless the module is instrumented, what it has bound is seen by the check."""
        namespace = _variables_of_caller()
        found = import_from(module, namespace, "*", level)
        if isinstance(found, ModuleType) and not self._instruments(vars(found)):
            for name, value in list(vars(found).items()):
                if name in namespace and namespace[name] is value:
                    self._load_attribute(found, name)


def _variables_of_caller() -> dict[str, Any]:
    return sys._getframe(2).f_globals  # pyright: ignore[reportPrivateUsage]


def import_from(module: str, namespace: dict[str, Any], name: str, level: int) -> object:
    """What `from module import name` looks for the name in. Raises ImportError as the interpreter does."""
    return __import__(module, namespace, None, (name,), level)


# Binding one of these tells nobody.
_PLAIN: set[type] = {
    FunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    BuiltinFunctionType,
    ClassMethodDescriptorType,
}

# What relative imports are resolved by.
_PACKAGE = ("__name__", "__package__", "__spec__", "__path__", "__file__")


def _special(kind: type, name: str) -> Any:
    """A special method as the interpreter looks it up, past the instance."""
    return next((space[name] for space in map(_namespace, _classes(kind)) if name in space), None)


def _bound(method: Any, owner: object, kind: type) -> Any:
    return method.__get__(owner, kind) if hasattr(method, "__get__") else method
