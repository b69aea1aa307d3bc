"""A program cannot tell by its values, classes and variables that it is being checked."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

PROGRAMS = Path(__file__).resolve().parent / "data" / "same_values.py"
NAMES = [
    node.name
    for node in ast.parse(PROGRAMS.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and not node.args.args and node.args.vararg is None
]
PLAIN = """
import json, sys
import same_values
print(json.dumps({name: repr(getattr(same_values, name)()) for name in sys.argv[1:]}))
"""


@pytest.fixture(scope="module")
def in_python() -> dict[str, str]:
    """What each function gives in plain Python."""
    command = [sys.executable, "-c", PLAIN, *NAMES]
    done = subprocess.run(command, cwd=PROGRAMS.parent, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_sees_what_python_shows(tmp_path: Path, in_python: dict[str, str], name: str) -> None:
    (tmp_path / "same_values.py").write_text(PROGRAMS.read_text(encoding="utf-8"))
    model = tmp_path / "model.py"
    model.write_text(f"""
import same_values
import dpor

@dpor.model
def model():
    found = repr(same_values.{name}())
    assert found == {in_python[name]!r}, found
""")
    result = check_model(CheckRequest(str(model), "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result
