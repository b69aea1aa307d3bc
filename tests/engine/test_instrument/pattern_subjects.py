"""Values of every kind that patterns tell apart, many of which log the steps that are taken."""

from __future__ import annotations

import array
import collections
import collections.abc
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

LOG: list[str] = []


class Items(collections.abc.Sequence[Any]):
    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        LOG.append("len")
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        LOG.append(f"item {index}")
        return self.items[index]

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            LOG.append("next")
            yield item

    def __repr__(self) -> str:
        return f"Items{self.items}"


class Shrinks(Items):
    """Loses an item once its length is known."""

    def __len__(self) -> int:
        length = super().__len__()
        self.items = self.items[1:]
        return length


class Table(collections.abc.Mapping[Any, Any]):
    def __init__(self, **content: Any) -> None:
        self.content = content

    def __len__(self) -> int:
        LOG.append("len")
        return len(self.content)

    def __getitem__(self, key: Any) -> Any:
        LOG.append(f"value of {key!r}")
        return self.content[key]

    def __iter__(self) -> Iterator[Any]:
        LOG.append("keys")
        return iter(list(self.content))

    def __repr__(self) -> str:
        return f"Table{self.content}"


class Forgets(Table):
    """Gives values for keys that it does not have."""

    def get(self, key: Any, default: Any = None) -> Any:
        LOG.append(f"get {key!r}")
        return 1


class Bare(Items):
    """Counts as a mapping, and has no `get`."""


cast(Any, collections.abc.Mapping).register(Bare)


class Point:
    __match_args__: Any = ("x", "y")

    def __init__(self, x: Any = 0, y: Any = 0) -> None:
        self.x = x
        self.y = y

    def __getattribute__(self, name: str) -> Any:
        if name in ("x", "y", "z", "__a"):
            LOG.append(f"attribute {name}")
        return super().__getattribute__(name)

    def __eq__(self, other: object) -> bool:
        LOG.append("equal")
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Point"


@dataclass
class Pair:
    first: Any
    second: Any = 2


class Twice(Point):
    __match_args__ = ("x", "x")


class Listed(Point):
    __match_args__: Any = ["x"]  # noqa: RUF012 - to be refused


class Numbered(Point):
    __match_args__: Any = ("x", 3)


class Failing(Point):
    @property
    def z(self) -> Any:
        raise AttributeError("lost") if self.x == 0 else ValueError("broken")


class Number(int):
    pass


class Own(int):
    __match_args__ = ("real",)


class Meta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        LOG.append("instance check")
        return instance == 1


class Ones(metaclass=Meta):
    pass


class Vague:
    def __eq__(self, other: object) -> Any:
        LOG.append("equal")
        return [] if other == 0 else [1]

    __hash__ = None  # type: ignore[assignment]


def constants() -> types.SimpleNamespace:
    return types.SimpleNamespace(one=1, two=2, text="k", point=Point(), inner=types.SimpleNamespace(key="x"))


def subjects() -> list[Any]:
    """Values of every kind that patterns tell apart; made anew, since matching can use them up."""
    flat: list[Any] = [0, 1, 2, True, False, None, 1.0, 2j, -1, "", "k", "xyz", b"k", bytearray(b"ab"), ...]
    flat += [Number(1), Own(1), Vague(), iter([1, 2]), {1, 2}, frozenset({1}), range(2), range(1, 4)]
    flat += [array.array("i", [1, 2]), memoryview(b"ab"), collections.UserString("k")]
    sequences = [[], [1], [1, 2], [1, [2, 3]], (), (0,), (1, "k"), [None, True, 1], [[1], [2]], [{"k": 1}, 2]]
    flat += [
        *sequences,
        collections.deque([1, 2]),
        collections.UserList([1]),
        Items(),
        Items(1, 2),
        Items(1, [2], 3),
    ]
    flat += [Shrinks(1, 2), Shrinks(1), [Point(1, 2), Pair(1)], [1, 2, 3, 4]]
    mappings = [{}, {"k": 1}, {"k": [1, 2], 1: 2}, {"x": 1, "k": None, True: 0}, collections.Counter("kk")]
    flat += [*mappings, collections.defaultdict(list, k=1), types.MappingProxyType({"k": 1, "x": 2})]
    flat += [
        collections.UserDict(k=1),
        collections.ChainMap({"k": 1}, {"x": 2}),
        collections.OrderedDict(k=1, x=2),
    ]
    flat += [Table(), Table(k=1), Table(k=1, x=[1]), Forgets(), Forgets(k=2, x=1), Bare(1, 2), int, Point]
    flat += [
        Point(),
        Point(1, 2),
        Point([1], {"k": 2}),
        Pair(1),
        Pair([1, 2], Pair(0)),
        Failing(),
        Failing(1),
    ]
    return [*flat, Twice(), Listed(), Numbered(), type("Empty", (), {})()]
