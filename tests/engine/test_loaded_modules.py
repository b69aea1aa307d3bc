"""A check loads what its model needs, and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_MODEL = """
import threading
import dpor

@dpor.model
def model():
    found = []
    thread = threading.Thread(target=found.append, args=(1,))
    thread.start()
    thread.join()
    {more}
"""
_CHECK = """
import sys
from dpor.checking import check_model
from dpor.results import CheckRequest
result = check_model(CheckRequest("model.py", "model", sys.argv[1]))
print(result.verdict.value, "asyncio" in sys.modules)
"""


def loaded(folder: Path, more: str) -> str:
    (folder / "model.py").write_text(_MODEL.format(more=more), encoding="utf-8")
    command = [sys.executable, "-c", _CHECK, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_check_of_threads_does_not_load_asyncio(tmp_path: Path) -> None:
    assert loaded(tmp_path, "pass") == "verified False"


def test_a_model_may_load_asyncio(tmp_path: Path) -> None:
    assert loaded(tmp_path, "import asyncio") == "verified True"
