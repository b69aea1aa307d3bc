"""Members that `enum` makes of other flags, such as `RED | BLUE`: each execution has to make its own.

The code of `enum` runs unseen. It keeps a member that it makes of others in its class, and in the members that are each
other's complement, where the next execution would find it.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import sys
import weakref
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

_COMPLEMENT = "_inverted_"


@dataclass(frozen=True)
class _Kept:
    """What a class of flags has before an execution: how many members, and the values of those that know no complement.

    `asked` says whether a program may ask its members for their complements.
    """

    flag: weakref.ref[type[enum.Flag]]
    size: int
    single: tuple[Any, ...]
    asked: bool

    def put_back(self) -> None:
        flag = self.flag()
        by_value = {} if flag is None else _members(flag)
        made = len(by_value) > self.size
        if made:
            # What was added stands behind. It is not asked for its hash: a symbolic value's belongs to the execution.
            items = list(itertools.islice(by_value.items(), self.size))
            by_value.clear()
            by_value.update(items)
        if made or self.asked:
            for value in self.single:
                if value in by_value and _complement(by_value[value]) is not None:
                    object.__delattr__(by_value[value], _COMPLEMENT)


class CombinedFlags:
    """The classes of flags that outlive an execution.

    A class that is found later, because an execution has imported its module, is kept as it is then: its module may
    hold combinations of its own. No class is kept alive.
    """

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._modules = 0

    def begin(self, instrumented: Collection[str]) -> None:
        """Start an execution: put back what the last one has changed.

        `instrumented` names the modules that the checker looks into. Members of other classes may still know a
        complement that is no combination.
        """
        self._put_back()
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._find(instrumented)

    def restore(self) -> None:
        """Put everything back, and forget the classes."""
        self._put_back()
        self._kept.clear()
        self._modules = 0

    def _put_back(self) -> None:
        for kept in self._kept.values():
            kept.put_back()

    def _find(self, instrumented: Collection[str]) -> None:
        kept: dict[int, _Kept] = {}
        for flag in _below(enum.Flag):
            known = self._kept.get(id(flag))
            if known is None or known.flag() is not flag:
                known = _kept(flag, type.__getattribute__(flag, "__module__") in instrumented)
            kept[id(flag)] = known
        self._kept = kept


def _below(base: type) -> Iterator[type[enum.Flag]]:
    # Not by attributes of the class, for which a metaclass can have code of its own; here and below.
    for flag in cast("list[type[enum.Flag]]", type.__subclasses__(base)):
        yield flag
        yield from _below(flag)


def _members(flag: type[enum.Flag]) -> dict[Any, enum.Flag]:
    with contextlib.suppress(AttributeError):
        return cast("dict[Any, enum.Flag]", type.__getattribute__(flag, "_value2member_map_"))
    # Of a class that was never finished.
    return {}


def _complement(member: enum.Flag) -> object:
    return cast(object, object.__getattribute__(member, _COMPLEMENT))


def _kept(flag: type[enum.Flag], asked: bool) -> _Kept:
    members = _members(flag)
    single = tuple(value for value, member in members.items() if _complement(member) is None)
    return _Kept(weakref.ref(flag), len(members), single, asked)
