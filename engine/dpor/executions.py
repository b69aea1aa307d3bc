"""Running a hosted model again: what a failure is, recording it, and what an exploration rested on."""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpor.assumptions import way_to_unseen_state
from dpor.codes import Code
from dpor.counterexample.explain import explain
from dpor.counterexample.frames import characters
from dpor.counterexample.recorder import Recorder
from dpor.counterexample.schedule import Schedule, encode, model_id
from dpor.counterexample.values import class_name
from dpor.errors import DporError
from dpor.exception_texts import text_of, titled
from dpor.hosted import HostedModel, json_parameters
from dpor.options import (
    MemoryModel,
    ModelOptions,
    Partition,
    Races,
    chooses_reads,
    runs_library_pools,
    runs_library_queues,
    waits_by_spinning,
)
from dpor.results import SourceSpan, Violation, ViolationKind
from dpor.runtime.uncontrolled import Call, split_calls
from dpor.tasks import waiting_tasks

Choices = list[tuple[str, int]]
Pinned = Mapping[tuple[str, int], int | bool]


class Found:
    """A failure as the kernel reported it, with the choices that lead to it.

    It is made before what the execution changed is put back: the text of an exception can tell of that.
    """

    def __init__(self, description: dict[str, Any], choices: Choices, values: Pinned | None = None) -> None:
        self.exception: BaseException | None = description.get("exception")
        self.thread: str = description["thread"]
        self.kind = _kind(description["kind"], self.exception)
        self.choices = choices
        # What stands for the symbolic values of the execution.
        self.values: Pinned = values or {}
        self.waiting: list[tuple[str, str, str | None]] = list(description.get("waiting", ()))
        self.other: str | None = description.get("other")
        self.raced: int | None = description.get("location")
        self.text = None if self.exception is None else text_of(self.exception)

    @property
    def place(self) -> tuple[object, ...]:
        """What makes two failures the same bug: the kind, and where."""
        if self.raced is not None:
            return (self.kind, self.raced)
        if self.exception is None:
            return (self.kind, *((thread, operation) for thread, operation, _ in self.waiting))
        return (self.kind, class_name(self.exception), _innermost(self.exception))

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two failures worth two reports: also the message."""
        return (*self.place, self.text)


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


def record(hosted: HostedModel, found: Found) -> Violation:
    """Run a failing execution again and tell it as a violation."""
    # An execution can fail in several threads: run it to its end only if it has to be for this failure.
    hosted.speak()
    with hosted.symbolic.pinned(found.values):
        return _recorded(hosted, found)


def _recorded(hosted: HostedModel, found: Found) -> Violation:
    for to_the_end in (False, True):
        recorder = Recorder(
            hosted.is_first_party, hosted.root, waiting_tasks=lambda target: waiting_tasks(hosted, target)
        )
        seen: list[Found] = []
        run_once(
            hosted,
            recorder,
            algorithm="replay",
            steps=found.choices,
            complete=True,
            seen=seen,
            stop_at_failure=not to_the_end,
            chosen_reads=chooses_reads(hosted.options),
            waits_by_spinning=waits_by_spinning(hosted.options),
            library_queues=runs_library_queues(hosted.options),
            library_pools=runs_library_pools(hosted.options),
        )
        failure = next((number for number, again in enumerate(seen) if again.place == found.place), None)
        if failure is not None:
            break
    else:
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} broke once and did not break when the same choices were made again",
            "does it depend on something that is not fixed, such as addresses, time or state outside the model?",
        )
    same = seen[failure]
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
        library_queues=runs_library_queues(hosted.options),
        library_pools=runs_library_pools(hosted.options),
        failure=failure,
    )
    return with_values(explain(execution, encode(schedule), hosted.root), hosted)


def with_values(violation: Violation, hosted: HostedModel) -> Violation:
    """The violation with the symbolic values of the execution that has just been run."""
    symbolic = hosted.symbolic
    return dataclasses.replace(
        violation, values=symbolic.named_values(), path_condition=symbolic.path_condition()
    )


def message_of(found: Found, recorder: Recorder) -> str:
    """What a report says of a failure; an empty text leaves it to the source of the failed assertion."""
    error = found.exception
    if found.raced is not None:
        steps = recorder.schedule_steps()
        target = (steps[-1].target if steps else None) or "a variable"
        return f"data race on {target}: nothing orders the accesses of {found.other} and {found.thread}"
    if error is None:
        if found.kind is ViolationKind.LIVELOCK:
            return (
                f"livelock: {found.thread} goes round in a loop for ever, and nothing that it reads changes"
            )
        return f"deadlock: {_who_waits(len(found.waiting), recorder.tasks_of_waiting_loops())} for ever"
    if found.kind is ViolationKind.ASSERTION:
        return f"assertion failed: {found.text}" if found.text else ""
    return titled(error, found.text)


def _who_waits(threads: int, tasks: Sequence[int]) -> str:
    """`1 thread waits`, `2 threads and 3 tasks wait`: a thread whose event loop has tasks counts as these."""
    threads -= sum(1 for number in tasks if number)
    numbers = [(threads, "thread"), (sum(tasks), "task")]
    amounts = [f"{number} {noun}{'s' if number != 1 else ''}" for number, noun in numbers if number]
    return f"{' and '.join(amounts)} wait{'s' if sum(number for number, _ in numbers) == 1 else ''}"


def run_once(
    hosted: HostedModel,
    recorder: object,
    *,
    algorithm: str,
    steps: Choices,
    complete: bool = False,
    everything_visible: bool | None = None,
    everything_races: bool | None = None,
    max_steps: int | None = None,
    stop_at_failure: bool = True,
    seen: list[Found] | None = None,
    chosen_reads: bool = False,
    waits_by_spinning: bool = False,
    library_queues: bool = False,
    library_pools: bool = True,
) -> dict[str, Any]:
    """Run one execution along `steps` with a recorder; what fails in it is added to `seen`. Returns the outcome.

    `everything_races` says whether code of the library is instrumented as if threads raced for all that it reads, by
    default if every operation is visible. `chosen_reads` says that the steps name the writes that loads read from,
    `waits_by_spinning` that waits for predicates are loads, `library_queues` and `library_pools` that queues,
    and futures and pools, run on the library's own code.
    """

    def note(description: dict[str, Any] | None, choices: Choices) -> bool:
        if seen is not None and description is not None:
            seen.append(Found(description, choices, hosted.symbolic.values()))
        return True

    return hosted.host.explore(
        hosted.main,
        hosted.patches.main_thread,
        algorithm=algorithm,
        memory_model=hosted.options.memory_model.value,
        steps=steps,
        complete=complete,
        chosen_reads=chosen_reads,
        waits_by_spinning=waits_by_spinning,
        library_queues=library_queues,
        library_pools=library_pools,
        max_steps=max_steps,
        stop_at_failure=stop_at_failure,
        everything_visible=not hosted.elide if everything_visible is None else everything_visible,
        everything_races=everything_races,
        fresh_modules=hosted.fresh_modules,
        spurious_wakeups=hosted.options.spurious_wakeups,
        clock_jumps=hosted.options.clock_jumps,
        # One execution is run to show one failure, which a race is only if it is looked for.
        data_races="ignore" if hosted.options.races is Races.IGNORE else "error",
        recorder=recorder,
        solver=hosted.symbolic,
        on_failure=note,
    )


def _span(hosted: HostedModel, call: Call) -> SourceSpan:
    file = hosted.relative(Path(call.file))
    if call.column is None or call.end_line is None or call.end_column is None:
        return SourceSpan(file, call.line)
    start, end = (linecache.getline(call.file, line) for line in (call.line, call.end_line))
    return SourceSpan(
        file,
        call.line,
        characters(start, call.column) + 1,
        call.end_line,
        characters(end, call.end_column) + 1,
    )


def apply_restart(hosted: HostedModel, outcome: dict[str, Any]) -> bool:
    """Change what an exploration rested on, if it found that false; True if it must begin again."""
    match outcome["restart"]:
        case None:
            return False
        case ["library"] | ["names"]:
            pass
        case ["rebound", *names]:
            variables: dict[str, set[str]] = {}
            for module, variable in zip(names[::2], names[1::2], strict=True):
                variables.setdefault(module, set()).add(variable)
            hosted.rebind(variables)
        case ["operands"]:
            hosted.see_operands()
        case _:
            hosted.load_afresh()
    return True


def require_root(hosted: HostedModel, outcome: dict[str, Any]) -> None:
    """Raise DporError BAD_OPTION, if the model has no thread with the path of the option `root`."""
    root = hosted.options.root
    if root is not None and outcome["lacks_root"] and outcome["complete"]:
        span = hosted.info
        raise DporError(
            Code.BAD_OPTION,
            f"root={root!r} is not accepted: {hosted.info.name} has no such thread",
            "leave it out: the root is the first thread that main starts",
            SourceSpan(span.file, span.line, span.column),
        )


def require_controlled(hosted: HostedModel, outcome: dict[str, Any]) -> None:
    """Raise DporError: UNCONTROLLED, PREDICATE, UNSUPPORTED_PAIR or NONDETERMINISTIC, if the outcome says so, or what
    the model's symbolic values were refused for.
    """
    if outcome["refusal"] is not None:
        raise outcome["refusal"]
    span = hosted.info
    place = SourceSpan(span.file, span.line, span.column)
    if outcome["uncontrolled"] is not None:
        message, calls = split_calls(outcome["uncontrolled"])
        raise DporError(
            Code.UNCONTROLLED,
            f"{hosted.info.name} {message}",
            way_to_unseen_state(
                "keep it out of the model, or replace it with a stand-in", hosted.host.assumptions()
            ),
            next((_span(hosted, call) for call in calls if hosted.is_first_party(call.file)), place),
        )
    if outcome["forbidden"] is not None:
        what, file, line = outcome["forbidden"]
        raise DporError(
            Code.PREDICATE,
            f"{hosted.info.name}: a predicate of wait_until {what}, and it may only read",
            "do it before or after the wait; to find out whether it is time, read attributes, items and Atomic objects",
            place if file is None else SourceSpan(hosted.relative(Path(file)), line),
        )
    if outcome["untreated"] is not None:
        raise DporError(
            Code.UNSUPPORTED_PAIR,
            f"{hosted.info.name} uses {outcome['untreated']}, which algorithm "
            f"{hosted.options.algorithm.value!r} does not treat{_where(hosted.options)}",
            _instead(hosted.options),
            place,
        )
    if outcome["nondeterminism"] is not None:
        step, thread, expected, found, file, line = outcome["nondeterminism"]
        instead = f"not to {expected}" if found != expected else "but with another object, item or value"
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} behaved differently when the same choices were made again: at step {step + 1}, "
            f"thread {thread} was about to {found}, {instead}",
            way_to_unseen_state(
                "does it depend on something that outlives an execution or is not fixed, such as a cache, addresses or "
                "the order of a set?",
                hosted.host.assumptions(),
            ),
            place if file is None else SourceSpan(hosted.relative(Path(file)), line),
        )


def _where(options: ModelOptions) -> str:
    if not chooses_reads(options):
        return ""
    rf = " with partition 'rf'" if options.partition is Partition.RF else ""
    return f" under memory model {options.memory_model.value!r}{rf}"


def _instead(options: ModelOptions) -> str:
    if options.memory_model is MemoryModel.RC11:
        return "use --memory-model sc, tso or pso with --algorithm optimal, or Atomic objects in its place"
    return "use --algorithm optimal"
