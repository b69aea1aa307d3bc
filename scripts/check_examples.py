"""Check every model in `examples/` and show one counterexample in full.

    python3 scripts/check_examples.py

Does its own set-up in `.venv` (see `environment.py`). Exits with 0 if every model has the verdict that its
file announces, and with the exit code of `dpor-lsp --check` otherwise.
"""

from __future__ import annotations

import sys

import environment

SHOWN = "examples/packages/sortedcontainers_duplicates.py::key_twice"


def main() -> int:
    """Check, show, and return the exit code."""
    environment.prepare()
    code = environment.run("dpor-lsp", "--check", "examples")
    print(f"\nA bug in a package from PyPI, step by step and then thread by thread, {SHOWN}:\n", flush=True)
    environment.run("dpor-lsp", "--replay", SHOWN)
    return code


if __name__ == "__main__":
    sys.exit(main())
