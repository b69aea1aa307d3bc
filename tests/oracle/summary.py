"""Totals of many comparisons, and which operations the wrong ones have in common."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from oracle.compare import Comparison, Finding, describe
from oracle.programs import Program
from oracle.schedules import NEVER


@dataclass(frozen=True)
class Report:
    """What is kept of a comparison: short enough for a million of them. `operations` is empty if nothing is wrong."""

    name: str
    algorithm: str
    finding: Finding
    detail: str
    operations: frozenset[tuple[str, str]] = frozenset()
    text: str = ""


def report(comparison: Comparison, algorithm: str, whole: bool) -> Report:
    """What is kept of the comparison; all of its text if `whole`."""
    wrong = comparison.finding in WRONG
    detail = comparison.checked.refused or comparison.checked.bounded or ""
    if comparison.finding is Finding.ALARM:
        complete = comparison.observed.complete
        detail = (
            "no schedule has it" if complete == NEVER else f"no schedule with {complete} preemptions has it"
        )
    if comparison.finding is Finding.ASSUMED:
        detail = ", ".join(sorted({one.kind.value for one in comparison.checked.assumptions}))
    program = comparison.program
    return Report(
        program.name,
        algorithm,
        comparison.finding,
        detail,
        operations_of(program) if wrong else frozenset(),
        describe(comparison) if wrong or whole else "",
    )


def operations_of(program: Program) -> frozenset[tuple[str, str]]:
    """The operations of a program, with what they work on."""
    kind = "+".join(program.kinds)
    return frozenset((kind, text) for body in program.operations for text in body)


WRONG = frozenset({Finding.FALSE_PASS, Finding.ALARM, Finding.UNDECIDED, Finding.DIFFER})


def totals(reports: Iterable[Report]) -> Iterator[str]:
    """Lines with how many programs there are of each sort."""
    tally = collections.Counter((one.algorithm, one.finding.value, one.detail) for one in reports)
    for (algorithm, finding, detail), count in sorted(tally.items(), key=lambda item: -item[1]):
        yield f"{count:8} {algorithm}: {finding}{', ' if detail else ''}{detail}"


def in_common(reports: Iterable[Report], finding: Finding) -> Iterator[str]:
    """Lines with operations that explain the programs of that sort, those in most of them first. A program counts for
    the first operation that it has.
    """
    left = {one for one in reports if one.finding is finding}
    while left:
        counts = collections.Counter(operation for one in left for operation in one.operations)
        if not counts:
            return
        most = max(counts, key=lambda operation: (counts[operation], operation))
        those = {one for one in left if most in one.operations}
        shortest = min(those, key=lambda one: (len(one.operations), len(one.text), one.name))
        kind, text = most
        yield f"{len(those):6} {kind}: {text!r}   ({shortest.name})"
        left -= those
