"""Attributes of stand-ins that end where the last reference to them does, which the kernel therefore does not hold.

Each load and store of an attribute that is not a method is an operation, which the class's `access` makes visible.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

# What the checker keeps in such objects, and what the interpreter asks and stores while it makes and ends them.
_OWN = "dpor_"
_OF_INTERPRETER = frozenset({"_blksize", "_dealloc_warn", "_finalizing"})
_DICT = "__dict__"


class Access(Enum):
    """What is done to an attribute."""

    LOAD = "load"
    STORE = "store"
    """A delete too."""

    UNSEEN = "unseen"
    """Who uses it would not be seen: all are given away as a dict, or a method is replaced."""


def attribute_methods(
    base: type, announce: Callable[[Any, str, Access], None]
) -> dict[str, Callable[..., Any]]:
    """The special methods by which a class derived from `base` makes its attributes visible.

    `announce(instance, name, access)` is called before each access. The methods of the class are visible themselves
    where they are called, so that their loads are not.
    """
    plain: Any = base
    load: Callable[[Any, str], Any] = plain.__getattribute__
    store: Callable[[Any, str, Any], None] = plain.__setattr__
    delete: Callable[[Any, str], None] = plain.__delattr__

    def load_visibly(self: Any, name: str) -> Any:
        if name == _DICT:
            announce(self, name, Access.UNSEEN)
        elif not _is_quiet(name) and not _is_method(self, name):
            announce(self, name, Access.LOAD)
        return load(self, name)

    def store_visibly(self: Any, name: str, value: Any) -> None:
        announce_change(self, name)
        store(self, name, value)

    def delete_visibly(self: Any, name: str) -> None:
        announce_change(self, name)
        delete(self, name)

    def announce_change(self: Any, name: str) -> None:
        if not _is_quiet(name):
            announce(self, name, Access.UNSEEN if _is_method(self, name) else Access.STORE)

    return {
        "__getattribute__": load_visibly,
        "__setattr__": store_visibly,
        "__delattr__": delete_visibly,
    }


def _is_quiet(name: str) -> bool:
    """Whether an attribute is none that the model shares between threads."""
    return name.startswith(_OWN) or name in _OF_INTERPRETER


def _is_method(instance: object, name: str) -> bool:
    """Whether the class of an instance gives it a method, or a property that makes itself visible, by this name."""
    for owner in type(instance).__mro__:
        namespace = vars(owner)
        if name in namespace:
            value = namespace[name]
            return callable(value) or isinstance(value, (property, classmethod, staticmethod))
    # Every object has these, whatever else it is made of.
    return name.startswith("__")
