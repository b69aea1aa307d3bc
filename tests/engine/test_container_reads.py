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
