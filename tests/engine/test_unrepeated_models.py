"""A model that does something else for the same choices is refused, also where each step looks the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest

# The number is another one in each execution, and so is the place in the set that both threads use.
MODEL = """
import sys, threading, dpor

@dpor.model
def model():
    kept, seen = {}, set()
    number = sys.getallocatedblocks()

    def add():
        kept[1] = 1
        seen.add(number)

    threads = [threading.Thread(target=add), threading.Thread(target=lambda: kept and number in seen)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_an_execution_that_is_equivalent_to_an_earlier_one_is_no_reason_to_be_verified(
    tmp_path: Path,
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    with pytest.raises(DporError, match="equivalent to an earlier one") as raised:
        check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert raised.value.code is Code.NONDETERMINISTIC


def test_a_failure_that_was_found_before_is_told(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.replace("kept and number in seen", "kept and 1 / 0"))
    (violation,) = check_model(CheckRequest("model.py", "model", str(tmp_path))).violations
    assert "ZeroDivisionError" in violation.message
