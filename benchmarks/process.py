"""Time `dpor-lsp --check` of one small model as a whole process, cold and from the cache."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import rows

COLD_SECONDS = 0.6
CACHED_SECONDS = 0.3
REPEATS = 5
COMMAND = [sys.executable, "-m", "dpor_lsp"]


def measure() -> list[dict[str, Any]]:
    """Return two measurements (`name`, median `seconds`, `target`, `status`)."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(rows.SPEED_MODELS, Path(folder) / "speed.py")
        cold = [_check(folder, "--no-cache") for _ in range(REPEATS)]
        _check(folder)
        cached = [_check(folder) for _ in range(REPEATS)]
    return [
        _measurement("dpor-lsp --check, cold", cold, COLD_SECONDS),
        _measurement("dpor-lsp --check, cached", cached, CACHED_SECONDS),
    ]


def _check(folder: str, *arguments: str) -> float | str:
    """Seconds of one run, or the last line of what went wrong."""
    paths = [str(rows.ROOT / "engine"), str(rows.ROOT / "server"), os.environ.get("PYTHONPATH", "")]
    start = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, "--check", "speed.py::small", "--format", "json", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    return seconds if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]


def _measurement(name: str, runs: list[float | str], limit: float) -> dict[str, Any]:
    failures = [run for run in runs if isinstance(run, str)]
    if failures:
        return {"name": name, "target": f"{limit} s", "status": f"failed: {failures[0]}"}
    seconds = statistics.median(run for run in runs if isinstance(run, float))
    status = "ok" if seconds <= limit else "slow"
    return {"name": name, "seconds": seconds, "target": f"{limit} s", "status": status}
