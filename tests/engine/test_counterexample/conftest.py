"""This folder is put on the path, so that tests can import the scripted scheduler."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
