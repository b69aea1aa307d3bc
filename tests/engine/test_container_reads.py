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
