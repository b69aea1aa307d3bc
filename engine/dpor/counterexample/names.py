"""Readable names of the objects of an execution.

An instance of a user's class is `Account#1`: its class and a number, in order of first appearance. A lock, a
container or another object of the standard library is called after what holds it: `Account#1.lock`,
`Registry#1.made`, `forks[0]`, a global or local variable's name; only what nothing holds gets `Lock#2`. The
order of first appearance is that of the execution, so the same schedule always gives the same names.
"""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any, cast

from dpor._kernel import OwnedLock
from dpor.counterexample.values import class_module, class_name, describe_key, instance_dict, is_value

_DEEPEST = 8
_MOST_HOLDERS = 8
_WIDEST = 64
_OPTIMIZED = 0x1
_TUPLE: type = tuple
_NOT_TELLING = frozenset({"self", "cls", "_"})


class Rank(enum.IntEnum):
    """How telling a name is; of several the lowest wins, of equals the one seen first."""

    HELD = 0
    MODEL_VARIABLE = 1
    VARIABLE = 2


@dataclass(frozen=True, eq=False)
class _Holder:
    """What holds an object: `suffix` is appended to the owner's name, or is the whole name without an
    owner.
    """

    rank: Rank
    owner: object | None
    suffix: str


class Names:
    """The names of one execution's objects; it keeps the objects alive, so that identities stay unique.

    While an execution is recorded only `number`, `label` and the `hold_...` methods may be called; `name`
    settles a name for good, with all that is known of who holds what, and is for the time after.
    """

    def __init__(self) -> None:
        self._objects: list[object] = []
        self._numbers: dict[int, int] = {}
        self._ordinals: dict[int, int] = {}
        self._per_type: dict[str, int] = {}
        self._holders: dict[int, list[_Holder]] = {}
        self._settled: dict[int, tuple[str, bool]] = {}
        # The instance and attribute that hold a value, by its address, of the first so many objects.
        self._attributes: dict[int, tuple[object, str, object]] = {}
        self._indexed = 0
        self._taken: dict[str, int] = {}
        self._main_module: str | None = None
        self._modules: dict[int, dict[str, Any]] = {}

    def number(self, target: object) -> int:
        """The number of an object, in order of first appearance; -1 for None."""
        if target is None:
            return -1
        number = self._numbers.get(id(target))
        if number is None:
            number = self._numbers[id(target)] = len(self._objects)
            self._objects.append(target)
            if not is_held(target):
                self._numbered(target)
        return number

    def label(self, target: object) -> str:
        """What to call an object within a value: `Account#1`, or `<Lock>` for what is called after its
        holder.
        """
        if is_held(target):
            return f"<{class_name(target)}>"
        self.number(target)
        return self._numbered(target)

    def is_known(self, target: object) -> bool:
        """True if something is known to hold the object, or if its name does not depend on what holds it."""
        return id(target) in self._holders or not is_held(target)

    def find_holder(self, target: object) -> bool:
        """True if something holds the object; looks for an instance that does if nothing is known to."""
        self._search_instances(target)
        return id(target) in self._holders

    def hold_attribute(self, owner: object, attribute: str, value: object) -> None:
        """Note that `owner.attribute` is `value`."""
        self._hold(value, _Holder(Rank.HELD, owner, f".{attribute}"))

    def hold_item(self, container: object, key: object, value: object) -> None:
        """Note that `container[key]` is `value`."""
        if is_held(value):
            self._hold(value, _Holder(Rank.HELD, container, f"[{describe_key(key, self.label)}]"))

    def hold_global(self, namespace: dict[str, Any], variable: str, value: object) -> None:
        """Note that a module's variable is `value`."""
        self._hold(value, _Holder(Rank.HELD, None, self.global_name(namespace, variable)))

    def hold_globals(self, namespace: dict[str, Any]) -> None:
        """Note what a module's variables are: reading one that nothing rebinds is no operation that would tell."""
        if id(namespace) in self._modules:
            return
        self._modules[id(namespace)] = namespace
        for variable, value in list(namespace.items()):
            if is_held(value) and not variable.startswith("__"):
                self._hold(value, _Holder(Rank.MODEL_VARIABLE, None, self.global_name(namespace, variable)))

    def hold_variable(self, name: str, value: object, rank: Rank = Rank.VARIABLE) -> None:
        """Note that a variable of a function is `value`."""
        if name not in _NOT_TELLING and not name.startswith((".", "__")):
            self._hold(value, _Holder(rank, None, name))

    def hold_frame(self, frame: FrameType, rank: Rank = Rank.VARIABLE) -> None:
        """Note what the local variables of a function's frame are."""
        if frame.f_code.co_flags & _OPTIMIZED:
            for name, value in list(frame.f_locals.items()):
                self.hold_variable(name, value, rank)

    def hold_module(self, namespace: dict[str, Any]) -> None:
        """Note that a namespace is the model's own: its variables need no module name before them."""
        if self._main_module is None:
            self._main_module = str(namespace.get("__name__"))

    def global_name(self, namespace: dict[str, Any], variable: str) -> str:
        """The name of a module's variable: plain in the model's own module."""
        module = str(namespace.get("__name__"))
        return variable if module == self._main_module else f"{module}.{variable}"

    def name(self, target: object) -> str:
        """The readable name of an object; once given it stays."""
        return self._settle(target, 0)[0]

    def _hold(self, value: object, holder: _Holder) -> None:
        if not is_held(value) or value is holder.owner:
            return
        self.number(value)
        self.number(holder.owner)
        holders = self._holders.setdefault(id(value), [])
        if len(holders) >= _MOST_HOLDERS or any(
            known.owner is holder.owner and known.suffix == holder.suffix and known.rank == holder.rank
            for known in holders
        ):
            return
        holders.append(holder)
        self._hold_contents(value)

    def _hold_contents(self, value: object) -> None:
        if type(value) in (list, tuple):
            items = list(enumerate(cast("list[Any]", value)[:_WIDEST]))
        elif type(value) is dict and len(cast("dict[Any, Any]", value)) <= _WIDEST:
            items = list(cast("dict[Any, Any]", value).items())
        else:
            return
        for key, item in items:
            self.hold_item(cast("object", value), key, item)

    def _settle(self, target: object, depth: int) -> tuple[str, bool]:
        """A name, and whether it says more than a type and a number."""
        if is_namespace(target):
            return str(cast("dict[str, Any]", target).get("__name__")), True
        if issubclass(type(target), type):
            return type.__dict__["__name__"].__get__(target), True
        if issubclass(type(target), ModuleType):
            return str(instance_dict(target).get("__name__")), True
        if not is_held(target):
            return self._numbered(target), True
        if id(target) not in self._settled:
            text, telling = self._held_name(target, depth)
            if depth:
                return text, telling
            # Objects that were called the same one after the other (`items` of two calls) are told apart.
            count = self._taken[text] = self._taken.get(text, 0) + 1
            self._settled[id(target)] = (text if count == 1 else f"{text}#{count}"), telling
        return self._settled[id(target)]

    def _held_name(self, target: object, depth: int) -> tuple[str, bool]:
        if type(target) is OwnedLock:
            return target.name, True
        if depth < _DEEPEST:
            self._search_instances(target)
            for holder in sorted(self._holders.get(id(target), ()), key=lambda holder: holder.rank):
                if holder.owner is None:
                    return holder.suffix, True
                owner, telling = self._settle(holder.owner, depth + 1)
                if telling:
                    return owner + holder.suffix, True
        return self._numbered(target), False

    def _numbered(self, target: object) -> str:
        kind = class_name(target)
        ordinal = self._ordinals.get(id(target))
        if ordinal is None:
            ordinal = self._ordinals[id(target)] = self._per_type[kind] = self._per_type.get(kind, 0) + 1
        return f"{kind}#{ordinal}"

    def _search_instances(self, target: object) -> None:
        """Find a holder among the instances seen so far, for what was never loaded through an attribute."""
        if id(target) in self._holders:
            return
        self._index_instances()
        found = self._attributes.get(id(target))
        if found is not None:
            self.hold_attribute(*found)

    def _index_instances(self) -> None:
        """Note which attribute of an instance has each value first. The execution is over: they are what they are."""
        for owner in self._objects[self._indexed :]:
            if is_value(owner) or class_name(owner) == "Condition":
                continue
            for attribute, value in instance_dict(owner).items():
                self._attributes.setdefault(id(value), (owner, attribute, value))
        self._indexed = len(self._objects)


def is_namespace(target: object) -> bool:
    """True for a module's globals."""
    if type(target) is not dict:
        return False
    namespace = cast("dict[Any, Any]", target)
    return "__name__" in namespace and "__builtins__" in namespace


def is_held(target: object) -> bool:
    """True for what is called after its holder: containers and objects of the standard library or of dpor."""
    if target is None or is_namespace(target) or (is_value(target) and type(target) is not _TUPLE):
        return False
    if type(target) is object:
        return False
    module = class_module(target).partition(".")[0]
    return module in sys.stdlib_module_names or module == "dpor"
