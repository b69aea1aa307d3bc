"""How many random programs a test takes, and from which seed: what `conftest.py` has made of the options."""

from __future__ import annotations

import os

PROGRAMS = int(os.environ["DPOR_PROGRAMS"])
SEED = int(os.environ["DPOR_PROGRAM_SEED"])
