"""Replays a schedule on a model: the command line's `--replay` and the public `dpor.replay`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpor.checking import guided_replay
from dpor.codes import Code
from dpor.counterexample.schedule import Schedule, decode, model_id
from dpor.counterexample.text import render
from dpor.errors import DporError
from dpor.results import ReplayRequest, ReplayResult, Violation

_NOTE_WIDTH = 100

Catch = Callable[[BaseException], None]


class CounterexampleError(AssertionError):
    """A schedule breaks a model in a way that raises no exception of the model's own, such as a deadlock.

    `violation` is the counterexample, `code` its stable identifier.
    """

    def __init__(self, violation: Violation) -> None:
        super().__init__(f"{violation.code.value}: {violation.message}")
        self.violation = violation
        self.code = violation.code


def replay_model(request: ReplayRequest) -> ReplayResult:
    """Follow a request's schedule on its model, in this process.

    The schedule's parameters and memory model are used; those of the request must not contradict them.
    Raises DporError: BAD_SCHEDULE for a text that is none, FOREIGN_SCHEDULE for another model's schedule,
    BAD_PARAMETER for a parameter that contradicts it, and what loading the model raises. A divergence is no
    error here: the result explains it.
    """
    return _replay(request, None)


def replay(model: Callable[..., Any], schedule: str, *, allow_divergence: bool = False) -> ReplayResult:
    """Follow a pinned schedule on a model in a test: raises what the schedule makes the model raise.

    Arguments: the function decorated with `@dpor.model`, and the schedule's text. If the schedule still
    breaks the model, its own exception is raised (the AssertionError of a failed `assert`, the exception
    that left a thread), with the counterexample as a note; a deadlock or livelock raises
    `CounterexampleError`, an AssertionError. If nothing breaks, the result is returned.

    Raises DporError for a schedule that cannot be used: BAD_SCHEDULE, FOREIGN_SCHEDULE, and DIVERGED if the
    model's operations no longer agree with the schedule, as after most changes of the model. That is no
    AssertionError: a test that expects the bug (`pytest.raises(AssertionError)`) must not pass because its
    schedule went stale, nor may one that expects it gone. A test that pins a bug which has been fixed
    passes `allow_divergence=True` and gets a result that explains the `divergence`, or, better, checks the
    model as a whole.
    """
    caught: list[BaseException] = []
    request = _request(model, schedule)
    result = _replay(request, caught.append)
    if result.violation is not None:
        raise _with_report(caught, result.violation, Path(request.root))
    if result.divergence is not None and not allow_divergence:
        raise DporError(
            Code.DIVERGED,
            f"the replay of {model_id(request.file, request.model)} diverged at {result.divergence}",
            "check the model again and pin the new schedule, or pass allow_divergence=True if the bug is fixed",
        )
    return result


def _replay(request: ReplayRequest, catch: Catch | None) -> ReplayResult:
    request, schedule = resolve(request)
    return guided_replay.run_guided(request, schedule, on_exception=catch)


def resolve(request: ReplayRequest) -> tuple[ReplayRequest, Schedule]:
    """The request with what its schedule says of parameters and memory model, and that schedule.

    Raises DporError: BAD_SCHEDULE, FOREIGN_SCHEDULE, BAD_PARAMETER.
    """
    schedule = decode(request.schedule)
    _require_same_model(request, schedule)
    resolved = dataclasses.replace(
        request,
        parameters=_parameters(request, schedule),
        options={**request.options, "memory_model": schedule.memory_model},
    )
    return resolved, schedule


def _require_same_model(request: ReplayRequest, schedule: Schedule) -> None:
    wanted = model_id(request.file, request.model)
    if schedule.model != wanted:
        raise DporError(
            Code.FOREIGN_SCHEDULE,
            f"the schedule belongs to {schedule.model}, not to {wanted}",
            "replay it on the model that it was found in",
        )


def _parameters(request: ReplayRequest, schedule: Schedule) -> dict[str, Any]:
    for name, value in request.parameters.items():
        if name in schedule.parameters and schedule.parameters[name] != value:
            raise DporError(
                Code.BAD_PARAMETER,
                f"the schedule was found with {name}={schedule.parameters[name]!r}, not with {name}={value!r}",
                f"leave out --set {name}, a replay takes its parameters from the schedule",
            )
    return {**request.parameters, **schedule.parameters}


def _request(model: Callable[..., Any], schedule: str) -> ReplayRequest:
    function = inspect.unwrap(model)
    file = inspect.getsourcefile(function)
    if file is None:
        raise DporError(Code.NOT_FOUND, f"the file of {function.__qualname__} cannot be found")
    path = Path(file).resolve()
    folder = Path.cwd().resolve()
    root = folder if path.is_relative_to(folder) else path.parent
    return ReplayRequest(file=str(path), model=function.__qualname__, root=str(root), schedule=schedule)


def _with_report(caught: list[BaseException], violation: Violation, root: Path) -> BaseException:
    """The exception to raise for a violation, with the counterexample as a note below its traceback."""
    raises = not violation.kind.is_standstill and caught
    error = caught[0] if raises else CounterexampleError(violation)
    error.add_note(render(violation, width=_NOTE_WIDTH, color=False, root=root))
    return error
