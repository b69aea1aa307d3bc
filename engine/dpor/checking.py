"""Checks one model in this process: explores it, explains what breaks, follows schedules."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

from dpor._kernel import Host
from dpor.codes import Code
from dpor.counterexample.explain import explain, steps_of
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.schedule import Schedule, ScheduleStep, encode, model_id
from dpor.errors import DporError
from dpor.hosted import HostedModel, json_parameters
from dpor.options import Algorithm, Expectation, ModelOptions, Races
from dpor.results import (
    CheckRequest,
    ModelResult,
    Progress,
    Reason,
    ReplayRequest,
    ReplayResult,
    Verdict,
    Violation,
    ViolationKind,
)

Choices = list[tuple[str, int]]

_BOUNDS = {
    "max_steps": Code.MAX_STEPS,
    "max_executions": Code.MAX_EXECUTIONS,
    "preemption_bound": Code.PREEMPTION_BOUND,
    "timeout": Code.TIMEOUT,
    "cancelled": Code.CANCELLED,
}
_EXPLAINED = 200
_MINIMISED = 5
_MINIMISING_EXECUTIONS = 3000
_MINIMISING_SECONDS = 1.0
_RANDOM_EXECUTIONS = 10_000
_PCT_DEPTH = 3
_RESTARTS = 200


def check_model(
    request: CheckRequest, on_progress: Callable[[Progress], object] | None = None
) -> ModelResult:
    """Explore a model and say what was found.

    `on_progress` is called about ten times a second; if it returns False the check is cancelled. Raises DporError for
    a model that cannot be checked: see `HostedModel`, and UNSUPPORTED_PAIR, NONDETERMINISTIC, UNCONTROLLED.
    """
    with HostedModel(
        request.file, request.model, request.root, request.parameters, request.options, request.source
    ) as hosted:
        return _Check(hosted, request.all_violations, on_progress).run()


class _Found:
    """A failure as the kernel reported it, with the choices that lead to it."""

    def __init__(self, description: dict[str, Any], choices: Choices) -> None:
        self.exception: BaseException | None = description.get("exception")
        self.thread: str = description["thread"]
        self.kind = _kind(description["kind"], self.exception)
        self.choices = choices
        self.waiting: list[tuple[str, str, str | None]] = list(description.get("waiting", ()))
        self.other: str | None = description.get("other")
        self.raced: int | None = description.get("location")

    @property
    def place(self) -> tuple[object, ...]:
        """What makes two failures the same bug: the kind, and where."""
        if self.raced is not None:
            return (self.kind, self.raced)
        if self.exception is None:
            return (self.kind, *((thread, operation) for thread, operation, _ in self.waiting))
        return (self.kind, type(self.exception).__qualname__, _innermost(self.exception))

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two failures worth two reports: also the message."""
        return (*self.place, str(self.exception))


def _innermost(error: BaseException) -> tuple[str, int]:
    trace = error.__traceback__
    place = ("", 0)
    while trace is not None:
        place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place


def _kind(word: str, exception: BaseException | None) -> ViolationKind:
    if word == "exception":
        return ViolationKind.ASSERTION if isinstance(exception, AssertionError) else ViolationKind.EXCEPTION
    return ViolationKind(word)


