"""Compares explorations of random programs with locks, as many as are asked for: see README.md."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from joined.command import parser, run

from sections.compare import compared
from sections.programs import made


def main() -> int:
    """Run the command; the exit code is 1 if two answers differ, or if sections take more executions."""
    arguments = parser(__doc__)
    arguments.add_argument(
        "--algorithm", default="optimal", help="how to explore step by step (default: optimal)"
    )
    options = arguments.parse_args()
    compare = functools.partial(compared, timeout=options.timeout, algorithm=options.algorithm)
    return run(options, made, compare, "sections", "step by step", may_cost_more=False)


if __name__ == "__main__":
    raise SystemExit(main())
