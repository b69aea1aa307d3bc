"""Explorations of a hosted model: what the kernel is asked for, and how it begins anew."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from dpor._kernel import Failed, Outcome
from dpor.hosted import HostedModel
from dpor.options import Races, runs_library_pools, runs_library_queues

Choices = list[tuple[str, int]]
"""The steps of an execution: the path of a thread, or of a flush, and which outcome it got."""
OnFailure = Callable[[Failed | None, Choices], bool]
"""Is told of each failure, and of None when what failed before does not count; False ends the exploration."""
OnProgress = Callable[[int, int, int, int, float, float], bool]
"""Is told executions, blocked, redundant, events, seconds and the fraction that is done; False cancels."""


class Restart(enum.Enum):
    """Why an exploration has to begin anew, by the kernel's name for it."""

    MODULE_STATE = "module-state"
    REBOUND = "rebound"
    LIBRARY = "library"
    OPERANDS = "operands"
    NAMES = "names"
    TURNS = "turns"
    SECTIONS = "sections"


class Bound(enum.Enum):
    """What ended an exploration before its end, by the kernel's name for it."""

    MAX_STEPS = "max_steps"
    MAX_EXECUTIONS = "max_executions"
    PREEMPTIONS = "preemption_bound"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class Explorer:
    """An algorithm of the kernel with what it is told; what does not concern it, it does not look at."""

    name: str
    seed: int = 0
    samples: int = 1000
    depth: int = 0
    k: int | None = None
    root: str | None = None
    reads_from: bool = False
    bound: int = 0


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How far an exploration goes; None: without such a bound. `timeout` is in seconds."""

    max_steps: int | None = None
    max_executions: int | None = None
    preemptions: int | None = None
    timeout: float | None = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """What executions that are run again follow.

    `complete` says whether to go on where the steps end, `chosen_reads` that the steps name the writes that loads
    read from, `waits_by_spinning` that waits for predicates are loads, `in_sections` that a critical section is one
    step, unless its lock is an ordinary one.
    """

    steps: Choices
    complete: bool = False
    chosen_reads: bool = False
    waits_by_spinning: bool = False
    in_sections: bool = False


@dataclass(frozen=True, kw_only=True)
class Primitives:
    """Which of the library's queues and pools run on the library's own code."""

    library_queues: bool
    library_pools: bool


@dataclass(frozen=True, kw_only=True)
class Visibility:
    """Whether every operation is an event, and whether code of the library is instrumented as if threads raced for
    all that it reads, by default if every operation is one.
    """

    everything: bool
    races: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Who is told what happens."""

    recorder: object = None
    on_failure: OnFailure | None = None
    on_progress: OnProgress | None = None


@dataclass(frozen=True, kw_only=True)
class Search:
    """What the kernel is to explore of a model. Without `primitives` and `visibility` it is what the model's options
    say; `frontiers` are what is left of an exploration, none of them for the whole of it; `turns` says that turns of
    event loops may be events, `sections` that critical sections may be, of an exploration of all executions.
    """

    explorer: Explorer
    bounds: Bounds = Bounds()
    steps: Steps = Steps(steps=[])
    primitives: Primitives | None = None
    visibility: Visibility | None = None
    races: Races = Races.IGNORE
    stop_at_failure: bool = True
    turns: bool = False
    sections: bool = False
    frontiers: tuple[str, ...] = ()
    listeners: Listeners = Listeners()


def explore(hosted: HostedModel, search: Search) -> Outcome:
    """Explore a model. Raises ValueError for a pair of algorithm and memory model that does not exist."""
    options = hosted.options
    explorer, bounds, steps = search.explorer, search.bounds, search.steps
    visibility = search.visibility or Visibility(everything=not hosted.elide)
    primitives = search.primitives or primitives_of(hosted)
    return hosted.host.explore(
        hosted.main,
        hosted.patches.main_thread,
        algorithm=explorer.name,
        seed=explorer.seed,
        samples=explorer.samples,
        depth=explorer.depth,
        k=explorer.k,
        root=explorer.root,
        reads_from=explorer.reads_from,
        bound=explorer.bound,
        memory_model=options.memory_model.value,
        max_steps=bounds.max_steps,
        max_executions=bounds.max_executions,
        preemption_bound=bounds.preemptions,
        timeout=bounds.timeout,
        steps=steps.steps,
        complete=steps.complete,
        chosen_reads=steps.chosen_reads,
        waits_by_spinning=steps.waits_by_spinning,
        library_queues=primitives.library_queues,
        library_pools=primitives.library_pools,
        everything_visible=visibility.everything,
        everything_races=visibility.races,
        fresh_modules=hosted.fresh_modules,
        spurious_wakeups=options.spurious_wakeups,
        clock_jumps=options.clock_jumps,
        turns=search.turns and hosted.turns,
        sections=search.sections and hosted.sections,
        in_sections=steps.in_sections,
        data_races=search.races.value,
        stop_at_failure=search.stop_at_failure,
        frontiers=search.frontiers,
        solver=hosted.symbolic,
        recorder=search.listeners.recorder,
        on_failure=search.listeners.on_failure,
        on_progress=search.listeners.on_progress,
    )


def primitives_of(hosted: HostedModel) -> Primitives:
    """The primitives that the options of a model ask for."""
    options = hosted.options
    return Primitives(library_queues=runs_library_queues(options), library_pools=runs_library_pools(options))


def restart_of(outcome: Outcome) -> Restart | None:
    """Why the exploration has to begin anew; None if it has not."""
    return None if outcome.restart is None else Restart(outcome.restart)


def begins_anew(hosted: HostedModel, outcome: Outcome) -> bool:
    """Change what an exploration rested on, if it found that false; True if it must begin again."""
    restart = restart_of(outcome)
    if restart is None:
        return False
    change(hosted, restart, outcome.rebinding)
    return True


def change(hosted: HostedModel, restart: Restart, rebinding: list[tuple[str, str]]) -> None:
    """Host a model as what was learned asks for; `rebinding` are the modules and variables of a REBOUND."""
    match restart:
        case Restart.LIBRARY | Restart.NAMES:
            pass
        case Restart.TURNS:
            hosted.turns = False
        case Restart.SECTIONS:
            hosted.sections = False
        case Restart.REBOUND:
            variables: dict[str, set[str]] = {}
            for module, variable in rebinding:
                variables.setdefault(module, set()).add(variable)
            hosted.rebind(variables)
        case Restart.OPERANDS:
            hosted.see_operands()
        case Restart.MODULE_STATE:
            hosted.load_afresh()
