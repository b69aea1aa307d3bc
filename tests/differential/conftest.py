"""Options and paths of the differential tests."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

# Tests are imported by path, so that the generator and its parts have to be put within reach.
sys.path.insert(0, str(Path(__file__).resolve().parent))

DEFAULT_PROGRAMS = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--programs", type=int, default=None, help="random programs for each differential test")
    parser.addoption("--program-seed", type=int, default=None, help="seed of the random programs")


def pytest_configure(config: pytest.Config) -> None:
    # The options only exist if this folder was named on the command line; otherwise the environment decides.
    programs = config.getoption("--programs", None)
    seed = config.getoption("--program-seed", None)
    os.environ["DPOR_PROGRAMS"] = str(programs or os.environ.get("DPOR_PROGRAMS", DEFAULT_PROGRAMS))
    fallback = os.environ.get("DPOR_PROGRAM_SEED", random.SystemRandom().randrange(2**32))
    os.environ["DPOR_PROGRAM_SEED"] = str(seed if seed is not None else fallback)


def pytest_report_header() -> str:
    return (
        f"differential: {os.environ['DPOR_PROGRAMS']} programs a test, seed {os.environ['DPOR_PROGRAM_SEED']}"
    )
