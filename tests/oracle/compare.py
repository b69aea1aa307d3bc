"""Compares what a check says of a program with what plain Python was seen to do."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpor.results import AssumptionKind
from oracle.checker import Checked, check, preemptions_needed
from oracle.client import Oracle
from oracle.programs import Program
from oracle.schedules import NEVER, Effort, Observed
from oracle.tables.known import FINER

_SEED = "PYTHONHASHSEED"


class Finding(enum.Enum):
    """How the two answers compare."""

    AGREES = "agrees"
    FALSE_PASS = "false pass"
    ASSUMED = "outcome missing, with an assumption"
    ALARM = "alarm"
    FINER = "alarm, explained by the atomicity table"
    OUTLIVED = "alarm, explained by the assumption of when objects end"
    REHASHED = "alarm, explained by the seed of hashes, which is not fixed"
    UNOBSERVED = "not observed"
    REFUSED = "refused"
    BOUNDED = "check reached a bound"
    UNDECIDED = "the oracle could not run it"
    DIFFER = "explorers differ"


@dataclass(frozen=True)
class Comparison:
    """A program with both answers, and what only one of them has."""

    program: Program
    finding: Finding
    checked: Checked
    observed: Observed = field(default_factory=Observed)
    missing: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


QUICK = Effort(executions=150, preemptions=2, seconds=1.0)

THOROUGH = (
    Effort(executions=1500, preemptions=6, seconds=2.0, focused=True),
    Effort(executions=1500, preemptions=3, seconds=2.0),
    Effort(executions=10_000, preemptions=4, seconds=8.0),
)
"""What is run before a check is doubted, one after the other."""

# Of how many outcomes that only the check shows it is asked how many preemptions they need: each is a check of its
# own, and what makes one outcome of a program impossible seldom does so for one alone.
_ASKED = 40


def compare(
    program: Program,
    oracle: Oracle,
    folder: Path,
    algorithm: str = "optimal",
    effort: Effort = QUICK,
    thorough: Sequence[Effort] = THOROUGH,
) -> Comparison:
    """Check the program and run it, and say how the answers compare."""
    checked = check(program, folder, algorithm)
    if checked.refused:
        return Comparison(program, Finding.REFUSED, checked)
    if checked.bounded:
        return Comparison(program, Finding.BOUNDED, checked)
    observed = oracle.observe(program, effort)
    if observed is None:
        return Comparison(program, Finding.UNDECIDED, checked)
    missing, unseen = _differences(checked, observed)
    finer = any(re.search(one, program.text) for one in FINER)
    for more in thorough:
        # An outcome that needs more than was run is looked for longer before the check is doubted.
        if missing or not unseen or observed.complete == NEVER or finer:
            break
        observed = _together(observed, oracle.observe(program, more), more.focused)
        missing, unseen = _differences(checked, observed)
    finding = Finding.AGREES
    if missing:
        finding = Finding.ASSUMED if checked.assumptions else Finding.FALSE_PASS
    elif unseen and finer:
        finding = Finding.FINER
    elif unseen:
        asked = unseen[:: -(-len(unseen) // _ASKED)]
        within = (preemptions_needed(program, outcome, folder) <= observed.complete for outcome in asked)
        finding = _explained(checked) if any(within) else Finding.UNOBSERVED
    return Comparison(program, finding, checked, observed, missing, unseen)


def _explained(checked: Checked) -> Finding:
    kinds = {one.kind for one in checked.assumptions}
    # A check keeps objects alive that have ended in plain Python, and says so.
    if AssumptionKind.OBJECT_END in kinds:
        return Finding.OUTLIVED
    # The two processes draw a seed each.
    if AssumptionKind.HASH_ORDER in kinds and _SEED not in os.environ:
        return Finding.REHASHED
    return Finding.ALARM


def _together(first: Observed, second: Observed | None, focused: bool) -> Observed:
    if second is None:
        return first
    return Observed(
        {**first.outcomes, **second.outcomes},
        {**first.preemptions, **second.preemptions},
        first.complete if focused else max(first.complete, second.complete),
        first.executions + second.executions,
        first.cut + second.cut,
        first.decisions + second.decisions,
    )


def _differences(checked: Checked, observed: Observed) -> tuple[tuple[str, ...], tuple[str, ...]]:
    seen = set(observed.outcomes)
    if any("threads raised" in outcome for outcome in seen) and any(
        "exception" in one for one in checked.broken
    ):
        seen = {outcome for outcome in seen if "threads raised" not in outcome}
    return tuple(sorted(seen - checked.outcomes)), tuple(sorted(checked.outcomes - seen))


def explorers_differ(checked: Mapping[str, Checked]) -> str:
    """What explorers of the same program say differently, by name; empty if nothing. Those that refused the program or
    reached a bound do not count.
    """
    sets = {name: one.outcomes for name, one in checked.items() if not one.refused and not one.bounded}
    every = frozenset[str]().union(*sets.values())
    lines = [f"   {name} lacks: {outcome}" for name, own in sets.items() for outcome in sorted(every - own)]
    return "\n".join(lines)


def describe(comparison: Comparison) -> str:
    """The comparison for people, with the text of the program."""
    observed = comparison.observed
    complete = "all schedules" if observed.complete == NEVER else f"all with {observed.complete} preemptions"
    lines = [
        f"== {comparison.program.name}: {comparison.finding.value}",
        f"   check: {comparison.checked.verdict}, {comparison.checked.executions} executions, "
        f"{len(comparison.checked.outcomes)} outcomes {comparison.checked.refused or ''} "
        f"{comparison.checked.bounded or ''} {comparison.checked.message}",
        f"   oracle: {observed.executions} executions ({complete}), {len(observed.outcomes)} outcomes",
    ]
    lines += [f"   assumes: {one.message}" for one in comparison.checked.assumptions]
    lines += [f"   broken: {one}" for one in comparison.checked.broken]
    lines += _first(
        [
            f"   missing in the check: {one} (seen {observed.outcomes[one]} times, "
            f"{observed.preemptions[one]} preemptions)"
            for one in comparison.missing
        ]
    )
    lines += _first([f"   only in the check: {one}" for one in comparison.unseen])
    lines += [f"   | {line}" for line in comparison.program.text.splitlines()]
    return "\n".join(lines)


def _first(lines: list[str], most: int = 8) -> list[str]:
    left = len(lines) - most
    return lines[:most] + [f"   and {left} more"] * (left > 0)
