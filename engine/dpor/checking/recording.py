"""Running a failing execution again, and telling it as a violation."""

from __future__ import annotations

import dataclasses

from dpor._kernel import Failed, Outcome
from dpor.checking.exploration import (
    Bounds,
    Choices,
    Explorer,
    Listeners,
    Primitives,
    Search,
    Steps,
    Visibility,
    explore,
    primitives_of,
)
from dpor.checking.failures import Found, message_of
from dpor.codes import Code
from dpor.counterexample.explain import explain
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.schedule import Schedule, encode, model_id
from dpor.errors import DporError
from dpor.hosted import HostedModel, json_parameters
from dpor.options import Races, chooses_reads, waits_by_spinning
from dpor.results import Violation
from dpor.tasks import waiting_tasks

REPLAY = Explorer(name="replay")
"""Runs an execution by its choices."""
FOLLOW = Explorer(name="follow")
"""Runs an execution by its operations."""


def record(hosted: HostedModel, found: Found) -> Violation:
    """Run a failing execution again and tell it as a violation."""
    # An execution can fail in several threads: run it to its end only if it has to be for this failure.
    with hosted.symbolic.pinned(found.values):
        return _recorded(hosted, found)


def _recorded(hosted: HostedModel, found: Found) -> Violation:
    for to_the_end in (False, True):
        recorder = Recorder(
            hosted.is_first_party, hosted.root, waiting_tasks=lambda target: waiting_tasks(hosted, target)
        )
        seen: list[Found] = []
        steps = Steps(
            steps=found.choices,
            complete=True,
            chosen_reads=chooses_reads(hosted.options),
            waits_by_spinning=waits_by_spinning(hosted.options),
        )
        run_once(hosted, recorder, REPLAY, steps, seen=seen, stop_at_failure=not to_the_end)
        failure = next((number for number, again in enumerate(seen) if again.place == found.place), None)
        if failure is not None:
            break
    else:
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} broke once and did not break when the same choices were made again",
            "does it depend on something that is not fixed, such as addresses, time or state outside the model?",
        )
    same, primitives = seen[failure], primitives_of(hosted)
    message = message_of(same, recorder)
    execution = recorder.execution(recorder.failure(same.kind, message, same.thread, same.exception))
    schedule = Schedule(
        model=model_id(hosted.info.file, hosted.info.name),
        steps=recorder.schedule_steps(),
        parameters=json_parameters(hosted.parameters),
        fingerprint=hosted.fingerprint(),
        memory_model=hosted.options.memory_model.value,
        chosen_reads=chooses_reads(hosted.options),
        waits_by_spinning=waits_by_spinning(hosted.options),
        library_queues=primitives.library_queues,
        library_pools=primitives.library_pools,
        failure=failure,
    )
    return with_values(explain(execution, encode(schedule), hosted.root), hosted)


def with_values(violation: Violation, hosted: HostedModel) -> Violation:
    """The violation with the symbolic values of the execution that has just been run."""
    symbolic = hosted.symbolic
    return dataclasses.replace(
        violation, values=symbolic.named_values(), path_condition=symbolic.path_condition()
    )


def run_once(
    hosted: HostedModel,
    recorder: object,
    explorer: Explorer,
    steps: Steps,
    *,
    primitives: Primitives | None = None,
    visibility: Visibility | None = None,
    max_steps: int | None = None,
    stop_at_failure: bool = True,
    seen: list[Found] | None = None,
) -> Outcome:
    """Run one execution along `steps` with a recorder; what fails in it is added to `seen`."""

    def note(failed: Failed | None, choices: Choices) -> bool:
        if seen is not None and failed is not None:
            seen.append(Found(failed, choices, hosted.symbolic.values()))
        return True

    # One execution is run to show one failure, which a race is only if it is looked for.
    races = hosted.options.races if hosted.options.races is Races.IGNORE else Races.ERROR
    return explore(
        hosted,
        Search(
            explorer=explorer,
            bounds=Bounds(max_steps=max_steps),
            steps=steps,
            primitives=primitives,
            visibility=visibility,
            races=races,
            stop_at_failure=stop_at_failure,
            listeners=Listeners(recorder=recorder, on_failure=note),
        ),
    )
