"""One program, explored with steps that are joined into one event and by single steps."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import dpor.hosted
from dpor._kernel import Outcome
from dpor.checking import check, check_model
from dpor.checking.exploration import Search, explore
from dpor.hosted import HostedModel
from dpor.results import CheckRequest, Verdict


class Answer(enum.Enum):
    """How two explorations of a program compare."""

    SAME = "the same"
    DIFFERENT = "different"
    TOO_MANY = "too many orders"


@dataclass(frozen=True)
class Explored:
    """What an exploration has found."""

    verdict: Verdict
    outcomes: frozenset[str]
    executions: int
    redundant: int
    assumptions: frozenset[tuple[str, str]]
    is_joined: bool
    """Whether joined steps were events to its end, and not given up for single ones."""


@dataclass(frozen=True)
class Comparison:
    """Both explorations of a program."""

    joined: Explored
    single: Explored

    @property
    def answer(self) -> Answer:
        """Whether they have found the same, and what single steps assume is said of joined ones, too."""
        joined, single = self.joined, self.single
        if Verdict.INCOMPLETE in (joined.verdict, single.verdict):
            return Answer.TOO_MANY
        # The outcomes of a program that fails are those up to the failure.
        same = joined.verdict is single.verdict and (
            joined.verdict is Verdict.VIOLATED
            or (joined.outcomes == single.outcomes and joined.assumptions >= single.assumptions)
        )
        return Answer.SAME if same else Answer.DIFFERENT

    @property
    def costs_more(self) -> bool:
        """Whether it takes more executions to join steps, of a program that does not fail."""
        return self.single.verdict is Verdict.VERIFIED and self.joined.executions > self.single.executions


def explored(program: Path, options: Mapping[str, object], has_joined: Callable[[Outcome], bool]) -> Explored:
    """Explore a program with these options; `has_joined` tells of an exploration whether joined steps were events."""
    outcomes: set[str] = set()
    is_joined = [False]
    with (
        mock.patch.object(dpor.hosted, "unrun", functools.partial(_keep, outcomes)),
        mock.patch.object(check, "explore", functools.partial(_watch, is_joined, has_joined)),
    ):
        result = check_model(CheckRequest(str(program), "model", str(program.parent), options=options))
    return Explored(
        result.verdict,
        frozenset(outcomes),
        result.executions + result.blocked,
        result.redundant,
        frozenset((one.kind.value, one.subject) for one in result.assumptions),
        is_joined[0],
    )


def _watch(
    is_joined: list[bool], has_joined: Callable[[Outcome], bool], hosted: HostedModel, search: Search
) -> Outcome:
    outcome = explore(hosted, search)
    is_joined[0] = has_joined(outcome) and outcome.restart is None
    return outcome


def _keep(outcomes: set[str], result: object) -> None:
    # What a model returns is asked whether it is code that nobody runs.
    outcomes.add(repr(result))
