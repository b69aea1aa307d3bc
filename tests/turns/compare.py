"""One program, explored by turns that are events and by drawing each decision of the loop."""

from __future__ import annotations

import enum
import functools
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
    by_turns: bool
    """Whether turns were events to the end, and not given up for drawn decisions."""


@dataclass(frozen=True)
class Comparison:
    """Both explorations of a program."""

    turns: Explored
    drawn: Explored

    @property
    def answer(self) -> Answer:
        """Whether they have found the same."""
        verdicts = self.turns.verdict, self.drawn.verdict
        if Verdict.INCOMPLETE in verdicts:
            return Answer.TOO_MANY
        # The outcomes of a program that fails are those up to the failure.
        same = verdicts[0] is verdicts[1] and (
            verdicts[0] is Verdict.VIOLATED or self.turns.outcomes == self.drawn.outcomes
        )
        return Answer.SAME if same else Answer.DIFFERENT


def compared(program: Path, timeout: float) -> Comparison:
    """Explore a program both ways, for so many seconds each at most."""
    return Comparison(explored(program, True, timeout), explored(program, False, timeout))


def explored(program: Path, turns: bool, timeout: float) -> Explored:
    """Explore a program."""
    outcomes: set[str] = set()
    by_turns = [False]
    request = CheckRequest(
        str(program), "model", str(program.parent), options={"turns": turns, "timeout": timeout}
    )
    with (
        mock.patch.object(dpor.hosted, "unrun", functools.partial(_keep, outcomes)),
        mock.patch.object(check, "explore", functools.partial(_watch, by_turns)),
    ):
        result = check_model(request)
    executions = result.executions + result.blocked
    return Explored(result.verdict, frozenset(outcomes), executions, result.redundant, by_turns[0])


def _watch(by_turns: list[bool], hosted: HostedModel, search: Search) -> Outcome:
    outcome = explore(hosted, search)
    by_turns[0] = outcome.by_turns and outcome.restart is None
    return outcome


def _keep(outcomes: set[str], result: object) -> None:
    # What a model returns is asked whether it is code that nobody runs.
    outcomes.add(repr(result))
