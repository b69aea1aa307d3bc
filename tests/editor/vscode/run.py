"""Run the tests of the extension in a real VS Code.

    python3 tests/editor/vscode/run.py [prepare | host | ui]

Makes what is needed (see `environment.py`), builds the extension, and runs the tests that VS Code's extension host
runs (`host/`) and those that drive the user interface in a browser (`ui_tests.mjs`). The interpreter of the models is
the one that runs this. `prepare` makes what is needed and runs none. Exits with 0 if all pass, and also if they cannot
be run on this machine, after saying why.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import environment

HERE = Path(__file__).resolve().parent
EXTENSION = HERE.parents[2] / "vscode-extension"
TESTS = {"host": "run_host_tests.mjs", "ui": "ui_tests.mjs"}
TIMEOUT = 280
"""Seconds for each of TESTS."""


def main(wanted: list[str]) -> int:
    """Run the tests and return the exit code."""
    try:
        tools = environment.prepare()
    except environment.Unavailable as reason:
        print(f"The tests in VS Code are skipped: {reason}")
        return 0
    if wanted == ["prepare"]:
        return 0
    node = str(tools / "bin" / "node")
    subprocess.run([node, "esbuild.mjs", "--host"], cwd=EXTENSION, check=True)
    variables = os.environ | {
        "DPOR_EDITOR_TOOLS": str(tools),
        "DPOR_CHROMIUM": environment.browser() or "",
        "DPOR_PYTHON": sys.executable,
        # One that has no dpor-lsp.
        "DPOR_BARE_PYTHON": str(tools / "node" / "bin" / "python"),
    }
    variables.pop("PYTHONPATH", None)
    failed = 0
    for name in wanted or TESTS:
        command = [node, str(HERE / TESTS[name])]
        failed += subprocess.run(command, env=variables, timeout=TIMEOUT, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
