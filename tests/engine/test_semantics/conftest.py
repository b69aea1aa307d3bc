"""One way of checking a model with the real engine, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SECONDS = 60.0


@pytest.fixture
def check() -> Callable[..., Any]:
    """Return `check(file, model, **options) -> ModelResult`, with every violation."""
    checking = pytest.importorskip("dpor.checking", reason="the engine is not built")
    from dpor.results import CheckRequest

    def run(file: Path, model: str, **options: Any) -> Any:
        request = CheckRequest(
            file=str(file),
            model=model,
            root=str(file.parent),
            options={"timeout": SECONDS, **options},
            all_violations=True,
        )
        return checking.check_model(request)

    return run
