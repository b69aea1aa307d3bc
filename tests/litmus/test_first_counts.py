"""Small models of ordinary Python (locks, attributes, dicts, lists, conditions) have exact counts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parent / "models" / "first_counts.py"


def _expected():
    """Read EXPECTED out of the file without importing it: the models are only run by the engine."""
    for node in ast.parse(FILE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return ast.literal_eval(node.value)
    raise LookupError("no EXPECTED")


EXPECTED = _expected()
CASES = [
    pytest.param(model, dict(parameters), counts, id="-".join([model, *(f"{k}={v}" for k, v in parameters)]))
    for (model, parameters), counts in EXPECTED.items()
]


def _models():
    nodes = ast.parse(FILE.read_text(encoding="utf-8")).body
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.decorator_list}


def test_every_model_is_expected_somewhere():
    assert _models() == {model for model, _ in EXPECTED}


@pytest.mark.parametrize(("model", "parameters", "counts"), CASES)
def test_optimal_explores_each_class_once(model, parameters, counts, check):
    result = check(FILE, model, parameters, algorithm="optimal")
    assert (result.executions, result.blocked, result.redundant) == (*counts, 0)


@pytest.mark.parametrize(("model", "parameters", "counts"), CASES)
def test_source_finds_the_same_classes(model, parameters, counts, check):
    result = check(FILE, model, parameters, algorithm="source")
    assert (result.executions, result.blocked) == counts


@pytest.mark.parametrize(
    ("model", "parameters", "counts"), [case for case in CASES if sum(case.values[2]) <= 60]
)
def test_every_access_an_event_makes_no_further_classes(model, parameters, counts, check):
    result = check(FILE, model, parameters, algorithm="optimal", elide=False)
    assert (result.executions, result.blocked, result.redundant) == (*counts, 0)
