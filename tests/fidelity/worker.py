"""A process that runs the methods of one test module: in plain CPython, or as models."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent)]


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=("plain", "checked"))
    parser.add_argument("module")
    parser.add_argument("--patience", type=float, default=60.0)
    parser.add_argument("--executions", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    # The names of methods, of which there may be more than a command line takes.
    named = sys.stdin.read().split()
    if options.side == "plain":
        from fidelity import plain

        plain.serve(options.module, named, options.patience, options.every)
    else:
        from dpor_lsp.checking.worker import enlarge_stack
        from fidelity import checked

        enlarge_stack()
        checked.serve(options.module, named, options.patience, options.executions)


main()
