"""Making a failing execution smaller: the fewest context switches, then the fewest steps, as far as a second's search
goes.
"""

from __future__ import annotations

import itertools

from dpor._kernel import Failed, Outcome
from dpor.checking.exploration import (
    Bounds,
    Choices,
    Explorer,
    Listeners,
    OnProgress,
    Search,
    Steps,
    explore,
)
from dpor.checking.failures import Found
from dpor.hosted import HostedModel
from dpor.options import chooses_reads, waits_by_spinning

_EXECUTIONS = 3000
_SECONDS = 1.0


def minimised(hosted: HostedModel, found: Found, exact: bool, on_progress: OnProgress | None) -> Found:
    """The same bug in a smaller execution, if one is found; with `exact` also with the same message."""
    if chooses_reads(hosted.options):
        # What is searched are interleavings, of which none need show the bug.
        return found
    executions, seconds = _EXECUTIONS, _SECONDS
    for bound in range(switches(found.choices) + 1):
        best: list[Found] = []
        bounds = Bounds(
            max_steps=hosted.options.max_steps,
            max_executions=max(1, executions),
            timeout=max(0.01, seconds),
        )
        outcome = _search(hosted, found, bound, best, bounds, exact, on_progress)
        executions -= outcome.explored.interleavings
        seconds -= outcome.explored.seconds
        if best:
            return min(best, key=lambda candidate: len(candidate.choices))
        if executions <= 0 or seconds <= 0:
            break
    return found


def switches(choices: Choices) -> int:
    """How often the next choice is of another thread than the last, with the stores that leave a store buffer."""
    actors = [actor for actor, _ in choices if "!" not in actor]
    flushes = len(choices) - len(actors)
    return flushes + sum(one != other for one, other in itertools.pairwise(actors))


def _search(
    hosted: HostedModel,
    found: Found,
    bound: int,
    best: list[Found],
    bounds: Bounds,
    exact: bool,
    on_progress: OnProgress | None,
) -> Outcome:
    def same(candidate: Found) -> bool:
        return candidate.key == found.key if exact else candidate.place == found.place

    def note(failed: Failed | None, choices: Choices) -> bool:
        if failed is None:
            best.clear()
            return True
        candidate = Found(failed, choices, hosted.symbolic.values())
        if same(candidate) and (not best or len(choices) < len(best[0].choices)):
            best[:] = [candidate]
        return True

    return explore(
        hosted,
        Search(
            explorer=Explorer(name="context-bound", bound=bound),
            bounds=bounds,
            steps=Steps(steps=[], waits_by_spinning=waits_by_spinning(hosted.options)),
            races=hosted.options.races,
            # A search that goes on finds the fewest steps; a failed execution need not be run to its end.
            stop_at_failure=False,
            listeners=Listeners(on_failure=note, on_progress=on_progress),
        ),
    )
