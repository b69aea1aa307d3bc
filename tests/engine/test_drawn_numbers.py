"""Numbers that another run may give differently, and the orders that they decide, are assumptions of a verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, Verdict

MODEL = """
import collections
import enum
import gc
import sys
import threading
from threading import get_ident
import dpor

class Permission(enum.Flag):
    READ = 1
    WRITE = 2

class Plain:
    pass

class Key:
    def __init__(self, name):
        self.name = name

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        return self.name == other.name

    def __repr__(self):
        return f"<{self.name} at {id(self)}>"

@dpor.model
def model():
    names = {"one", "two"}
    frozen = frozenset(names)
    plain = Plain()
    seen = []
    def use():
        seen.append((USED))
    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""
NUMBERS = {
    "id(plain)": "id",
    "id(plain) % 8": "id",
    "sorted([plain, use], key=lambda one: id(one))": "id",
    "hash('text')": "hash",
    "hash(plain) % 8": "hash",
    "hash((1, 'text'))": "hash",
    "get_ident() % 8": "threading.get_ident",
    "8 - threading.get_ident()": "threading.get_ident",
    "threading.get_ident() < 5": "threading.get_ident",
    "0 < threading.get_native_id() < 5": "threading.get_ident",
    "len(gc.get_objects())": "gc.get_objects",
    "sys.getrefcount(plain)": "sys.getrefcount",
    "sys._current_frames()": "sys._current_frames",
}
ORDERS = [
    "[name for name in names]",
    "[name for name in frozen]",
    "[name for name in {'one', 'two'}]",
    "[name for name in {plain, use}]",
    "list(names)",
    "tuple(frozen)",
    "next(iter(names))",
    "[*names]",
    "', '.join(names)",
    "str(names)",
    "set(names).pop()",
    "collections.deque(names)",
    "[0].extend(names)",
    "max(names, key=len)",
    "list(enumerate(names))",
]
NONE = [
    "{Key('one'): 1}[Key('one')]",
    "repr(Key('one'))",
    "hash(1) + hash((2, 3.5))",
    "len(names), 'one' in names, names == frozen, names | {'three'}, set(names)",
    "sorted(names), min(names), max(names), any(names)",
    "[number for number in {1, 2.5, (3, 4)}]",
    "sorted(names, reverse=True), frozen.issubset(names), frozen.union(names)",
    "{frozen: 1}.get(frozen), [names].append(frozen), (frozen,).count(names)",
    "Key(names), collections.deque([names])",
    "list({'one'})",
    "[name for name in dict.fromkeys(['one', 'two'])]",
]


def assumed(tmp_path: Path, used: str) -> set[tuple[AssumptionKind, str]]:
    (tmp_path / "model.py").write_text(MODEL.replace("USED", used))
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED
    return {(one.kind, one.subject) for one in result.assumptions}


@pytest.mark.parametrize(("used", "function"), NUMBERS.items(), ids=NUMBERS.keys())
def test_a_number_that_could_be_another_is_an_assumption(tmp_path: Path, used: str, function: str) -> None:
    # Both threads ask for theirs, and the one may have ended before the other starts.
    given_again = {(AssumptionKind.OBJECT_END, "threading.get_ident")} if "get_ident" in function else set()
    assert assumed(tmp_path, used) == {(AssumptionKind.DRAWN_NUMBER, function), *given_again}


@pytest.mark.parametrize("used", ORDERS)
def test_an_order_that_such_numbers_decide_is_an_assumption(tmp_path: Path, used: str) -> None:
    assert assumed(tmp_path, used) == {(AssumptionKind.HASH_ORDER, "a set")}


@pytest.mark.parametrize("used", NONE)
def test_who_is_shown_neither_assumes_nothing(tmp_path: Path, used: str) -> None:
    assert assumed(tmp_path, used) == set()


def test_where_combined_flags_are_kept_is_an_assumption(tmp_path: Path) -> None:
    made = assumed(tmp_path, "Permission.READ | Permission.WRITE, [*Permission._value2member_map_]")
    assert (AssumptionKind.UNSEEN_CODE, "model.Permission._value2member_map_") in made
