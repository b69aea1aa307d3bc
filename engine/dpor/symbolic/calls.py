"""Calls of code in C: what of it goes on with symbolic values as with any object, and what takes nothing but numbers.

Code in C that asks for a number by `__index__` or `__float__`, or that compares and keeps objects, needs no help.
Other code tells numbers by the layout of their memory, and takes a symbolic value for something else. It gets numbers:
each value that an argument can have is a branch.
"""

from __future__ import annotations

import json
import statistics
import types
from collections.abc import Callable
from typing import Any, cast

# Modules whose functions and classes in C take any object.
_PASSING = frozenset(
    {
        "_abc",
        "_asyncio",
        "_bisect",
        "_contextvars",
        "_functools",
        "_heapq",
        "_operator",
        "_pickle",
        "_queue",
        "_thread",
        "_weakref",
        "_weakrefset",
        "asyncio",
        "bisect",
        "builtins",
        "concurrent.futures",
        "contextvars",
        "copyreg",
        "dpor._kernel",
        "functools",
        "gc",
        "greenlet",
        "heapq",
        "itertools",
        "operator",
        "queue",
        "sys",
        "types",
        "typing",
        "weakref",
    }
)
_ROUNDING = frozenset({"ceil", "floor", "prod", "trunc"})
_VALUES = (int, float, complex, str, bytes)
_Unbound = types.MethodDescriptorType | types.WrapperDescriptorType
_Bound = types.BuiltinMethodType | types.MethodWrapperType
# Python code that hands what it is given to C as it is, or asks for its type.
_PACKAGES = frozenset({json.__name__, statistics.__name__})
_POW: Any = pow
_CONTAINERS = (tuple, list, dict, set)


class Calls:
    """What is known of the functions that a model calls."""

    def __init__(self) -> None:
        self._builtins: dict[Any, Callable[..., Any]] = {int: integer, pow: power, type: kind_of}

    def builtin(self, function: Any) -> Any:
        """What to call for a function of `builtins`."""
        return self._builtins.get(function, function)

    def number_arguments(
        self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any] | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The arguments with numbers in place of symbolic values, also in lists, tuples, dicts and sets; None if the
        function takes symbolic values.
        """
        if not needs_numbers(function):
            return None
        # A class in C takes what it is given apart by asking for items.
        deep = not isinstance(function, type)
        plain = tuple(_numbers(argument, deep, ()) for argument in arguments)
        named = {name: _numbers(argument, deep, ()) for name, argument in (keywords or {}).items()}
        return plain, named


def needs_numbers(function: Any) -> bool:
    """Whether a callable that is not the model's own takes numbers, and no symbolic values."""
    if isinstance(function, types.MethodType):
        function = function.__func__
    if isinstance(function, types.FunctionType):
        return function.__module__.partition(".")[0] in _PACKAGES
    # The type cannot be had by name: the model's own caches are made by other means, under the same name.
    if type(function).__name__ == "_lru_cache_wrapper":
        return True
    if isinstance(function, type):
        made: type[Any] = function
        return not issubclass(made, BaseException) and _is_made_in_c(made)
    if isinstance(function, _Unbound):
        return function.__objclass__ in _VALUES
    if not isinstance(function, _Bound):
        return False
    owner: Any = function.__self__
    if isinstance(owner, _VALUES):
        return function.__name__ == "translate"
    if owner is None or isinstance(owner, types.ModuleType):
        module = function.__module__ or ""
        return module not in _PASSING and not (module == "math" and function.__name__ in _ROUNDING)
    kind: type = owner if isinstance(owner, type) else type(owner)
    return kind.__module__ not in _PASSING and not kind.__module__.startswith("collections")


def _is_made_in_c(kind: type) -> bool:
    """Whether C code takes the arguments of a class, and is not known to take any object."""
    for name in ("__new__", "__init__"):
        owner = next((base for base in kind.__mro__ if name in vars(base)), object)
        made = vars(owner)[name]
        if isinstance(made, types.FunctionType | staticmethod):
            return False
        if owner is not object and owner.__module__ not in _PASSING:
            return True
    return False


def _numbers(value: Any, deep: bool, around: tuple[int, ...]) -> Any:
    if _is_symbolic(value):
        return value.__dpor_concrete__()
    kind: Any = cast(Any, type(value))
    if not deep or kind not in _CONTAINERS or id(value) in around:
        return value
    inside = (*around, id(value))
    if kind is dict:
        items: dict[Any, Any] = {
            _numbers(key, deep, inside): _numbers(item, deep, inside) for key, item in value.items()
        }
        keys_are_same = all(map(_is_same, items, value))
        return value if keys_are_same and all(map(_is_same, items.values(), value.values())) else items
    whole, make = value, cast(Any, kind)
    found: list[Any] = [_numbers(item, deep, inside) for item in whole]
    return whole if all(map(_is_same, found, whole)) else make(found)


def _is_symbolic(value: object) -> bool:
    return hasattr(type(value), "__dpor_symbolic__")


def _is_same(one: object, other: object) -> bool:
    return one is other


def integer(*arguments: Any, **keywords: Any) -> Any:
    """What a model calls by `int`: a symbolic value stays one."""
    if len(arguments) == 1 and not keywords and _is_symbolic(arguments[0]):
        return arguments[0].__trunc__()
    return cast(Any, int)(*arguments, **keywords)


def power(*arguments: Any, **keywords: Any) -> Any:
    """What a model calls by `pow`: of three arguments Python asks the first alone, which may not know of the others."""
    names = ("base", "exp", "mod")
    given = dict(zip(names, arguments, strict=False)) | keywords
    if given.get("mod") is None or len(given) != len(arguments) + len(keywords) or set(given) != set(names):
        return _POW(*arguments, **keywords)
    operands = [given[name] for name in names]
    if _is_symbolic(operands[0]):
        return operands[0].__pow__(*operands[1:])
    return _POW(*(_numbers(operand, False, ()) for operand in operands))


def kind_of(*arguments: Any, **keywords: Any) -> Any:
    """What a model calls by `type`: of a symbolic value the type that it stands for."""
    if len(arguments) == 1 and not keywords and _is_symbolic(arguments[0]):
        return arguments[0].__class__
    return cast(Any, type)(*arguments, **keywords)
