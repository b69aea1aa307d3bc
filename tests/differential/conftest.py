"""Options and paths of the differential tests."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

# Tests are imported by path, so that the generator and its parts have to be put within reach.
sys.path.insert(0, str(Path(__file__).resolve().parent))

# For each test in a plain run, and with `--whole`.
DEFAULT_PROGRAMS = 12
WHOLE_PROGRAMS = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--programs", type=int, default=None, help="random programs for each differential test")
    parser.addoption("--program-seed", type=int, default=None, help="seed of the random programs")


def pytest_configure(config: pytest.Config) -> None:
    # The options only exist if this folder was named on the command line; otherwise the environment decides.
    usual = WHOLE_PROGRAMS if config.getoption("--whole", False) else DEFAULT_PROGRAMS
    programs = config.getoption("--programs", None)
    seed = config.getoption("--program-seed", None)
    os.environ["DPOR_PROGRAMS"] = str(programs or os.environ.get("DPOR_PROGRAMS", usual))
    if seed is None:
        seed = os.environ.get("DPOR_PROGRAM_SEED", _seed())
    os.environ["DPOR_PROGRAM_SEED"] = str(seed)


def _seed() -> int:
    """In continuous integration the seed is that of the sources, so that a run of the same sources draws the same
    programs again; elsewhere it is another one each time.
    """
    if os.environ.get("CI"):
        command = ["git", "rev-parse", "HEAD^{tree}"]
        tree = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        ).stdout
        if tree:
            return int(tree[:8], 16)
    return random.SystemRandom().randrange(2**32)


def pytest_report_header() -> str:
    return (
        f"differential: {os.environ['DPOR_PROGRAMS']} programs a test, seed {os.environ['DPOR_PROGRAM_SEED']}"
    )
