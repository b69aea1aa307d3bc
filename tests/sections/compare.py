"""One program, explored with critical sections as events and step by step."""

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
    """What an exploration has found; `by_sections` says that sections were events to its end."""

    verdict: Verdict
    outcomes: frozenset[str]
    executions: int
    redundant: int
    by_sections: bool
    messages: frozenset[str]


@dataclass(frozen=True)
class Comparison:
    """Both explorations of a program."""

    sections: Explored
    steps: Explored

    @property
    def answer(self) -> Answer:
        """Whether they have found the same, by no more executions."""
        verdicts = self.sections.verdict, self.steps.verdict
        if Verdict.INCOMPLETE in verdicts:
            return Answer.TOO_MANY
        # The outcomes of a program that fails are those up to the failure.
        same = verdicts[0] is verdicts[1] and (
            verdicts[0] is Verdict.VIOLATED
            or (
                self.sections.outcomes == self.steps.outcomes
                and self.sections.executions <= self.steps.executions
            )
        )
        return Answer.SAME if same else Answer.DIFFERENT


def compared(program: Path, timeout: float, algorithm: str = "optimal") -> Comparison:
    """Explore a program both ways, for so many seconds each at most; step by step with another algorithm."""
    return Comparison(
        explored(program, True, timeout, "optimal"), explored(program, False, timeout, algorithm)
    )


def explored(program: Path, sections: bool, timeout: float, algorithm: str) -> Explored:
    """Explore a program."""
    outcomes: set[str] = set()
    by_sections = [False]
    options = {"sections": sections, "timeout": timeout, "algorithm": algorithm}
    with (
        mock.patch.object(dpor.hosted, "unrun", functools.partial(_keep, outcomes)),
        mock.patch.object(check, "explore", functools.partial(_watch, by_sections)),
    ):
        result = check_model(CheckRequest(str(program), "model", str(program.parent), options=options))
    return Explored(
        result.verdict,
        frozenset(outcomes),
        result.executions + result.blocked,
        result.redundant,
        by_sections[0],
        frozenset(violation.message for violation in result.violations),
    )


def _watch(by_sections: list[bool], hosted: HostedModel, search: Search) -> Outcome:
    outcome = explore(hosted, search)
    by_sections[0] = outcome.by_sections and outcome.restart is None
    return outcome


def _keep(outcomes: set[str], result: object) -> None:
    # What a model returns is asked whether it is code that nobody runs.
    outcomes.add(repr(result))
