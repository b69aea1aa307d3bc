"""Checks one model in this process: explores it and explains what breaks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from dpor._kernel import Failed, Host, Outcome
from dpor.assumptions import (
    merged,
    read_assumptions,
    refused_if_strict,
    way_to_fewer_orders,
    way_to_unseen_state,
)
from dpor.checking.exploration import (
    Bound,
    Bounds,
    Choices,
    Explorer,
    Listeners,
    Restart,
    Search,
    Steps,
    begins_anew,
    change,
    explore,
    restart_of,
)
from dpor.checking.failures import Found
from dpor.checking.minimisation import minimised
from dpor.checking.recording import REPLAY, record, run_once
from dpor.checking.refusals import require_controlled, require_planned, require_repeated, require_root
from dpor.checking.tail import Tail
from dpor.checkpoints import (
    Checkpoint,
    FactKind,
    LearnedError,
    LearnedFact,
    Sharing,
    read_choices,
    write_choices,
)
from dpor.codes import Code
from dpor.contents import incomplete_if_changed, joined
from dpor.errors import DporError
from dpor.hosted import HostedModel, json_parameters
from dpor.instrument.coverage import covered_lines
from dpor.options import (
    GRAPHS,
    Algorithm,
    Expectation,
    MemoryModel,
    ModelOptions,
    Partition,
    Races,
    TaskOrder,
    joins_sections,
)
from dpor.results import (
    Assumption,
    AssumptionKind,
    CheckRequest,
    Coverage,
    ModelResult,
    Progress,
    Reason,
    SourceSpan,
    Verdict,
    Violation,
    ViolationKind,
)

_BOUNDS = {
    Bound.MAX_STEPS: Code.MAX_STEPS,
    Bound.MAX_EXECUTIONS: Code.MAX_EXECUTIONS,
    Bound.PREEMPTIONS: Code.PREEMPTION_BOUND,
    Bound.TIMEOUT: Code.TIMEOUT,
    Bound.CANCELLED: Code.CANCELLED,
}
# What others who take part in a check have to know of it. That code of the library is to be instrumented, each process
# finds out by itself.
_FACTS = {
    Restart.MODULE_STATE: FactKind.MODULE_STATE,
    Restart.REBOUND: FactKind.REBOUND,
    Restart.OPERANDS: FactKind.OPERANDS,
}
_RESTART_BY = {fact: restart for restart, fact in _FACTS.items()}
_EXPLAINED = 200
_MINIMISED = 5
_MAIN = "main"
_LEARN = Explorer(name="learn")
_RANDOM_EXECUTIONS = 10_000
_PCT_DEPTH = 3
_RESTARTS = 200
_BETWEEN_KEEPING = 1.0


def check_model(
    request: CheckRequest,
    on_progress: Callable[[Progress], object] | None = None,
    sharing: Sharing | None = None,
    on_output: Callable[[], object] | None = None,
) -> ModelResult:
    """Explore a model and say what was found.

    `on_progress` is called about ten times a second; if it returns False the check is cancelled. `sharing` continues a
    check that was stopped or takes part in one; the counts are then those of the whole so far. `on_output` is called
    before an execution that prints: the first one, again where the exploration begins anew, and the one that shows the
    first violation; without it the exploration prints once. Raises DporError for
    a model that cannot be checked: see `HostedModel`, and UNSUPPORTED_PAIR, NONDETERMINISTIC, UNCONTROLLED; and
    LearnedError if others take part and something was learned that all have to know.
    """
    with HostedModel.of(request) as hosted:
        if on_output is not None:
            hosted.output.when_begun = on_output
        prints_again = on_output is not None
        return _Check(hosted, request.all_violations, on_progress, sharing or Sharing(), prints_again).run()


class Counts(NamedTuple):
    """What was explored so far; `seconds` are those that were used."""

    executions: int
    blocked: int
    redundant: int
    events: int
    seconds: float


class _Check:
    """One check of one model. `prints_again`: what an exploration prints that begins anew takes the place of what was
    printed before.
    """

    def __init__(
        self,
        hosted: HostedModel,
        all_violations: bool,
        on_progress: Callable[[Progress], object] | None,
        sharing: Sharing,
        prints_again: bool = False,
    ) -> None:
        self.hosted = hosted
        self.all_violations = all_violations
        self.on_progress = on_progress
        self.sharing = sharing
        self.found: dict[tuple[object, ...], Found] = {}
        # What was counted before this process took over; nothing any more once the exploration began anew.
        self.before = sharing.checkpoint or Checkpoint()
        self.learned = list(self.before.learned)
        self.shared = sharing.shared
        self.exploring = False
        self.has_printed_failure = False
        self.prints_again = prints_again
        # What this process has taken, also where it began anew.
        self.seconds = 0.0
        self.kept = monotonic()

    def run(self) -> ModelResult:
        options = self.hosted.options
        _require_supported(options)
        outcome = self._explore()
        counts = self._counts(outcome)
        told = [self._explain(found) for found in list(self.found.values())[:_EXPLAINED]]
        harmless = options.races is Races.WARN
        warnings = tuple(one for one in told if harmless and one.kind is ViolationKind.DATA_RACE)
        violations = tuple(one for one in told if not harmless or one.kind is not ViolationKind.DATA_RACE)
        verdict, reason = self._verdict(outcome, bool(violations))
        expect = None
        if options.expect is not None:
            expect = Verdict.VIOLATED if options.expect is Expectation.VIOLATED else Verdict.VERIFIED
        info = self.hosted.info
        result = ModelResult(
            id=f"{info.file}::{info.name}",
            file=info.file,
            line=info.line,
            parameters=json_parameters(self.hosted.parameters),
            verdict=verdict,
            reason=reason,
            algorithm=options.algorithm.value,
            memory_model=options.memory_model.value,
            executions=counts.executions,
            blocked=counts.blocked,
            redundant=counts.redundant,
            classes=outcome.explored.classes,
            events=counts.events,
            seconds=counts.seconds,
            violations=violations,
            warnings=warnings,
            expect=expect,
            assumptions=self._assumptions(),
            strict=options.strict,
            dependencies=self._dependencies(),
            contents=self._contents(),
            coverage=self._coverage(),
        )
        # What others have assumed who explore parts of it is known to whoever joins the parts.
        return result if self.shared else refused_if_strict(incomplete_if_changed(result))

    def _assumptions(self) -> tuple[Assumption, ...]:
        hosted = self.hosted
        found = read_assumptions(
            hosted.host.assumptions(), lambda file, line: SourceSpan(hosted.relative(Path(file)), line)
        )
        # Other memory models give the order of a container's items a meaning.
        ordered = hosted.options.memory_model is MemoryModel.RC11
        kept = (one for one in found if ordered or one.kind is not AssumptionKind.CONTAINER_ORDER)
        return merged((*self.before.assumptions, *kept))

    def _coverage(self) -> Coverage | None:
        hosted = self.hosted
        if self.sharing.shared or self.sharing.checkpoint is not None:
            return None
        source = hosted.instrumentation.source(str(hosted.file))
        return covered_lines(source, hosted.info.name, hosted.instrumentation.reached)

    def _dependencies(self) -> tuple[str, ...]:
        hosted = self.hosted
        modules = {str(path) for path in (hosted.file, *hosted.instrumentation.files)}
        return tuple(sorted(modules | hosted.patches.outside.read()))

    def _contents(self) -> Mapping[str, str]:
        return joined((self.before.contents, self.hosted.instrumentation.contents.values()))

    def _explore(self) -> Outcome:
        hosted, options = self.hosted, self.hosted.options
        self._learn()
        for _ in range(_RESTARTS):
            self.found.clear()
            if self.prints_again:
                hosted.output.speak()
            remaining = None if options.timeout is None else max(0.0, options.timeout - self.seconds)
            self.exploring = True
            outcome = explore(
                hosted,
                Search(
                    explorer=_explorer(options),
                    bounds=Bounds(
                        max_steps=options.max_steps,
                        max_executions=options.max_executions,
                        preemptions=options.preemption_bound,
                        timeout=remaining,
                    ),
                    races=options.races,
                    stop_at_failure=not self.all_violations,
                    turns=_may_take_turns(options),
                    sections=joins_sections(options) and not self.all_violations,
                    frontiers=self.before.frontiers,
                    listeners=Listeners(
                        on_failure=self._note,
                        on_progress=self._report if self.on_progress is not None else None,
                    ),
                ),
            )
            self.exploring = False
            self.seconds += outcome.explored.seconds
            self._add_learned(outcome)
            if self._fails_in_turns(outcome) or self._fails_in_sections(outcome):
                return outcome
            if not begins_anew(hosted, outcome):
                require_controlled(hosted, outcome)
                require_root(hosted, outcome)
                require_planned(hosted, outcome)
                if not self.found:
                    require_repeated(hosted, outcome)
                if outcome.bound is not None and outcome.frontier is not None:
                    self._keep(self._checkpoint(self._counts(outcome), outcome.frontier))
                return outcome
        raise DporError(
            Code.NONDETERMINISTIC,
            "the exploration had to begin again too often, because the model never behaves as before",
            way_to_unseen_state(
                "see whether it depends on state that outlives an execution", hosted.host.assumptions()
            ),
        )

    def _fails_in_turns(self, outcome: Outcome) -> bool:
        """Whether an execution failed in which turns of event loops are events. It is run again as it is told of, with
        the loop's decisions drawn; if it does not fail so, it counts for nothing.
        """
        hosted = self.hosted
        if outcome.failed_turns is None or self.all_violations:
            return False
        change(hosted, Restart.TURNS, [])
        explore(
            hosted,
            Search(
                explorer=REPLAY,
                bounds=Bounds(max_steps=hosted.options.max_steps),
                steps=Steps(steps=[(_MAIN, drawn) for drawn in outcome.failed_turns], complete=True),
                listeners=Listeners(on_failure=self._note),
            ),
        )
        return bool(self.found)

    def _fails_in_sections(self, outcome: Outcome) -> bool:
        """The same of critical sections: it is run again step by step."""
        hosted = self.hosted
        if outcome.failed_sections is None:
            return False
        change(hosted, Restart.SECTIONS, [])
        steps = Steps(steps=outcome.failed_sections, complete=True, in_sections=True)
        explore(
            hosted,
            Search(
                explorer=REPLAY,
                bounds=Bounds(max_steps=hosted.options.max_steps),
                steps=steps,
                listeners=Listeners(on_failure=self._note),
            ),
        )
        return bool(self.found)

    def _learn(self) -> None:
        """Learn of the model what was known where this check was stopped or split."""
        hosted = self.hosted
        for fact in self.before.learned:
            if fact.kind is not FactKind.VISIBLE:
                module_and_variable = list(zip(fact.names[::2], fact.names[1::2], strict=True))
                change(hosted, _RESTART_BY[fact.kind], module_and_variable)
                continue
            explore(
                hosted,
                Search(
                    explorer=_LEARN,
                    bounds=Bounds(max_steps=hosted.options.max_steps),
                    steps=Steps(steps=read_choices(fact.schedule)),
                    races=hosted.options.races,
                    stop_at_failure=not self.all_violations,
                ),
            )

    def _counts(self, outcome: Outcome) -> Counts:
        """What was explored, with what was counted before this process took over."""
        before = self.before
        return Counts(
            outcome.explored.executions + before.executions,
            outcome.explored.blocked + before.blocked,
            outcome.explored.redundant + before.redundant,
            outcome.explored.events + before.events,
            self.seconds + (self.sharing.checkpoint or Checkpoint()).seconds,
        )

    def _add_learned(self, outcome: Outcome) -> None:
        """Note what an exploration has learned. Raises LearnedError if others have to know of it."""
        new = [LearnedFact(FactKind.VISIBLE, write_choices(choices)) for choices in outcome.learned]
        restart = restart_of(outcome)
        if restart is not None and restart in _FACTS:
            names = itertools.chain.from_iterable(outcome.rebinding)
            new.append(LearnedFact(_FACTS[restart], names=tuple(names)))
        if not new:
            return
        self.learned += new
        if self.shared:
            raise LearnedError(self.learned)
        self.before = Checkpoint()

    def _checkpoint(self, counts: Counts, frontier: str, fraction: float = 0.0) -> Checkpoint:
        learned = (LearnedFact(FactKind.VISIBLE, write_choices(one)) for one in self.hosted.host.learned())
        return Checkpoint(
            executions=counts.executions,
            blocked=counts.blocked,
            redundant=counts.redundant,
            events=counts.events,
            seconds=counts.seconds,
            fraction=fraction,
            frontiers=(frontier,),
            learned=(*self.learned, *learned) if self.exploring else tuple(self.learned),
            dependencies=self._dependencies(),
            contents=self._contents(),
            assumptions=self._assumptions(),
        )

    def _keep(self, checkpoint: Checkpoint) -> None:
        # What was found so far would be lost: whoever wants all violations has to have them from one run.
        if self.sharing.keep is not None and not self.found:
            self.sharing.keep(checkpoint)
            self.kept = monotonic()

    def _share(self, progress: Progress) -> None:
        """Tell what is left if it is time to, and give a part of it away if somebody wants one."""
        sharing, host = self.sharing, self.hosted.host
        wanted = sharing.give is not None and sharing.wanted is not None and sharing.wanted()
        if not wanted and (sharing.keep is None or monotonic() - self.kept < _BETWEEN_KEEPING):
            return
        given = host.split() if wanted and not self.found else None
        frontier = host.frontier()
        if frontier is None:
            return
        counts = Counts(
            progress.executions, progress.blocked, progress.redundant, progress.events, progress.seconds
        )
        checkpoint = self._checkpoint(counts, frontier, progress.fraction)
        if wanted:
            assert sharing.give is not None
            part = None if given is None else Checkpoint(frontiers=(given,), learned=checkpoint.learned)
            self.shared = self.shared or part is not None
            sharing.give(part, checkpoint)
        else:
            self._keep(checkpoint)

    def _note(self, failed: Failed | None, choices: Choices) -> bool:
        if failed is None:
            # The exploration has begun again with more visible operations: what was found will be found again.
            self.found.clear()
            self.before = Checkpoint()
            if self.prints_again:
                self.hosted.output.speak()
            return not self.shared
        found = Found(failed, choices, self.hosted.symbolic.values())
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
        if not self.exploring:
            return (
                self.on_progress(Progress(executions, blocked, redundant, events, seconds, fraction))
                is not False
            )
        before = self.before
        progress = Progress(
            executions + before.executions,
            blocked + before.blocked,
            redundant + before.redundant,
            events + before.events,
            seconds + (self.sharing.checkpoint or before).seconds,
            fraction,
        )
        go_on = self.on_progress(progress) is not False
        if go_on and self.hosted.options.algorithm is Algorithm.PARSIMONIOUS:
            self._share(progress)
        return go_on

    def _verdict(self, outcome: Outcome, violated: bool) -> tuple[Verdict, Reason | None]:
        if violated:
            return Verdict.VIOLATED, None
        options = self.hosted.options
        unsolved = self.hosted.symbolic.unsolved
        if unsolved:
            return Verdict.INCOMPLETE, Reason(
                Code.SOLVER_TIMEOUT,
                f"the solver gave up on {unsolved} side{'s' if unsolved != 1 else ''} of symbolic branches, after "
                f"solver_timeout={options.solver_timeout:g} s each",
                "raise solver_timeout, give the values bounds, or multiply and divide by constants only",
            )
        if outcome.complete:
            if options.expect is not Expectation.VIOLATED:
                return Verdict.VERIFIED, None
            return Verdict.VERIFIED, Reason(
                Code.UNEXPECTED,
                'every schedule was checked and none breaks the model, which expect="violated" says it should',
                "if the bug is fixed, take the option away",
            )
        if outcome.bound is None:
            drawn = outcome.explored.executions + outcome.explored.blocked
            return Verdict.INCOMPLETE, Reason(
                Code.SAMPLED,
                f"{drawn} schedules drawn at random broke nothing",
                "use algorithm 'optimal' for a proof",
            )
        bound = Bound(outcome.bound)
        message = {
            Bound.MAX_STEPS: f"an execution reached max_steps={options.max_steps}",
            Bound.MAX_EXECUTIONS: f"the check reached max_executions={options.max_executions}",
            Bound.PREEMPTIONS: f"schedules with more than preemption_bound={options.preemption_bound} were left out",
            Bound.TIMEOUT: f"the check reached its timeout of {options.timeout} s",
            Bound.CANCELLED: "the check was cancelled",
        }[bound]
        fix = "raise the bound or make the model smaller"
        if bound in (Bound.TIMEOUT, Bound.MAX_EXECUTIONS):
            fix = way_to_fewer_orders(fix, self.hosted.host.assumptions())
        location = None
        if bound is Bound.MAX_STEPS:
            location = self._loop()
            fix = "does this loop ever end? Bound it, or raise max_steps"
        return Verdict.INCOMPLETE, Reason(_BOUNDS[bound], message, fix, location)

    def _loop(self) -> Any:
        """Where an execution that reached `max_steps` was going round: the place of its last operations."""
        hosted = self.hosted
        tail = Tail(hosted)
        steps = Steps(steps=[], complete=True)
        run_once(hosted, tail, REPLAY, steps, max_steps=hosted.options.max_steps)
        return tail.place()

    def _explain(self, found: Found) -> Violation:
        if len(self.found) <= _MINIMISED:
            # Several failures of one place are told apart by their messages.
            exact = sum(other.place == found.place for other in self.found.values()) > 1
            progress = None if self.on_progress is None else self._report
            found = minimised(self.hosted, found, exact, progress)
        if not self.has_printed_failure:
            self.has_printed_failure = True
            self.hosted.output.speak()
        return record(self.hosted, found)


def _may_take_turns(options: ModelOptions) -> bool:
    """Whether turns of event loops may be events, as far as the options say: time does not pass between them, nobody
    cancels tasks there, and their order is the loop's.
    """
    return (
        options.task_order is TaskOrder.LOOP
        and not options.clock_jumps
        and not options.cancellations
        and options.preemption_bound is None
    )


def _require_supported(options: ModelOptions) -> None:
    algorithm = _explorer(options).name
    instead = Host.alternative(algorithm, options.memory_model.value)
    if instead is not None:
        fix = f"use --algorithm {instead}" if instead != "none" else "use --memory-model sc"
        raise DporError(
            Code.UNSUPPORTED_PAIR,
            f"no algorithm {options.algorithm.value!r} for memory model {options.memory_model.value!r}",
            fix,
        )


def _explorer(options: ModelOptions) -> Explorer:
    samples = options.max_executions or _RANDOM_EXECUTIONS
    if options.algorithm is Algorithm.RANDOM:
        return Explorer(name="random", seed=options.seed, samples=samples)
    if options.algorithm is Algorithm.PCT:
        return Explorer(name="random", seed=options.seed, samples=samples, depth=_PCT_DEPTH)
    if options.algorithm is Algorithm.VALUE_CENTRIC:
        return Explorer(name="value-centric", root=options.root)
    if options.algorithm in GRAPHS:
        return Explorer(name=options.algorithm.value, reads_from=options.partition is Partition.RF)
    return Explorer(name=options.algorithm.value, k=options.k)
