"""Attacks the surfaces of the checker with cases drawn from a seed, and says how many were bad.

python tests/attack/run.py                               a share of each surface, as CI does
python tests/attack/run.py command-line --tried 1000     one surface, as often as asked for
python tests/attack/run.py edits --seed 7 --tried 20     other cases

What counts as bad is written at the head of each surface's module.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attack.surfaces import Surface

SHARE = 20


def main() -> int:
    """Run the command; the exit code is 1 if a case was bad."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [surface.value for surface in Surface]
    parser.add_argument("surfaces", nargs="*", metavar="SURFACE", help=", ".join(names))
    parser.add_argument("--tried", type=int, default=SHARE, help="how many cases of each surface")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    unknown = [name for name in options.surfaces if name not in names]
    if unknown:
        parser.error(f"there is no surface {unknown[0]!r}: {', '.join(names)}")
    failed = False
    for surface in map(Surface, options.surfaces or names):
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="attack-") as folder:
            bad = surface.attack()(options.seed, options.tried, Path(folder).resolve())
        for text in bad:
            print(text)
        print(
            f"{surface.value}: tried {options.tried}, bad {len(bad)}, {time.monotonic() - begun:.0f} s",
            flush=True,
        )
        failed |= bool(bad)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
