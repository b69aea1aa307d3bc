"""An operation that reads a container at one event and takes effect at a later one uses what it read."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import dpor

class Shared:
    def __init__(self):
        self.cells = [0, 0]
        self.seen = []

def swap(s):
    s.cells[0], s.cells[1] = s.cells[1], s.cells[0]

def look(s):
    s.cells[0] = 1
    STATEMENT

@dpor.model
def model():
    s = Shared()
    dpor.spawn(swap, s)
    dpor.spawn(look, s)
    dpor.join_all()
    # `look` came after both loads of `swap` and before its stores.
    assert not (s.seen == [1, 0] and s.cells == [0, 0])
"""


@pytest.mark.parametrize("algorithm", ["optimal", "source", "parsimonious"])
@pytest.mark.parametrize("statement", ["s.seen.extend(s.cells)", "s.seen += s.cells"])
def test_what_was_read_is_used_even_if_it_changes_before_the_effect(
    tmp_path: Path, statement: str, algorithm: str
) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL.replace("STATEMENT", statement), encoding="utf-8")
    request = CheckRequest(str(file), "model", str(tmp_path), options={"algorithm": algorithm})
    assert check_model(request).verdict is Verdict.VIOLATED


VIEWS = """
import dpor

class Shared:
    def __init__(self):
        self.table = {"k": 0}
        self.seen = []
        self.names = set()

def insert(s):
    s.table["new"] = 1

def look(s):
    STATEMENT

@dpor.model
def model():
    s = Shared()
    dpor.spawn(insert, s)
    dpor.spawn(look, s)
    dpor.join_all()
    assert len(s.seen) + len(s.names) != 1
"""


@pytest.mark.parametrize("algorithm", ["optimal", "parsimonious", "graph"])
@pytest.mark.parametrize(
    "statement",
    [
        "s.seen.extend(s.table.values())",
        "s.seen += s.table.items()",
        "s.names |= s.table.keys()",
        "s.names.update(s.table.keys())",
    ],
)
def test_a_view_is_read_where_the_event_says_so(tmp_path: Path, statement: str, algorithm: str) -> None:
    file = tmp_path / "model.py"
    file.write_text(VIEWS.replace("STATEMENT", statement), encoding="utf-8")
    request = CheckRequest(str(file), "model", str(tmp_path), options={"algorithm": algorithm})
    assert check_model(request).verdict is Verdict.VIOLATED


LAST = """
import dpor

@dpor.model
def model():
    items = {}
    dpor.spawn(items.__setitem__, "a", 1)
    dpor.spawn(items.__setitem__, "b", 2)
    dpor.join_all()
    assert items.popitem() == ("b", 2)
"""


@pytest.mark.parametrize("algorithm", ["optimal", "source", "parsimonious", "unfolding", "graph"])
def test_who_takes_the_last_item_of_a_dict_sees_the_order_of_insertions(
    tmp_path: Path, algorithm: str
) -> None:
    (tmp_path / "model.py").write_text(LAST)
    request = CheckRequest("model.py", "model", str(tmp_path), options={"algorithm": algorithm})
    assert check_model(request).verdict is Verdict.VIOLATED


ORDER = """
import dpor

@dpor.model
def model():
    items = MADE
    dpor.spawn(lambda: FIRST)
    dpor.spawn(lambda: SECOND)
    dpor.join_all()
    LOOK
"""


def orders(tmp_path: Path, made: str, first: str, second: str, look: str) -> tuple[Verdict, int]:
    text = ORDER.replace("MADE", made).replace("FIRST", first).replace("SECOND", second).replace("LOOK", look)
    (tmp_path / "model.py").write_text(text)
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    return result.verdict, result.executions


@pytest.mark.parametrize(
    "look",
    [
        "assert list(items) == [0, 8]",
        "assert [item for item in items] == [0, 8]",
        "assert items.pop() == 0",
        "assert str(items) == '{0, 8}'",
        "assert list(items | {1}) == [0, 1, 8]",
        "assert list(items.copy()) == [0, 8]",
        "assert tuple(frozenset(items)) == (0, 8)",
        "assert max(items, key=lambda item: 0) == 0",
    ],
)
def test_who_looks_at_the_order_of_a_set_sees_that_of_insertions_for_one_place(
    tmp_path: Path, look: str
) -> None:
    verdict, _ = orders(tmp_path, "set()", "items.add(0)", "items.add(8)", look)
    assert verdict is Verdict.VIOLATED


def test_an_item_that_is_gone_may_have_taken_the_place_of_another(tmp_path: Path) -> None:
    first, look = "(items.add(8), items.discard(0))", "assert list(items) == [8, 1]"
    assert orders(tmp_path, "{0}", first, "items.add(1)", look)[0] is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("second", "look"),
    [
        ("items.add(1)", "assert list(items) == [0, 1]"),
        ("items.add(8)", "assert items == {0, 8}"),
        ("items.add(8)", "assert 8 in items and len(items) == 2"),
    ],
)
def test_insertions_of_a_set_commute_where_nobody_can_see_their_order(
    tmp_path: Path, second: str, look: str
) -> None:
    assert orders(tmp_path, "set()", "items.add(0)", second, look) == (Verdict.VERIFIED, 1)


def test_insertions_before_a_dict_is_cleared_commute(tmp_path: Path) -> None:
    first, second = "items.setdefault('a', 1)", "items.setdefault('b', 1)"
    assert orders(tmp_path, "{}", first, second, "items.clear()") == (Verdict.VERIFIED, 1)
