"""What one run of the command has to report, and the exit code that says it in a number."""

from __future__ import annotations

import enum
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dpor.errors import DporError
from dpor.results import ModelResult, Reason, Verdict


class ExitCode(enum.IntEnum):
    """The exit codes of the command."""

    EXPECTED = 0
    VIOLATION = 1
    ERROR = 2
    INCOMPLETE = 3

    @property
    def meaning(self) -> str:
        """What the exit code says, in a few words."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.EXPECTED: "every verdict is as expected",
    ExitCode.VIOLATION: "a verdict is not the expected one",
    ExitCode.ERROR: "a usage error, or a model that cannot be checked",
    ExitCode.INCOMPLETE: "a check was not complete",
}
_WEIGHT = (ExitCode.EXPECTED, ExitCode.INCOMPLETE, ExitCode.VIOLATION, ExitCode.ERROR)


@dataclass(frozen=True)
class Entry:
    """One model's result, and the root that its file names are relative to."""

    result: ModelResult
    root: Path


@dataclass(frozen=True)
class Report:
    """The results of a run, in the order of the targets; `root` is the folder that the report as a whole is about."""

    entries: tuple[Entry, ...]
    root: Path
    seconds: float = 0.0
    started: float = field(default_factory=time.time)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the run."""
        return exit_code(entry.result for entry in self.entries)


def result_exit_code(result: ModelResult) -> ExitCode:
    """Return the exit code that one result alone would give."""
    if result.as_expected:
        return ExitCode.EXPECTED
    if result.verdict is Verdict.ERROR:
        return ExitCode.ERROR
    if result.verdict is Verdict.INCOMPLETE:
        return ExitCode.INCOMPLETE
    return ExitCode.VIOLATION


def exit_code(results: Iterable[ModelResult]) -> ExitCode:
    """Return the exit code of several results: an error outweighs a violation, that an incomplete check."""
    return max((result_exit_code(result) for result in results), key=_WEIGHT.index, default=ExitCode.EXPECTED)


def raised(reason: Reason) -> DporError:
    """Return a reason as the exception that carries it."""
    return DporError(reason.code, reason.message, reason.fix, reason.location)
