"""Counterexamples of models that use up the calls that can be nested."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import dpor

@dpor.model
def model():
    items = []
    def deep(number):
        items.append(number)
        deep(number + 1)
    def work():
        deep(0)
    dpor.spawn(work)
    items.append(-1)
    dpor.join_all()
"""


@pytest.mark.filterwarnings("error")
def test_each_step_up_to_the_limit_of_nested_calls_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    (violation,) = result.violations
    assert result.verdict is Verdict.VIOLATED
    assert violation.message.startswith("RecursionError")
    assert violation.trace[-1].thread == "main.0"
