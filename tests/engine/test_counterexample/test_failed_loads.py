"""A counterexample tells of a load that finds nothing, and not that it found None."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.phrases import effect_text
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, Pattern, ReplayRequest, TraceStep

MODEL = """
import dpor

TOTAL = 1

class Account:
    pass

@dpor.model
def model():
    account = Account()
    account.balance = 1
    items, prices = [None], {{"a": 1}}
    total = 1

    def take_away():
        nonlocal total
        global TOTAL
        {change}

    def use():
        {use}

    first, second = dpor.spawn(take_away), dpor.spawn(use)
    first.join()
    second.join()
"""
# What one thread takes away, what the other does, and what a report says of that.
CASES = {
    "item of a dict": ("prices.clear()", "prices['a'] += 1", "finds no prices['a']"),
    "item after a look": ("prices.clear()", "'a' in prices and prices['a']", "finds no prices['a']"),
    "item of a list": ("items.clear()", "items and items[0]", "finds no items[0]"),
    "attribute": (
        "del account.balance",
        "hasattr(account, 'balance') and account.balance",
        "finds no Account#1.balance",
    ),
    "variable": ("del total", "total + 1", "finds no total"),
    "global variable": ("del TOTAL", "TOTAL + 1", "finds no TOTAL"),
}


def missing_step(tmp_path: Path, name: str, **options: object) -> TraceStep:
    change, use, _ = CASES[name]
    file = tmp_path / "model.py"
    file.write_text(MODEL.format(change=change, use=use), encoding="utf-8")
    request = CheckRequest(str(file), "model", str(tmp_path), options=options)
    (violation,) = check_model(request).violations
    replayed = replay_model(ReplayRequest(str(file), "model", str(tmp_path), violation.schedule))
    assert replayed.violation is not None
    assert replayed.divergence is None
    (step,) = (step for step in violation.trace if step.operation == "miss")
    return step


@pytest.mark.parametrize("options", [{}, {"memory_model": "pso"}], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_load_that_finds_nothing_is_told_as_such(
    tmp_path: Path, name: str, options: dict[str, object]
) -> None:
    step = missing_step(tmp_path, name, **options)
    assert step.value is None
    assert effect_text(step).startswith(CASES[name][2])


def test_a_load_that_finds_none_is_told_as_ever(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL.format(change="items.append(1)", use="assert items[-1]"), encoding="utf-8")
    (violation,) = check_model(CheckRequest(str(file), "model", str(tmp_path))).violations
    assert "items[-1] = None" in [effect_text(step) for step in violation.trace]


def test_an_attribute_that_is_gone_after_a_look_is_a_check_then_act(tmp_path: Path) -> None:
    change, use, _ = CASES["attribute"]
    file = tmp_path / "model.py"
    file.write_text(MODEL.format(change=change, use=use), encoding="utf-8")
    (violation,) = check_model(CheckRequest(str(file), "model", str(tmp_path))).violations
    assert violation.pattern is Pattern.CHECK_THEN_ACT