class _Check:
    """One check of one model."""

    def __init__(
        self,
        hosted: HostedModel,
        all_violations: bool,
        on_progress: Callable[[Progress], object] | None,
    ) -> None:
        self.hosted = hosted
        self.all_violations = all_violations
        self.on_progress = on_progress
        self.found: dict[tuple[object, ...], _Found] = {}

    def run(self) -> ModelResult:
        options = self.hosted.options
        _require_supported(options)
        outcome = self._explore()
        told = [self._explain(found) for found in list(self.found.values())[:_EXPLAINED]]
        harmless = options.races is Races.WARN
        warnings = tuple(one for one in told if harmless and one.kind is ViolationKind.DATA_RACE)
        violations = tuple(one for one in told if not harmless or one.kind is not ViolationKind.DATA_RACE)
        verdict, reason = self._verdict(outcome, bool(violations))
        expect = None
        if options.expect is not None:
            expect = Verdict.VIOLATED if options.expect is Expectation.VIOLATED else Verdict.VERIFIED
        info = self.hosted.info
        return ModelResult(
            id=f"{info.file}::{info.name}",
            file=info.file,
            line=info.line,
            parameters=json_parameters(self.hosted.parameters),
            verdict=verdict,
            reason=reason,
            algorithm=options.algorithm.value,
            memory_model=options.memory_model.value,
            executions=outcome["executions"],
            blocked=outcome["blocked"],
            redundant=outcome["redundant"],
            events=outcome["events"],
            seconds=outcome["seconds"],
            violations=violations,
            warnings=warnings,
            expect=expect,
            assumptions=_assumptions(outcome),
            dependencies=tuple(
                sorted(str(path) for path in {self.hosted.file, *self.hosted.instrumentation.files})
            ),
        )

    def _explore(self) -> dict[str, Any]:
        hosted, options = self.hosted, self.hosted.options
        seconds = 0.0
        for _ in range(_RESTARTS):
            self.found.clear()
            remaining = None if options.timeout is None else max(0.0, options.timeout - seconds)
            outcome = hosted.host.explore(
                hosted.main,
                hosted.patches.main_thread,
                **_algorithm(options),
                max_steps=options.max_steps,
                max_executions=options.max_executions,
                preemption_bound=options.preemption_bound,
                timeout=remaining,
                stop_at_failure=not self.all_violations,
                everything_visible=not hosted.elide,
                fresh_modules=hosted.fresh_modules,
                spurious_wakeups=options.spurious_wakeups,
                data_races=options.races.value,
                on_failure=self._note,
                on_progress=self._report if self.on_progress is not None else None,
            )
            seconds += outcome["seconds"]
            outcome["seconds"] = seconds
            if not _restart(hosted, outcome):
                _require_controlled(hosted, outcome)
                return outcome
        raise DporError(
            Code.NONDETERMINISTIC,
            "the exploration had to begin again too often, because the model never behaves as before",
            "see whether it depends on state that outlives an execution",
        )

    def _note(self, description: dict[str, Any] | None, choices: Choices) -> bool:
        if description is None:
            # The exploration has begun again with more visible operations: what was found will be found again.
            self.found.clear()
            return True
        found = _Found(description, choices)
        if isinstance(found.exception, MemoryError):
            raise DporError(
                Code.OUT_OF_MEMORY,
                f"{self.hosted.info.name} ran out of memory",
                "make the model smaller, or raise --memory-limit",
                self.hosted.span_of_traceback(found.exception),
            )
        self.found.setdefault(found.key, found)
        only_warns = found.raced is not None and self.hosted.options.races is Races.WARN
        return self.all_violations or only_warns

    def _report(
        self, executions: int, blocked: int, redundant: int, events: int, seconds: float, fraction: float
    ) -> bool:
        assert self.on_progress is not None
        progress = Progress(executions, blocked, redundant, events, seconds, fraction)
        return self.on_progress(progress) is not False

    def _verdict(self, outcome: dict[str, Any], violated: bool) -> tuple[Verdict, Reason | None]:
        if violated:
            return Verdict.VIOLATED, None
        options = self.hosted.options
        if outcome["complete"]:
            if options.expect is not Expectation.VIOLATED:
                return Verdict.VERIFIED, None
            return Verdict.VERIFIED, Reason(
                Code.UNEXPECTED,
                'every schedule was checked and none breaks the model, which expect="violated" says it should',
                "if the bug is mended, take the option away",
            )
        bound = outcome["bound"]
        if bound is None:
            drawn = outcome["executions"] + outcome["blocked"]
            return Verdict.INCOMPLETE, Reason(
                Code.SAMPLED,
                f"{drawn} schedules drawn at random broke nothing",
                "use algorithm 'optimal' for a proof",
            )
        message = {
            "max_steps": f"an execution reached max_steps={options.max_steps}",
            "max_executions": f"the check reached max_executions={options.max_executions}",
            "preemption_bound": f"schedules with more than preemption_bound={options.preemption_bound} were left out",
            "timeout": f"the check reached its timeout of {options.timeout} s",
            "cancelled": "the check was cancelled",
        }[bound]
        mend = "raise the bound or make the model smaller"
        location = None
        if bound == "max_steps":
            location = self._loop()
            mend = "does this loop ever end? Bound it, wait on a condition instead of spinning, or raise max_steps"
        return Verdict.INCOMPLETE, Reason(_BOUNDS[bound], message, mend, location)

    def _loop(self) -> Any:
        """Where an execution that reached `max_steps` was going round: the place of its last operations."""
        hosted = self.hosted
        tail = _Tail(hosted)
        _run_once(
            hosted, tail, algorithm="replay", steps=[], complete=True, max_steps=hosted.options.max_steps
        )
        return tail.place()

    def _explain(self, found: _Found) -> Violation:
        small = self._minimised(found) if len(self.found) <= _MINIMISED else found
        return record(self.hosted, small)

    def _minimised(self, found: _Found) -> _Found:
        """The same bug with the fewest context switches, then the fewest steps, as far as a second's search goes."""
        best = found
        executions, seconds = _MINIMISING_EXECUTIONS, _MINIMISING_SECONDS
        for bound in range(switches(found.choices) + 1):
            best_here: list[_Found] = []
            progress = None if self.on_progress is None else self._report
            # Several failures of one place are told apart by their messages.
            exact = sum(other.place == found.place for other in self.found.values()) > 1
            outcome = _search(self.hosted, found, bound, best_here, executions, seconds, progress, exact)
            executions -= outcome["interleavings"]
            seconds -= outcome["seconds"]
            if best_here:
                return min(best_here, key=lambda candidate: len(candidate.choices))
            if executions <= 0 or seconds <= 0:
                break
        return best


