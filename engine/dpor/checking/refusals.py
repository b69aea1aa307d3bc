"""Why a check cannot go on, as coded errors."""

from __future__ import annotations

import linecache
from pathlib import Path

from dpor._kernel import Outcome
from dpor.assumptions import way_to_unseen_state
from dpor.codes import Code
from dpor.counterexample.frames import characters
from dpor.errors import DporError
from dpor.hosted import HostedModel
from dpor.options import MemoryModel, ModelOptions, Partition, chooses_reads
from dpor.results import SourceSpan
from dpor.runtime.uncontrolled import Call, split_calls


def require_root(hosted: HostedModel, outcome: Outcome) -> None:
    """Raise DporError BAD_OPTION, if the model has no thread with the path of the option `root`."""
    root = hosted.options.root
    if root is not None and outcome.lacks_root and outcome.complete:
        span = hosted.info
        raise DporError(
            Code.BAD_OPTION,
            f"root={root!r} is not accepted: {hosted.info.name} has no such thread",
            "leave it out: the root is the first thread that main starts",
            SourceSpan(span.file, span.line, span.column),
        )


def require_controlled(hosted: HostedModel, outcome: Outcome) -> None:
    """Raise DporError: UNCONTROLLED, PREDICATE, UNSUPPORTED_PAIR or NONDETERMINISTIC, if the outcome says so, or what
    the model's symbolic values were refused for.
    """
    if outcome.error is not None:
        raise outcome.error
    span = hosted.info
    place = SourceSpan(span.file, span.line, span.column)
    if outcome.uncontrolled is not None:
        message, calls = split_calls(outcome.uncontrolled)
        raise DporError(
            Code.UNCONTROLLED,
            f"{hosted.info.name} {message}",
            way_to_unseen_state(
                "keep it out of the model, or replace it with a stand-in", hosted.host.assumptions()
            ),
            next((_span(hosted, call) for call in calls if hosted.is_first_party(call.file)), place),
        )
    if outcome.forbidden is not None:
        what, file, line = outcome.forbidden
        raise DporError(
            Code.PREDICATE,
            f"{hosted.info.name}: a predicate of wait_until {what}, and it may only read",
            "do it before or after the wait; to find out whether it is time, read attributes, items and Atomic objects",
            place if file is None else SourceSpan(hosted.relative(Path(file)), line),
        )
    if outcome.untreated is not None:
        raise DporError(
            Code.UNSUPPORTED_PAIR,
            f"{hosted.info.name} uses {outcome.untreated}, which algorithm "
            f"{hosted.options.algorithm.value!r} does not treat{_where(hosted.options)}",
            _instead(hosted.options),
            place,
        )
    if outcome.nondeterminism is not None:
        step, thread, expected, found, file, line = outcome.nondeterminism
        instead = f"not to {expected}" if found != expected else "but with another object, item or value"
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} behaved differently when the same choices were made again: at step {step + 1}, "
            f"thread {thread} was about to {found}, {instead}",
            _what_may_differ(hosted),
            place if file is None else SourceSpan(hosted.relative(Path(file)), line),
        )


def require_planned(hosted: HostedModel, outcome: Outcome) -> None:
    """Raise DporError NONDETERMINISTIC, if the model has left what was planned for it."""
    if outcome.divergence is not None:
        step, thread = outcome.divergence
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} behaved differently when the same choices were made again: at step {step + 1}, "
            f"thread {thread} could not go on",
            _what_may_differ(hosted),
            SourceSpan(hosted.info.file, hosted.info.line, hosted.info.column),
        )


def require_repeated(hosted: HostedModel, outcome: Outcome) -> None:
    """Raise DporError NONDETERMINISTIC, if the model did something else for the same choices although each step was the
    same: `optimal` comes to no prefix where all threads sleep that could run (Abdulla et al., POPL 2014), unless an
    operation is at another place than it was in the execution that planned it.
    """
    options = hosted.options
    if outcome.all_slept and options.memory_model is MemoryModel.SC and options.preemption_bound is None:
        raise DporError(
            Code.NONDETERMINISTIC,
            f"{hosted.info.name} behaved differently when the same choices were made again: an execution that was to "
            "be another one is equivalent to an earlier one",
            _what_may_differ(hosted),
            SourceSpan(hosted.info.file, hosted.info.line, hosted.info.column),
        )


def _what_may_differ(hosted: HostedModel) -> str:
    """The fix for a model that does something else for the same choices."""
    return way_to_unseen_state(
        "does it depend on something that outlives an execution or is not fixed, such as a cache, addresses or the "
        "order of a set?",
        hosted.host.assumptions(),
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
