"""Filters of warnings, and lists of recorded warnings, beside other threads: what nobody sees is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, Verdict

HEADER = """
import threading
import warnings
import dpor

def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

@dpor.model
def model():
"""


def assumed(tmp_path: Path, body: str) -> list[tuple[AssumptionKind, str]]:
    """What the verdict rests on; the model is verified."""
    (tmp_path / "model.py").write_text(HEADER + body, encoding="utf-8")
    result = check_model(CheckRequest("model.py", "model", root=str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result.violations or result.reason
    return [(assumption.kind, assumption.subject) for assumption in result.assumptions]


def test_filters_that_a_with_statement_changes_beside_other_threads_are_named(tmp_path: Path) -> None:
    body = """
    def change():
        with warnings.catch_warnings():
            pass
    run(change, lambda: len(warnings.filters))
"""
    assert (AssumptionKind.CHANGED_DEFINITION, "warnings.filters") in assumed(tmp_path, body)


@pytest.mark.parametrize("inside", [True, False])
def test_what_threads_warned_of_is_named_where_it_is_recorded(tmp_path: Path, inside: bool) -> None:
    body = f"""
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        run(lambda: warnings.warn("first"), lambda: warnings.warn("second"))
    {"    " if inside else ""}assert str(log[0].message) == "first"
"""
    assert (AssumptionKind.UNSEEN_CODE, "warnings.warn") in assumed(tmp_path, body)


@pytest.mark.parametrize("body", ["run(lambda: None, lambda: None)", "warnings.warn('only')"])
def test_no_warning_of_a_thread_is_nothing_to_name(tmp_path: Path, body: str) -> None:
    text = f"    with warnings.catch_warnings(record=True) as log:\n        {body}\n    assert len(log) < 2\n"
    assert assumed(tmp_path, text) == []
