"""Run the test suite.

    python3 scripts/run_tests.py [argument of pytest ...]

Does its own set-up in `.venv` (see `environment.py`). Without arguments the tests run on all cores.
"""

from __future__ import annotations

import sys

import environment


def main(arguments: list[str]) -> int:
    """Run pytest and return its exit code."""
    environment.prepare()
    return environment.run("python", "-m", "pytest", *(arguments or ["-n", "auto"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
