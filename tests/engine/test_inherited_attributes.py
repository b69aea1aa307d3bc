"""An attribute that a class has from a base, and what stands for a class, is the one of the base.

Who reads it there and who stores it to the base conflict.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, Verdict

HEADER = """
import operator, types, typing, weakref

class Base:
    x = 0

    @classmethod
    def get(cls):
        return cls.x

    @classmethod
    def put(cls, x):
        cls.x = x

    def own(self):
        return type(self).x

class Middle(Base):
    pass

class Leaf(Middle):
    __class_getitem__ = classmethod(types.GenericAlias)

class Meta(type):
    x = 0

class Made(metaclass=Meta):
    pass

class Generic(Base, typing.Generic[typing.TypeVar("T")]):
    pass
"""
READS = [
    "Leaf.x",
    "Middle.x",
    "Leaf.get()",
    "Leaf().get()",
    "Leaf().own()",
    "Leaf().x",
    "Leaf().__class__.x",
    "getattr(Leaf, 'x')",
    "operator.attrgetter('x')(Leaf)",
    "f'{Leaf.x}'",
    "'{0.x}'.format(Leaf)",
    "type.__getattribute__(Leaf, 'x')",
    "super(Leaf, Leaf).x",
    "Leaf[int].x",
    "Generic[int].x",
]
STORES = ["setattr(Base, 'x', 1)", "Base.put(1)", "type.__setattr__(Base, 'x', 1)"]
# What gives a class an attribute of its own that it had from a base, or takes it.
OWN = {
    "a store to the class in between": ("None", "setattr(Middle, 'x', 1)", "Leaf.x"),
    "a class method of the class in between": ("None", "Middle.put(1)", "Leaf.get()"),
    "an attribute that is taken away": ("setattr(Leaf, 'x', 1)", "delattr(Leaf, 'x')", "Leaf.x"),
    "an attribute that a metaclass has": ("None", "setattr(Meta, 'x', 1)", "Made.x"),
    "an attribute that hides that of a metaclass": ("None", "setattr(Made, 'x', 1)", "Made.x"),
}
EXPLORERS = ["optimal", "source", "parsimonious", "unfolding", "graph", "value-centric", "exhaustive"]


@pytest.fixture
def either(tmp_path: Path) -> EitherOrder:
    """Checks of two expressions, with the classes of this file's header."""
    return EitherOrder(HEADER, tmp_path)


@pytest.mark.parametrize("read", READS)
def test_a_read_through_another_class_comes_before_and_after_a_store_to_the_base(
    either: EitherOrder, read: str
) -> None:
    either.require_both("None", STORES[0], read)


@pytest.mark.parametrize("store", STORES)
def test_a_store_to_the_base_comes_before_and_after_a_read_through_another_class(
    either: EitherOrder, store: str
) -> None:
    either.require_both("None", store, "Leaf.x")


@pytest.mark.parametrize("name", OWN)
def test_a_class_gets_an_attribute_of_its_own_before_and_after_it_is_read(
    either: EitherOrder, name: str
) -> None:
    either.require_both(*OWN[name])


@pytest.mark.parametrize("algorithm", EXPLORERS)
def test_every_algorithm_finds_what_two_threads_make_of_a_class_that_is_made_once(
    tmp_path: Path, algorithm: str
) -> None:
    path = tmp_path / "model.py"
    path.write_text("""import dpor

class Base:
    only = None

    @classmethod
    def get(cls):
        if cls.only is None:
            made.append(1)
            Base.only = cls()
        return cls.only

class Sub(Base):
    pass

made = []

@dpor.model
def model():
    for _ in range(2):
        dpor.spawn(Sub.get)
    dpor.join_all()
    assert len(made) == 1
""")
    result = check_model(CheckRequest(str(path), "model", str(tmp_path), options={"algorithm": algorithm}))
    assert result.verdict is Verdict.VIOLATED


def test_a_proxy_of_a_class_shows_what_the_class_has(either: EitherOrder) -> None:
    for unwanted in ("[None, 0]", "[None, 1]"):
        result = either.check("weakref.proxy(Base)", "setattr(Base, 'x', 1)", "s.x", unwanted)
        assert result.verdict is Verdict.VIOLATED, unwanted
        assert {one.kind for one in result.assumptions} == {AssumptionKind.OBJECT_END}
