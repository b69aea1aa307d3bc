"""Readable names and short values, without running user code."""

from __future__ import annotations

import collections
import enum
import sys
import threading
from typing import Any, NamedTuple

import pytest

from dpor.counterexample.locks import HeldLocks
from dpor.counterexample.names import Names, Rank
from dpor.counterexample.operations import Operation
from dpor.counterexample.values import describe, instance_dict


class Account:
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Hostile:
    """Any of this running would be a visible operation of the model."""

    def refuse(self, *_: object) -> Any:
        raise RuntimeError("user code ran")

    __repr__ = __str__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = __getattr__ = refuse
    __class__ = property(refuse)  # type: ignore[assignment]
    __dict__ = property(refuse)  # type: ignore[assignment]


class HostileList(list[int]):
    __repr__ = __len__ = __iter__ = __eq__ = __bool__ = Hostile.refuse


class HostileString(str):
    __repr__ = __len__ = __getitem__ = Hostile.refuse


class Point(NamedTuple):
    x: int
    y: int


class Colour(enum.Enum):
    RED = 1


class Number(enum.IntEnum):
    ONE = 1


def text(value: object) -> str:
    return describe(value, Names().label)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        (100, "100"),
        (-1.5, "-1.5"),
        ("a'b", '"a\'b"'),
        (b"ab", "b'ab'"),
        ([1, "x", None], "[1, 'x', None]"),
        ((1,), "(1,)"),
        ((), "()"),
        ({"a": [1]}, "{'a': [1]}"),
        ({3, 1, 2}, "{1, 2, 3}"),
        (set[int](), "set()"),
        (collections.deque([1, 2]), "deque([1, 2])"),
        (Point(1, 2), "Point(x=1, y=2)"),
        (Colour.RED, "Colour.RED"),
        (Number.ONE, "Number.ONE"),
        (Account, "Account"),
        (text, "text"),
        (sys, "sys"),
        (KeyError("x"), "KeyError('x')"),
        (slice(1, None), "1::"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, …]"),
        ([[[[1]]]], "[[[[…]]]]"),
        (1 << 1000, "<integer of 1001 bits>"),
    ],
)
def test_a_value_has_a_short_text(value: object, shown: str):
    assert text(value) == shown


def test_a_long_value_is_shortened_in_one_line():
    assert len(text("x" * 1000)) == 60
    assert len(text(dict.fromkeys(range(9), "y" * 50))) <= 60
    assert "\n" not in text("a\nb" * 50)


def test_no_user_code_runs_for_a_value():
    assert text(Hostile()) == "Hostile#1"
    assert text([Hostile(), HostileList()]) == "[Hostile#1, HostileList#1]"
    assert text(HostileString("abc")) == "'abc'"


def test_instances_are_numbered_in_order_of_first_appearance():
    names, first, second = Names(), Account(), Account()
    names.number(second)
    names.number(first)
    assert (names.name(first), names.name(second)) == ("Account#2", "Account#1")


def test_a_lock_is_called_after_the_attribute_that_holds_it():
    names, account = Names(), Account()
    names.hold_variable("guard", account.lock, Rank.MODEL_VARIABLE)
    names.hold_attribute(account, "lock", account.lock)
    assert names.name(account.lock) == "Account#1.lock"


def test_a_lock_that_was_never_loaded_is_found_in_its_instance():
    names, account = Names(), Account()
    names.number(account)
    assert names.name(account.lock) == "Account#1.lock"


def test_each_instance_is_looked_into_once_however_many_locks_are_named(monkeypatch: pytest.MonkeyPatch):
    names, accounts, looked = Names(), [Account() for _ in range(50)], collections.Counter[int]()

    def count(owner: object) -> dict[str, Any]:
        looked[id(owner)] += 1
        return instance_dict(owner)

    monkeypatch.setattr("dpor.counterexample.names.instance_dict", count)
    for account in accounts:
        names.number(account)
    assert [names.name(account.lock) for account in accounts] == [
        f"Account#{number}.lock" for number in range(1, 51)
    ]
    assert set(looked.values()) == {1}


def test_a_lock_that_only_a_variable_holds_is_called_after_the_models_variable():
    names, lock = Names(), threading.Lock()
    names.hold_variable("first", lock)
    names.hold_variable("lock_a", lock, Rank.MODEL_VARIABLE)
    assert names.name(lock) == "lock_a"


def test_what_nothing_holds_gets_its_type_and_a_number():
    names = Names()
    assert next(names.name(threading.Lock()) for _ in range(2)) == "Lock#1"


def test_contents_of_containers_are_called_after_the_container():
    names, forks = Names(), [threading.Lock(), threading.Lock()]
    names.hold_variable("forks", forks)
    assert names.name(forks[1]) == "forks[1]"


def test_a_container_within_a_container_within_an_instance_has_the_whole_path():
    names, account = Names(), Account()
    table = {"x": [threading.Lock()]}
    names.hold_attribute(account, "table", table)
    assert names.name(table["x"]) == "Account#1.table['x']"
    assert names.name(table["x"][0]) == "Account#1.table['x'][0]"


def test_two_objects_in_the_same_place_one_after_the_other_are_told_apart():
    names, account, old, new = Names(), Account(), [1], [2]
    names.hold_attribute(account, "items", old)
    names.hold_attribute(account, "items", new)
    assert (names.name(old), names.name(new)) == ("Account#1.items", "Account#1.items#2")


def test_containers_that_hold_each_other_have_names():
    names = Names()
    one: list[Any] = []
    two: list[Any] = [one]
    one.append(two)
    names.hold_item(one, 0, two)
    names.hold_item(two, 0, one)
    assert names.name(one) == "list#1"


def test_globals_of_the_models_module_have_plain_names():
    names = Names()
    own = {"__name__": "bank", "__builtins__": {}}
    other = {"__name__": "registry", "__builtins__": {}}
    names.hold_module(own)
    assert names.global_name(own, "total") == "total"
    assert names.global_name(other, "total") == "registry.total"


def test_self_is_no_name():
    names, items = Names(), [1]
    names.hold_variable("self", items)
    assert names.name(items) == "list#1"


class Condition:
    """Stands for the kernel's, which tells its lock."""

    def __init__(self, lock: object) -> None:
        self._lock = lock


Condition.__module__ = "threading"


def test_a_lock_held_twice_is_held_until_it_was_released_twice():
    locks, lock = HeldLocks(), object()
    locks.update(Operation.ACQUIRE, lock, True)
    locks.update(Operation.ACQUIRE, lock, True)
    locks.update(Operation.RELEASE, lock, None)
    assert locks.now() == (lock,)
    locks.update(Operation.RELEASE, lock, None)
    assert locks.now() == ()


def test_a_failed_attempt_holds_nothing():
    locks, lock = HeldLocks(), object()
    locks.update(Operation.TRY_ACQUIRE, lock, False)
    assert locks.now() == ()


@pytest.mark.parametrize("reported_again", [True, False])
def test_waiting_gives_the_lock_back_and_waking_takes_it(reported_again: bool):
    locks, outer, lock = HeldLocks(), object(), object()
    condition = Condition(lock)
    locks.update(Operation.ACQUIRE, outer, True)
    locks.update(Operation.ACQUIRE, lock, True)
    locks.update(Operation.WAIT, condition, None)
    assert locks.now() == (outer,)
    locks.update(Operation.WAKE, condition, True)
    if reported_again:
        locks.update(Operation.ACQUIRE, lock, True)
    assert locks.now() == (outer, lock)
    assert locks.holds(condition)
    locks.update(Operation.RELEASE, condition, None)
    assert locks.now() == (outer,)
