"""What a thread of a model draws: from generators of its own, so that the draws of others do not change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


@dataclass(slots=True)
class Draws:
    """The generators of a thread, None before it has drawn, and how often it was given a name.

    `shared` stands for the functions of `random`, `entropy` for the operating system's. `made` counts what it has made
    in the world outside, such as open files, and `names` the names of temporary files.
    """

    shared: random.Random | None = None
    entropy: random.Random | None = None
    made: int = 0
    names: int = 0
