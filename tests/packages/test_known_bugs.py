"""The bugs of `bugs.py` are found in the releases that have them, and the releases without them are verified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bugs import BUGS, Bug
from installed import installed

MODELS = Path(__file__).parent / "models"


def check(bug: Bug, *requirements: str) -> dict[str, Any]:
    """What a check of the bug's model tells, with these requirements installed."""
    folders = [str(installed(requirement)) for requirement in requirements]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-m", "dpor_lsp", "--check", f"{bug.model}.py::model"]
    ran = subprocess.run(
        [*command, "--no-cache", "--format", "json", "--timeout", "120"],
        cwd=MODELS,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout, ran.stderr
    (result,) = json.loads(ran.stdout)["models"]
    return result


def requirements_of(bug: Bug, release: str | None) -> list[str]:
    return [*bug.needs, *([] if release is None else [release])]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.model for bug in BUGS])
def test_a_bug_of_a_release_is_found(bug: Bug) -> None:
    if bug.until is not None and sys.version_info >= bug.until:
        pytest.skip(f"Python {bug.until[0]}.{bug.until[1]} has it no longer")
    result = check(bug, *requirements_of(bug, bug.broken))
    assert result["verdict"] == "violated"
    (violation,) = result["violations"]
    assert violation["code"] == bug.code.value
    assert bug.says in violation["message"]


FIXED = [bug for bug in BUGS if bug.fixed is not None]


@pytest.mark.parametrize("bug", FIXED, ids=[str(bug.fixed) for bug in FIXED])
def test_the_release_that_has_it_no_longer_is_verified(bug: Bug) -> None:
    assert check(bug, *requirements_of(bug, bug.fixed))["verdict"] == "verified"


def test_every_model_is_of_a_bug() -> None:
    assert sorted(path.stem for path in MODELS.glob("*.py")) == sorted(bug.model for bug in BUGS)
