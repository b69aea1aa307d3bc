"""What is left of a check: to go on with later, or to explore in parts by several processes at once.

A check rests on what it has learned of the model (which locations race, whether modules have to be loaded afresh). A
process that takes a part over learns the same first, by running the executions that taught it: numbers of locations
mean nothing outside a process, schedules do. Whoever learns something new where several explore makes all of them
begin again, with what is known to all then.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dpor.results import Assumption

VERSION = 4

Choices = list[tuple[str, int]]


class FactKind(enum.Enum):
    """What made an exploration begin again."""

    VISIBLE = "visible"
    MODULE_STATE = "module-state"
    REBOUND = "rebound"
    OPERANDS = "operands"


@dataclass(frozen=True)
class LearnedFact:
    """Something that an exploration found out about its model.

    `schedule` is the execution that made a location visible, as `write_choices` gives it; `names` the module and the
    variable that is rebound, and so on.
    """

    kind: FactKind
    schedule: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checkpoint:
    """What is left of a check, and what was counted up to there.

    `frontiers` are the kernel's texts; none means the whole exploration. `seconds` were used and `fraction` (0 to 1)
    is done, by the kernel's estimate. `dependencies` and `contents` are those of a result so far,
    `assumptions` what it rests on.
    """

    executions: int = 0
    blocked: int = 0
    redundant: int = 0
    events: int = 0
    seconds: float = 0.0
    fraction: float = 0.0
    frontiers: tuple[str, ...] = ()
    learned: tuple[LearnedFact, ...] = ()
    dependencies: tuple[str, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict[str, str])
    assumptions: tuple[Assumption, ...] = ()
    version: int = VERSION


class LearnedError(Exception):
    """A check that others take part in has learned something: all have to begin again with these facts."""

    def __init__(self, learned: Iterable[LearnedFact]) -> None:
        super().__init__("a check that is shared has to begin again")
        self.learned = tuple(learned)


@dataclass(frozen=True)
class Sharing:
    """How a check that can be continued is continued and shared.

    `checkpoint` is where to begin (None: at the beginning). `keep` is called with a checkpoint about once a second, and
    when a bound ends the check. `wanted` says whether somebody wants a part of it; `give` is then called with that part
    (None if there is nothing to spare) and with what is left without it. `shared` says that others explore parts
    already.
    """

    checkpoint: Checkpoint | None = None
    keep: Callable[[Checkpoint], None] | None = None
    wanted: Callable[[], bool] | None = None
    give: Callable[[Checkpoint | None, Checkpoint], None] | None = None
    shared: bool = False


def write_choices(choices: Choices) -> str:
    """The choices as text: `path`, `:outcome` if that is not 0, `*count` if it is repeated."""
    words: list[str] = []
    for (path, outcome), same in itertools.groupby(choices):
        count = len(list(same))
        words.append(path + (f":{outcome}" if outcome else "") + (f"*{count}" if count > 1 else ""))
    return " ".join(words)


def read_choices(text: str) -> Choices:
    """The choices that `write_choices` wrote. Raises ValueError for anything else."""
    choices: Choices = []
    for word in text.split():
        step, _, count = word.partition("*")
        path, _, outcome = step.partition(":")
        choices += [(path, int(outcome or 0))] * int(count or 1)
    return choices
