"""Dictionaries of weak references: each item is a place of its own, also where a dead reference is removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

MODEL = """
import _weakref, threading, weakref
import dpor

class Own:
    pass

@dpor.model
def model():
    kept = [Own(), Own()]
    d = weakref.WeakValueDictionary(enumerate(kept))
    plain = {{key: weakref.ref(one) for key, one in enumerate(kept)}}
    seen = []
    first = threading.Thread(target=lambda: {first})
    second = threading.Thread(target=lambda: seen.append({second}))
    first.start(); second.start(); first.join(); second.join()
    {then}
"""
REMOVES = "_weakref._remove_dead_weakref(plain, 0)"


def check(folder: Path, first: str, second: str, then: str = "") -> ModelResult:
    (folder / "model.py").write_text(MODEL.format(first=first, second=second, then=then))
    return check_model(CheckRequest(str(folder / "model.py"), "model", str(folder)))


@pytest.mark.parametrize(
    ("second", "executions"),
    [("plain.get(1)", 1), ("plain.get(0)", 2), ("len(plain)", 2), ("list(plain)", 2)],
)
def test_removing_a_dead_reference_is_an_operation_on_its_item(
    tmp_path: Path, second: str, executions: int
) -> None:
    result = check(tmp_path, REMOVES, second)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, executions)


def test_a_reference_to_what_lives_is_not_removed(tmp_path: Path) -> None:
    assert (
        check(tmp_path, REMOVES, "plain.get(0)", "assert plain[0]() is kept[0]").verdict is Verdict.VERIFIED
    )


def test_an_item_that_another_thread_removes_is_seen_before_and_after(tmp_path: Path) -> None:
    result = check(tmp_path, "d.pop(0)", "0 in d", "assert seen[0]")
    assert result.verdict is Verdict.VIOLATED
    result = check(tmp_path, "d.pop(0)", "0 in d", "assert not seen[0]")
    assert result.verdict is Verdict.VIOLATED


def test_threads_that_use_different_items_are_explored_once(tmp_path: Path) -> None:
    result = check(tmp_path, "d.get(0)", "d.get(1)")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


def test_a_key_whose_comparison_is_code_of_the_model_lets_others_run_in_between(tmp_path: Path) -> None:
    key = (
        "type('Key', (), {'__hash__': lambda self: 0, '__eq__': lambda self, other: bool(kept.append(1))})()"
    )
    removes = f"_weakref._remove_dead_weakref(plain, {key})"
    assert check(tmp_path, removes, "len(kept)", "assert seen == [2]").verdict is Verdict.VIOLATED
    assert check(tmp_path, removes, "len(kept)", "assert seen == [3]").verdict is Verdict.VIOLATED