def switches(choices: Choices) -> int:
    """How often the next choice is of another thread than the last."""
    return sum(one[0] != other[0] for one, other in itertools.pairwise(choices))


def _search(
    hosted: HostedModel,
    found: _Found,
    bound: int,
    best: list[_Found],
    executions: int,
    seconds: float,
    progress: Callable[..., object] | None,
    exact: bool,
) -> dict[str, Any]:
    def same(candidate: _Found) -> bool:
        return candidate.key == found.key if exact else candidate.place == found.place

    def note(description: dict[str, Any] | None, choices: Choices) -> bool:
        if description is None:
            best.clear()
            return True
        candidate = _Found(description, choices)
        if same(candidate) and (not best or len(choices) < len(best[0].choices)):
            best[:] = [candidate]
        return True

    return hosted.host.explore(
        hosted.main,
        hosted.patches.main_thread,
        algorithm="context-bound",
        bound=bound,
        max_steps=hosted.options.max_steps,
        max_executions=max(1, executions),
        timeout=max(0.01, seconds),
        # A search that goes on finds the fewest steps; a failed execution need not be run to its end.
        stop_at_failure=False,
        everything_visible=not hosted.elide,
        fresh_modules=hosted.fresh_modules,
        spurious_wakeups=hosted.options.spurious_wakeups,
        data_races=hosted.options.races.value,
        on_failure=note,
        on_progress=progress,
    )


def record(hosted: HostedModel, found: _Found) -> Violation:
    """Run a failing execution again and tell it as a violation."""
    # An execution can fail in several threads: run it to its end only if it has to be for this failure.
    hosted.speak()
    for to_the_end in (False, True):
        recorder = Recorder(hosted.is_first_party, hosted.root)
        seen: list[_Found] = []
        _run_once(
            hosted,
            recorder,
            algorithm="replay",
            steps=found.choices,
            complete=True,
            seen=seen,
            stop_at_failure=not to_the_end,
        )
        same = next((again for again in seen if again.place == found.place), None)
        if same is not None:
            break
    else:
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} broke once and did not break when the same choices were made again",
            "does it depend on something that is not fixed, such as addresses, time or state outside the model?",
        )
    message = _message(same, recorder)
    execution = recorder.execution(recorder.failure(same.kind, message, same.thread, same.exception))
    schedule = Schedule(
        model=model_id(hosted.info.file, hosted.info.name),
        steps=recorder.schedule_steps(),
        parameters=json_parameters(hosted.parameters),
        fingerprint=hosted.fingerprint(),
        memory_model=hosted.options.memory_model.value,
    )
    return explain(execution, encode(schedule), hosted.root)


