"""What a report says of an exception: its text as it was when the execution ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest

HEAD = """
import dpor

kept = {"total": 0}

class Odd(Exception):
    def __str__(self):
        return f"total {kept['total']}"

@dpor.model
def model():
    kept["total"] += 1
"""
TEXTS = {
    "assert kept['total'] == 2, kept": "assertion failed: {'total': 1}",
    "raise ValueError(kept)": "ValueError: {'total': 1}",
    "raise Odd": "Odd: total 1",
    "dpor.spawn(lambda: kept.update(total=5)).join(); raise Odd": "Odd: total 5",
}


@pytest.mark.parametrize("statement", TEXTS)
def test_a_text_tells_of_what_the_execution_changed(statement: str, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(f"{HEAD}    {statement}\n")
    (violation,) = check_model(CheckRequest("model.py", "model", str(tmp_path))).violations
    assert violation.message == TEXTS[statement]
