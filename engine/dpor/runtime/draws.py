"""What a thread of a model draws: from generators of its own, so that the draws of others do not change it.

So does each task of an event loop, which is no thread, but takes its turns in an order that others decide.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


class Source(enum.Enum):
    """What programs draw from."""

    SHARED = "the functions of random"
    ENTROPY = "the operating system"


@dataclass(slots=True)
class Draws:
    """The generators of a thread, and how often it was given a name.

    `generators` are those of its tasks, by their numbers, with 0 for what is none's. `made` counts what it has made in
    the world outside, such as open files, and `names` the names of temporary files. By `dpor_number` the kernel knows
    that callbacks share the generators that are none's.
    """

    generators: dict[tuple[Source, int], random.Random] = field(
        default_factory=dict["tuple[Source, int]", "random.Random"]
    )
    made: int = 0
    names: int = 0
    dpor_number: int | None = None
