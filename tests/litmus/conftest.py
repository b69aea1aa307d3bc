"""What every litmus test needs: one way of checking a model, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpor.checking import check as checking
from dpor.results import CheckRequest, ModelResult

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(__file__).resolve().parent / "models"
# Tests are imported by path, so that the shared loader of expectations has to be put within reach.
sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

Check = Callable[..., ModelResult]


@pytest.fixture
def check() -> Check:
    """Return `check(file, model, parameters, **options) -> ModelResult`: every violation, nothing cached."""

    def run(
        file: Path | str, model: str, parameters: dict[str, Any] | None = None, **options: Any
    ) -> ModelResult:
        path = Path(file) if Path(file).is_absolute() else MODELS / file
        all_violations = options.pop("all_violations", True)
        request = CheckRequest(
            file=str(path),
            model=model,
            root=str(path.parent),
            parameters=parameters or {},
            options=options,
            all_violations=all_violations,
        )
        return checking.check_model(request, lambda progress: None)

    return run
