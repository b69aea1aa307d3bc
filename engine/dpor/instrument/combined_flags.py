"""Members that `enum` makes of other flags, such as `RED | BLUE`: each execution has to make its own.

The code of `enum` runs unseen. It keeps a member that it makes of others in its class, and in the members that are each
other's complement, where the next execution would find it.
"""

from __future__ import annotations

import enum
import itertools
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

_COMPLEMENT = "_inverted_"


@dataclass(frozen=True)
class _Kept:
    """What a class of flags has before an execution: members by value, how many, and those that know no complement."""

    by_value: dict[Any, enum.Flag]
    size: int
    single: tuple[enum.Flag, ...]

    def take_out(self) -> None:
        """Take out the members that were made of others."""
        if len(self.by_value) > self.size:
            # They stand behind. They are not asked for their hash: a symbolic value's belongs to the execution.
            items = list(itertools.islice(self.by_value.items(), self.size))
            self.by_value.clear()
            self.by_value.update(items)
            self.forget_complements()

    def forget_complements(self) -> None:
        for member in self.single:
            if _complement(member) is not None:
                object.__delattr__(member, _COMPLEMENT)


class CombinedFlags:
    """The classes of flags that outlive an execution.

    A class that is found later, because an execution has imported its module, is kept as it is then: its module may
    hold combinations of its own.
    """

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        # Where a program may ask members for their complements.
        self._asked: list[_Kept] = []
        self._found_among: tuple[int, bool] | None = None
        self._maps: list[dict[Any, enum.Flag]] = []
        self._size = 0

    def begin(self, instrumented: Collection[str], afresh: bool) -> None:
        """Start an execution: put back what the last one has changed.

        `instrumented` names the modules that the checker looks into; `afresh` says that each execution loads them
        itself. Members of other classes may still know a complement that is no combination.
        """
        self._put_back()
        among = len(sys.modules), afresh
        if among != self._found_among:
            self._found_among = among
            self._find(instrumented, afresh)

    def restore(self) -> None:
        """Put everything back, and let go of the classes."""
        self._put_back()
        self._keep({}, [])
        self._found_among = None

    def _put_back(self) -> None:
        if sum(map(len, self._maps)) != self._size:
            for kept in self._kept.values():
                kept.take_out()
        for kept in self._asked:
            kept.forget_complements()

    def _find(self, instrumented: Collection[str], afresh: bool) -> None:
        found: dict[int, _Kept] = {}
        asked: list[_Kept] = []
        for flag in _below(enum.Flag):
            looks_into = type.__getattribute__(flag, "__module__") in instrumented
            by_value = _members(flag)
            if looks_into and afresh:
                continue
            kept = self._kept.get(id(by_value))
            if kept is None:
                single = tuple(member for member in by_value.values() if _complement(member) is None)
                kept = _Kept(by_value, len(by_value), single)
            found[id(by_value)] = kept
            if looks_into:
                asked.append(kept)
        self._keep(found, asked)

    def _keep(self, found: dict[int, _Kept], asked: list[_Kept]) -> None:
        self._kept, self._asked = found, asked
        self._maps = [kept.by_value for kept in found.values()]
        self._size = sum(kept.size for kept in found.values())


def _below(base: type) -> Iterator[type[enum.Flag]]:
    # Not by attributes of the class, for which a metaclass can have code of its own; here and below.
    for flag in cast("list[type[enum.Flag]]", type.__subclasses__(base)):
        yield flag
        yield from _below(flag)


def _members(flag: type[enum.Flag]) -> dict[Any, enum.Flag]:
    try:
        return cast("dict[Any, enum.Flag]", type.__getattribute__(flag, "_value2member_map_"))
    except AttributeError:
        # Of a class that was never finished.
        return {}


def _complement(member: enum.Flag) -> object:
    return cast(object, object.__getattribute__(member, _COMPLEMENT))
