"""Compares explorations of random asyncio programs, as many as are asked for: see README.md."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from joined.command import parser, run

from turns.compare import compared
from turns.programs import made


def main() -> int:
    """Run the command; the exit code is 1 if two answers differ."""
    options = parser(__doc__).parse_args()
    compare = functools.partial(compared, timeout=options.timeout)
    return run(options, made, compare, "turns", "drawn", may_cost_more=True)


if __name__ == "__main__":
    raise SystemExit(main())