def _message(found: _Found, recorder: Recorder) -> str:
    error = found.exception
    if found.raced is not None:
        steps = recorder.schedule_steps()
        target = (steps[-1].target if steps else None) or "a variable"
        return f"data race on {target}: nothing orders the accesses of {found.other} and {found.thread}"
    if error is None:
        threads = len(found.waiting)
        return f"deadlock: {threads} thread{'s wait' if threads != 1 else ' waits'} for ever"
    text = str(error)
    if found.kind is ViolationKind.ASSERTION:
        return f"assertion failed: {text}" if text else ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _run_once(
    hosted: HostedModel,
    recorder: object,
    *,
    algorithm: str,
    steps: Choices,
    complete: bool = False,
    everything_visible: bool | None = None,
    max_steps: int | None = None,
    stop_at_failure: bool = True,
    seen: list[_Found] | None = None,
) -> dict[str, Any]:
    def note(description: dict[str, Any] | None, choices: Choices) -> bool:
        if seen is not None and description is not None:
            seen.append(_Found(description, choices))
        return True

    return hosted.host.explore(
        hosted.main,
        hosted.patches.main_thread,
        algorithm=algorithm,
        steps=steps,
        complete=complete,
        max_steps=max_steps,
        stop_at_failure=stop_at_failure,
        everything_visible=not hosted.elide if everything_visible is None else everything_visible,
        fresh_modules=hosted.fresh_modules,
        spurious_wakeups=hosted.options.spurious_wakeups,
        # One execution is run to show one failure, which a race is only if it is looked for.
        data_races="ignore" if hosted.options.races is Races.IGNORE else "error",
        recorder=recorder,
        on_failure=note,
    )


def follow(
    request: ReplayRequest,
    schedule: Schedule,
    *,
    on_exception: Callable[[BaseException], None] | None = None,
) -> ReplayResult:
    """Run a model under a schedule, as far as its operations agree with it.

    `on_exception` is given the exception with which the model breaks. Raises DporError as `check_model` does; a
    divergence is no error, the result explains it.
    """
    with HostedModel(
        request.file, request.model, request.root, request.parameters, request.options, request.source
    ) as hosted:
        hosted.speak()
        while True:
            follower = _Follower(hosted, schedule.steps)
            seen: list[_Found] = []
            outcome = _run_once(
                hosted,
                follower,
                algorithm="follow",
                steps=[(step.thread, _outcome_of(step)) for step in schedule.steps],
                everything_visible=True,
                max_steps=max(hosted.options.max_steps, 2 * len(schedule.steps)),
                seen=seen,
            )
            if not _restart(hosted, outcome):
                break
        _require_controlled(hosted, outcome)
        return follower.result(hosted.fingerprint() != schedule.fingerprint, seen, outcome, on_exception)


def _outcome_of(step: ScheduleStep) -> int:
    drawn = step.operation == "choose" and isinstance(step.choice, int)
    return int(step.choice or 0) if drawn else 0


class _Follower(Recorder):
    """Records an execution while comparing it with a schedule; stops it where they disagree."""

    def __init__(self, hosted: HostedModel, steps: tuple[ScheduleStep, ...]) -> None:
        super().__init__(hosted.is_first_party, hosted.root)
        self._hosted = hosted
        self._wanted = steps
        self._position = 0
        self._divergence: str | None = None

    def step(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, thread: str, operation: str, target: object, key: object, value: object, event: bool
    ) -> bool:
        if self._divergence is not None:
            return False
        if self._position < len(self._wanted):
            wanted = self._wanted[self._position]
            if (wanted.thread, wanted.operation) != (thread, operation):
                done = f"{thread}: {operation}"
                self._divergence = (
                    f"step {self._position + 1}: the schedule has [{wanted}], the model did [{done}]"
                )
                return False
        self._position += 1
        super().step(thread, operation, target, key, value, event)
        return True

    def result(
        self,
        changed: bool,
        seen: list[_Found],
        outcome: dict[str, Any],
        on_exception: Callable[[BaseException], None] | None,
    ) -> ReplayResult:
        """What following the schedule gave."""
        divergence = self._divergence or self._renamed() or self._stuck(outcome)
        if divergence is not None or not seen:
            trace = steps_of(self.execution(None))
            return ReplayResult(None, trace, changed, divergence)
        found = seen[0]
        if on_exception is not None and found.exception is not None:
            on_exception(found.exception)
        execution = self.execution(
            self.failure(found.kind, _message(found, self), found.thread, found.exception)
        )
        hosted = self._hosted
        text = encode(
            Schedule(
                model=model_id(hosted.info.file, hosted.info.name),
                steps=self.schedule_steps(),
                parameters=json_parameters(hosted.parameters),
                fingerprint=hosted.fingerprint(),
                memory_model=hosted.options.memory_model.value,
            )
        )
        violation = explain(execution, text, hosted.root)
        return ReplayResult(violation, violation.trace, changed, None)

    def _renamed(self) -> str | None:
        for number, (wanted, seen) in enumerate(zip(self._wanted, self.schedule_steps(), strict=False), 1):
            if wanted.target != seen.target:
                return f"step {number}: the schedule has [{wanted}], the model did [{seen}]"
        return None

    def _stuck(self, outcome: dict[str, Any]) -> str | None:
        if outcome["divergence"] is None:
            if self._position < len(self._wanted):
                wanted = self._wanted[self._position]
                return f"step {self._position + 1}: the schedule has [{wanted}], the model has already ended"
            return None
        divergence: tuple[int, str, str] = outcome["divergence"]
        step, thread, _ = divergence
        wanted: ScheduleStep | None = self._wanted[step] if step < len(self._wanted) else None
        shown = f"the schedule has [{wanted}], but " if wanted is not None else ""
        return f"step {step + 1}: {shown}thread {thread} cannot run there"


