"""Every model in `models/` comes to what the standard library allows, and to nothing else.

A model file says what is right: `EXPECTED` gives, for each model, "verified" or all that its executions may come to
(what it passes to `outcome`, or a violation), and `COUNTS` for some how many executions and blocked executions that
takes.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import pytest

from dpor.codes import Code

MODELS = Path(__file__).resolve().parent / "models"


def _constants(file: Path) -> dict[str, Any]:
    """Read EXPECTED and COUNTS out of a file without importing it: the models are only run by the engine."""
    found: dict[str, Any] = {"EXPECTED": {}, "EXPECTED_IN_3_11": {}, "COUNTS": {}}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in found:
                found[name] = ast.literal_eval(node.value)
    if sys.version_info < (3, 12):
        found["EXPECTED"] |= found["EXPECTED_IN_3_11"]
    return found


def _models(file: Path) -> set[str]:
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        node.name
        for node in functions
        if node.decorator_list and "model" in ast.unparse(node.decorator_list[0])
    }


FILES = {file: _constants(file) for file in sorted(MODELS.glob("*.py"))}
CASES = [
    pytest.param(file, model, expected, constants["COUNTS"].get(model), id=f"{file.stem}-{model}")
    for file, constants in FILES.items()
    for model, expected in constants["EXPECTED"].items()
]


def _outcome(violation: Any) -> str:
    if violation.kind.is_standstill:
        return violation.kind.value
    if violation.code is Code.EXCEPTION and ":" not in violation.message:
        return violation.message
    return f"{violation.code.value} {violation.message}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_model_is_expected_to_come_to_something(file: Path) -> None:
    assert _models(file) == set(FILES[file]["EXPECTED"])
    assert set(FILES[file]["COUNTS"]) <= set(FILES[file]["EXPECTED"])


@pytest.mark.parametrize(("file", "model", "expected", "counts"), CASES)
def test_a_model_comes_to_what_it_may_come_to(
    file: Path, model: str, expected: Any, counts: Any, check: Any
) -> None:
    result = check(file, model)
    assert result.reason is None
    found = sorted({_outcome(violation) for violation in result.violations})
    assert found == ([] if expected == "verified" else sorted(expected))
    assert result.redundant == 0
    if counts is not None:
        assert (result.executions, result.blocked) == tuple(counts)
