"""From the arguments of a launch request to a recorded trace: read from its file, or recorded first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from dpor.codes import Code
from dpor.counterexample.trace_document import TraceDocument
from dpor.errors import DporError, reason_of_system
from dpor.results import Progress, Verdict
from dpor_lsp.checking.check_target import CheckTarget
from dpor_lsp.checking.checker import Checker
from dpor_lsp.checking.outcomes import check_outcome
from dpor_lsp.checking.process import Cancellation, run_worker
from dpor_lsp.cli.arguments import Arguments, Mode
from dpor_lsp.cli.preparation import make_checker, only_model, overrides, run_root
from dpor_lsp.cli.replaying import Pinned, replay_request
from dpor_lsp.cli.report import raised
from dpor_lsp.cli.targets import MODEL_SEPARATOR
from dpor_lsp.debug_adapter.answers import shown
from dpor_lsp.options import ENGINE_OPTIONS, did_you_mean, read_option
from dpor_lsp.trace import load_trace, record_trace

STARTS = ("matters", "first", "failure")
STEPS = ("all", "matters")


@dataclass(frozen=True)
class Launch:
    """What a launch request asks for.

    Either `trace`, the file of a recorded trace, or `model` (`FILE::MODEL`, relative to `cwd`), with a `schedule` or
    without, `parameters` of the model and `options` of the check. `start` is where the session begins, `steps` which
    steps it stops at.
    """

    trace: Path | None = None
    model: str | None = None
    schedule: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cwd: Path = field(default_factory=Path.cwd)
    start: str = STARTS[0]
    steps: str = STEPS[0]

    @property
    def target(self) -> str:
        """What is replayed, in a word."""
        return self.model or (self.trace.name if self.trace is not None else "")


def read_launch(arguments: object) -> Launch:
    """Read the arguments of a launch request; what editors add to them is ignored.

    Raises DporError (DPOR105) that names the argument, for one that is missing or has a value it does not accept.
    """
    given: dict[str, Any] = cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {}
    cwd = _folder(given)
    trace, model = _path(given, "trace"), _path(given, "model")
    if (trace is None) == (model is None):
        both = "both" if trace is not None else "neither"
        raise _bad(
            f'the launch arguments have {both} of "trace" and "model"',
            'give "trace", the file of a recorded trace, or "model", as in "bank.py::transfer"',
        )
    schedule = _text(given, "schedule")
    if schedule is not None and trace is not None:
        raise _bad(
            'the launch argument "schedule" goes with "model"', "a recorded trace has its own schedule"
        )
    return Launch(
        trace=cwd / trace if trace is not None else None,
        model=model,
        schedule=schedule,
        parameters=_mapping(given, "parameters"),
        options=_options(_mapping(given, "options")),
        cwd=cwd,
        start=_one_of(given, "start", STARTS),
        steps=_one_of(given, "steps", STEPS),
    )


def load(launch: Launch, cancellation: Cancellation, on_progress: Callable[[str], None]) -> TraceDocument:
    """Return the trace that a launch asks for.

    Without a schedule that is the last counterexample that the cache holds, if it still breaks the model, and else the
    one that a check finds now. `on_progress` is told in words what is being done. Raises DporError for whatever keeps
    it from being shown, among it a model without a counterexample.
    """
    if launch.trace is not None:
        return _require_steps(load_trace(launch.trace))
    assert launch.model is not None
    arguments = _arguments(launch, launch.model)
    root = run_root(arguments)
    checker = make_checker(arguments, root)
    try:
        target = only_model(arguments, root, overrides(arguments, root))
        on_progress(f"recording {target.info.id}")
        if launch.schedule is not None:
            request = target.request
            pinned = Pinned(launch.schedule, request.parameters, request.options)
            return _require_steps(_record(checker, target, pinned, cancellation))
        return _require_steps(_last(checker, target, cancellation, on_progress))
    finally:
        checker.close()


def _last(
    checker: Checker, target: CheckTarget, cancellation: Cancellation, on_progress: Callable[[str], None]
) -> TraceDocument:
    cache = checker.cache(target.root)
    kept = cache.last_counterexample(target.info.id) if cache is not None else None
    if kept is not None:
        parameters = {**kept.parameters, **target.request.parameters}
        document = _still_broken(
            checker, target, Pinned(kept.schedule, parameters, kept.options), cancellation
        )
        if document is not None:
            return document
    on_progress(f"checking {target.info.id}")

    def tell(progress: Progress) -> None:
        on_progress(f"checking {target.info.id}: {progress.executions} executions")

    limits = checker.limits(target)
    end = run_worker(target.request, limits, cancellation=cancellation, on_progress=tell)
    result = check_outcome(target, end, limits)
    if result.violations:
        schedule = result.violations[0].schedule
        pinned = Pinned(schedule, target.request.parameters, target.request.options)
        return _record(checker, target, pinned, cancellation)
    if result.verdict is Verdict.VERIFIED or result.reason is None:
        raise _bad(
            f"{target.info.id} is verified: there is no counterexample to replay",
            'to follow a schedule all the same, give it as "schedule"',
        )
    raise raised(result.reason)


def _still_broken(
    checker: Checker, target: CheckTarget, pinned: Pinned, cancellation: Cancellation
) -> TraceDocument | None:
    """The trace of a schedule that was kept, if the model is still broken by it."""
    try:
        document = _record(checker, target, pinned, cancellation)
    except DporError as error:
        if error.code in (Code.FOREIGN_SCHEDULE, Code.BAD_SCHEDULE, Code.BAD_PARAMETER):
            return None
        raise
    return document if document.failure is not None else None


def _record(
    checker: Checker, target: CheckTarget, pinned: Pinned, cancellation: Cancellation
) -> TraceDocument:
    request = replay_request(target, pinned)
    return record_trace(request, checker.limits(target), cancellation=cancellation)


def _require_steps(document: TraceDocument) -> TraceDocument:
    if document.steps:
        return document
    if document.divergence is not None:
        message = f"the model no longer follows the schedule at all: it diverged at {document.divergence}"
        raise DporError(Code.DIVERGED, message, "check the model again to get a schedule for its code")
    raise DporError(Code.BAD_TRACE, "the trace has no steps", "record it again from its model")


def _arguments(launch: Launch, model: str) -> Arguments:
    file, separator, name = model.partition(MODEL_SEPARATOR)
    return Arguments(
        mode=Mode.REPLAY,
        engine=launch.options,
        assignments=tuple(f"{parameter}={value!r}" for parameter, value in launch.parameters.items()),
        replay=f"{launch.cwd / file}{separator}{name}",
        schedule=launch.schedule,
    )


def _text(given: Mapping[str, Any], name: str) -> str | None:
    value = given.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise _bad(f'the launch argument "{name}" does not accept {shown(value)}', "give a text")
    return value


def _path(given: Mapping[str, Any], name: str) -> str | None:
    """A text that can be the name of a file."""
    value = _text(given, name)
    if value is None:
        return None
    try:
        if "\0" in value:
            raise ValueError
        os.fsencode(value)
    except ValueError:
        raise _bad(
            f'the launch argument "{name}" is {shown(value)}, which no file is called', "name a file"
        ) from None
    return value


def _folder(given: Mapping[str, Any]) -> Path:
    name = _path(given, "cwd")
    try:
        folder = Path.cwd() if name is None else Path(name)
        found = folder.is_dir()
    except OSError as error:
        text = f"the working folder cannot be used: {reason_of_system(error)}"
        raise _bad(text, 'name a folder that exists, as "cwd"') from error
    if not found:
        raise _bad(
            f'the launch argument "cwd" names {folder}, which is no folder', "name a folder that exists"
        )
    return folder


def _mapping(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = given.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _bad(f'the launch argument "{name}" does not accept {shown(value)}', "give an object")
    return cast("dict[str, Any]", value)


def _options(given: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in given:
        if name not in ENGINE_OPTIONS:
            hint = did_you_mean(name, ENGINE_OPTIONS)
            raise _bad(
                f'the launch argument "options" has no option {shown(name)}', f"{hint}see docs/replay.md"
            )
    return {name: read_option(name, value, shown_as=f'"{name}"') for name, value in given.items()}


def _one_of(given: Mapping[str, Any], name: str, accepted: tuple[str, ...]) -> str:
    value = given.get(name, accepted[0])
    if value not in accepted:
        hint = did_you_mean(value, accepted) if isinstance(value, str) else ""
        message = f'the launch argument "{name}" does not accept {shown(value)}'
        raise _bad(message, f"{hint}it accepts {', '.join(accepted)}")
    return value


def _bad(message: str, fix: str) -> DporError:
    return DporError(Code.BAD_OPTION, message, fix)
