"""Operations whose accesses depend on the state have all their classes, whichever side is seen first."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parent / "models" / "conditional_accesses.py"


def _expected():
    for node in ast.parse(FILE.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            return ast.literal_eval(node.value)
    raise LookupError("no EXPECTED")


@pytest.mark.parametrize("algorithm", ["exhaustive", "optimal", "source", "parsimonious", "graph"])
@pytest.mark.parametrize(("model", "counts"), _expected().items())
def test_every_class_is_found(model, counts, algorithm, check):
    result = check(FILE, model, algorithm=algorithm)
    if algorithm == "graph" and model.startswith("wait_"):
        # There a wait is a loop that looks, and a spin read is an execution in which the thread is left waiting.
        assert result.executions == counts[0]
        assert result.blocked >= counts[1]
        return
    assert (result.executions, result.blocked) == counts
    if algorithm in ("optimal", "parsimonious", "graph"):
        assert result.redundant == 0
