"""The surfaces that can be attacked, each with the module that does it."""

from __future__ import annotations

import enum
import importlib
from collections.abc import Callable
from pathlib import Path

Attack = Callable[[int, int, Path], list[str]]
"""From a seed, how many cases to try, and an empty folder: the bad cases, each as a text."""


class Surface(enum.Enum):
    """What users, editors, programs and other processes reach; the value is its name on the command line."""

    COMMAND_LINES = "command-line"
    LANGUAGE_SERVER = "language-server"
    LIFE_CYCLES = "life-cycle"
    EDITS = "edits"
    DEBUG_ADAPTER = "debug-adapter"
    CACHES = "cache"
    KILLS = "kills"
    PYTEST_RUNS = "pytest"

    def attack(self) -> Attack:
        """What attacks it: the module of the surface's name in this package."""
        module = importlib.import_module(f"attack.{self.name.lower()}")
        attack: Attack = module.attack
        return attack
