"""What several tests of the engine use is imported from here."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dpor.instrument.import_hook import Instrumentation

sys.path.insert(0, str(Path(__file__).resolve().parent))
# NumPy would start threads where it is imported, which a model cannot do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def reloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Has an entry for each time that the model's modules are loaded again."""
    found: list[str] = []
    reload_all = Instrumentation.reload_all

    def counting(instrumentation: Instrumentation) -> dict[str, ModuleType]:
        found.append("again")
        return reload_all(instrumentation)

    monkeypatch.setattr(Instrumentation, "reload_all", counting)
    return found


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules can be imported and are nobody's own: an environment's site-packages."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder
