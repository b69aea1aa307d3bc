"""Guided replay: runs a model under a recorded schedule, as far as the model's operations agree with it."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass

from dpor._kernel import Outcome
from dpor.checking.exploration import Primitives, Steps, Visibility, begins_anew
from dpor.checking.failures import Found, message_of
from dpor.checking.recording import FOLLOW, run_once, with_values
from dpor.checking.refusals import require_controlled
from dpor.counterexample.explain import explain, steps_of
from dpor.counterexample.observation import Observation
from dpor.counterexample.operations import Operation
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.records import Execution
from dpor.counterexample.schedule import Schedule, ScheduleStep, encode, model_id
from dpor.hosted import HostedModel, json_parameters
from dpor.results import ReplayRequest, ReplayResult
from dpor.tasks import waiting_tasks


def run_guided(
    request: ReplayRequest,
    schedule: Schedule,
    *,
    on_exception: Callable[[BaseException], None] | None = None,
) -> ReplayResult:
    """Run a model under a schedule, as far as its operations agree with it.

    `on_exception` is given the exception with which the model breaks. Raises DporError as `check_model` does; a
    divergence is no error, the result explains it.
    """
    with guided(request, schedule) as run:
        if on_exception is not None and run.result.violation is not None and run.exception is not None:
            on_exception(run.exception)
        return run.result


@dataclass(frozen=True)
class GuidedReplay:
    """A schedule that was followed: the result, and what was recorded.

    `exception` is the one with which the model broke; `hosted` is the model, which is only loaded while `guided`
    lasts.
    """

    result: ReplayResult
    execution: Execution
    recorder: Recorder
    hosted: HostedModel
    exception: BaseException | None


@contextlib.contextmanager
def guided(
    request: ReplayRequest,
    schedule: Schedule,
    observe: Callable[[HostedModel], Observation] | None = None,
) -> Generator[GuidedReplay]:
    """Run a model under a schedule, and keep it loaded for as long as the context lasts.

    `observe` makes what observes the run. Raises DporError as `check_model` does.
    """
    with HostedModel.of(request) as hosted:
        hosted.output.speak()
        best: _Attempt | None = None
        primitives = Primitives(library_queues=schedule.library_queues, library_pools=schedule.library_pools)
        preparations = [_load_afresh, functools.partial(_learn, primitives=primitives), _load_afresh]
        while True:
            hosted.symbolic.pin(_values_of(schedule))
            follower = _Follower(hosted, schedule, observe(hosted) if observe is not None else None)
            seen: list[Found] = []
            outcome = run_once(
                hosted,
                follower,
                FOLLOW,
                Steps(
                    steps=[_kernel_step(step, schedule.chosen_reads) for step in schedule.steps],
                    chosen_reads=schedule.chosen_reads,
                    waits_by_spinning=schedule.waits_by_spinning,
                ),
                primitives=primitives,
                visibility=Visibility(everything=True, races=False),
                max_steps=max(hosted.options.max_steps, 2 * len(schedule.steps)),
                seen=seen,
                stop_at_failure=schedule.failure == 0,
            )
            if begins_anew(hosted, outcome):
                continue
            attempt = _Attempt(follower, seen, outcome)
            if best is None or attempt.follower.position > best.follower.position:
                best = attempt
            if not follower.diverged(outcome) or not preparations:
                break
            preparations.pop(0)(hosted)
        attempt = best
        require_controlled(hosted, attempt.outcome)
        changed = hosted.fingerprint() != schedule.fingerprint
        yield attempt.follower.conclude(changed, attempt.seen, attempt.outcome)


def _learn(hosted: HostedModel, primitives: Primitives) -> None:
    """Let any one execution show what the check may have learned before it came to the schedule: which names are
    rebound, and which code of the library reads what threads race for. Not all of it does: the attempts without come
    first.
    """
    hosted.fresh_modules = False
    while True:
        outcome = run_once(
            hosted,
            None,
            FOLLOW,
            Steps(steps=[], complete=True),
            primitives=primitives,
            visibility=Visibility(everything=True),
            stop_at_failure=False,
        )
        if not begins_anew(hosted, outcome):
            break


def _load_afresh(hosted: HostedModel) -> None:
    """A schedule does not say whether the check had to load the modules for each execution; if it had, their bodies are
    its first steps.
    """
    hosted.load_afresh()


@dataclass(frozen=True)
class _Attempt:
    """One execution under a schedule: its recorder, the failures in it, its outcome."""

    follower: _Follower
    seen: list[Found]
    outcome: Outcome


def _values_of(schedule: Schedule) -> dict[tuple[str, int], int]:
    """The numbers that the schedule gives to symbolic values: by thread, and how many that had made before."""
    made: Counter[str] = Counter()
    values: dict[tuple[str, int], int] = {}
    for step in schedule.steps:
        if step.operation == "nondet":
            if isinstance(step.choice, int):
                values[step.thread, made[step.thread]] = step.choice
            made[step.thread] += 1
    return values


def _kernel_step(step: ScheduleStep, chosen_reads: bool) -> tuple[str, int]:
    """A step as the kernel follows it: who acts, and what was drawn, which store entered a store buffer, or (counted
    from 1) what a load reads from.
    """
    chosen = int(step.choice) if isinstance(step.choice, int) else 0
    match step.operation:
        case "flush":
            return f"{step.thread}!{chosen}", 0
        case "choose" | "look" | "branch" | "buffer":
            return step.thread, chosen
        case _ if chosen_reads and type(step.choice) is int:
            return step.thread, chosen + 1
        case _:
            return step.thread, 0


def _scheduled(word: str) -> str:
    operation = Operation.of(word)
    return word if operation is Operation.OTHER else operation.scheduled


class _Follower(Recorder):
    """Records an execution while comparing it with a schedule; stops it where they disagree."""

    def __init__(self, hosted: HostedModel, schedule: Schedule, observation: Observation | None) -> None:
        super().__init__(
            hosted.is_first_party, hosted.root, observation, lambda target: waiting_tasks(hosted, target)
        )
        self._hosted = hosted
        self._schedule = schedule
        self._wanted = schedule.steps
        self.position = 0
        self._divergence: str | None = None

    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        thread: str,
        operation: str,
        target: object,
        key: object,
        value: object,
        event: bool,
        number: int = 0,
    ) -> bool:
        if self._divergence is not None:
            return False
        if self.position < len(self._wanted):
            wanted = self._wanted[self.position]
            if (wanted.thread, wanted.operation) != (thread, _scheduled(operation)):
                done = f"{thread}: {operation}"
                self._divergence = (
                    f"step {self.position + 1}: the schedule has [{wanted}], the model did [{done}]"
                )
                return False
        self.position += 1
        super().step(thread, operation, target, key, value, event, number)
        return True

    def diverged(self, outcome: Outcome) -> bool:
        """True if the model did something else than the schedule says."""
        return (self._divergence or self._renamed() or self._stuck(outcome)) is not None

    def conclude(self, changed: bool, seen: list[Found], outcome: Outcome) -> GuidedReplay:
        """What following the schedule gave."""
        divergence = self._divergence or self._renamed() or self._stuck(outcome)
        number = self._schedule.failure
        if divergence is not None or len(seen) <= number:
            execution = self.execution(None)
            result = ReplayResult(None, steps_of(execution), changed, divergence)
            return GuidedReplay(result, execution, self, self._hosted, None)
        found = seen[number]
        execution = self.execution(
            self.failure(found.kind, message_of(found, self), found.thread, found.exception)
        )
        hosted = self._hosted
        text = encode(
            Schedule(
                model=model_id(hosted.info.file, hosted.info.name),
                steps=self.schedule_steps(),
                parameters=json_parameters(hosted.parameters),
                fingerprint=hosted.fingerprint(),
                memory_model=hosted.options.memory_model.value,
                chosen_reads=self._schedule.chosen_reads,
                waits_by_spinning=self._schedule.waits_by_spinning,
                library_queues=self._schedule.library_queues,
                library_pools=self._schedule.library_pools,
                failure=number,
            )
        )
        violation = with_values(explain(execution, text, hosted.root), hosted)
        result = ReplayResult(violation, violation.trace, changed, None)
        return GuidedReplay(result, execution, self, hosted, found.exception)

    def _renamed(self) -> str | None:
        for number, (wanted, seen) in enumerate(zip(self._wanted, self.schedule_steps(), strict=False), 1):
            if wanted.target != seen.target:
                return f"step {number}: the schedule has [{wanted}], the model did [{seen}]"
        return None

    def _stuck(self, outcome: Outcome) -> str | None:
        if outcome.divergence is None:
            if self.position < len(self._wanted):
                wanted = self._wanted[self.position]
                return f"step {self.position + 1}: the schedule has [{wanted}], the model has already ended"
            return None
        step, thread = outcome.divergence
        wanted: ScheduleStep | None = self._wanted[step] if step < len(self._wanted) else None
        shown = f"the schedule has [{wanted}], but " if wanted is not None else ""
        return f"step {step + 1}: {shown}thread {thread} cannot run there"