class _Tail:
    """A recorder that only remembers where the last operations took place."""

    def __init__(self, hosted: HostedModel) -> None:
        self._hosted = hosted
        self._places: list[tuple[str, int]] = []

    def step(
        self, thread: str, operation: str, target: object, key: object, value: object, event: bool
    ) -> None:
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None and not self._hosted.is_first_party(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            self._places.append((frame.f_code.co_filename, frame.f_lineno))
            del self._places[:-64]

    def waiting(self, thread: str, operation: str, target: object) -> None:
        """Nothing to remember."""

    def blocked(self, thread: str, operation: str, target: object) -> None:
        """Nothing to remember."""

    def place(self) -> Any:
        """The first line of what the last operations repeat."""
        from pathlib import Path

        from dpor.results import SourceSpan

        if not self._places:
            return None
        file, _ = self._places[-1]
        line = min(line for name, line in self._places if name == file)
        return SourceSpan(self._hosted.relative(Path(file)), line)


def _restart(hosted: HostedModel, outcome: dict[str, Any]) -> bool:
    """Change what an exploration rested on, if it found that false; True if it must begin again."""
    match outcome["restart"]:
        case None:
            return False
        case ["rebound", module, variable]:
            hosted.rebind(module, variable)
        case _:
            hosted.fresh_modules = True
    return True


def _require_controlled(hosted: HostedModel, outcome: dict[str, Any]) -> None:
    span = hosted.info
    from dpor.results import SourceSpan

    place = SourceSpan(span.file, span.line, span.column)
    if outcome["escape"] is not None:
        raise DporError(
            Code.UNCONTROLLED,
            f"{hosted.info.name} {outcome['escape']}",
            "keep it out of the model, or replace it with a stand-in",
            place,
        )
    if outcome["nondeterminism"] is not None:
        step, thread, expected, found = outcome["nondeterminism"]
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} behaved differently when the same choices were made again: at step {step + 1}, "
            f"thread {thread} came to {found} instead of {expected}",
            "does it depend on something that outlives an execution or is not fixed, such as a cache, addresses or "
            "the order of a set?",
            place,
        )


def _require_supported(options: ModelOptions) -> None:
    algorithm = _algorithm(options)["algorithm"]
    instead = Host.alternative(algorithm, options.memory_model.value)
    if instead is not None:
        mend = f"use --algorithm {instead}" if instead != "none" else "use --memory-model sc"
        raise DporError(
            Code.UNSUPPORTED_PAIR,
            f"no algorithm {options.algorithm.value!r} for memory model {options.memory_model.value!r}",
            mend,
        )


def _algorithm(options: ModelOptions) -> dict[str, Any]:
    samples = options.max_executions or _RANDOM_EXECUTIONS
    if options.algorithm is Algorithm.RANDOM:
        return {"algorithm": "random", "seed": options.seed, "samples": samples}
    if options.algorithm is Algorithm.PCT:
        return {"algorithm": "random", "seed": options.seed, "samples": samples, "depth": _PCT_DEPTH}
    return {"algorithm": options.algorithm.value}


def _assumptions(outcome: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{package} is not instrumented: each call of it was taken as one atomic operation; "
        f'add instrument=("{package}",) to look inside'
        for package in sorted(outcome["foreign"])
    )
