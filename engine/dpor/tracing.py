"""Records an execution in full: a schedule in, a `TraceDocument` out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dpor.checking.guided_replay import guided
from dpor.counterexample.document import build
from dpor.counterexample.observation import Observation, RunningTask
from dpor.counterexample.replay import resolve
from dpor.counterexample.trace_document import TraceDocument
from dpor.hosted import HostedModel, json_parameters
from dpor.options import MemoryModel
from dpor.reading import read_file
from dpor.results import ReplayRequest
from dpor.tasks import task_name

_LARGEST_SOURCE = 1 << 20


def trace_model(request: ReplayRequest) -> TraceDocument:
    """Follow a request's schedule on its model, in this process, and record everything that happens.

    Raises DporError as `replay_model` does. A divergence is no error: the document ends there and explains it.
    """
    resolved, schedule = resolve(request)

    def observe(hosted: HostedModel) -> Observation:
        return Observation(
            hosted.host.waiting_threads,
            lambda: _running_task(hosted),
            # Modules that are loaded as part of the execution have nothing before it.
            lambda: () if hosted.fresh_modules else _namespaces(hosted),
            sequential=hosted.options.memory_model is MemoryModel.SC and not schedule.chosen_reads,
        )

    with guided(resolved, schedule, observe) as run:
        hosted = run.hosted
        return build(
            run.execution,
            run.result,
            run.recorder,
            run.exception,
            model=f"{hosted.info.file}::{hosted.info.name}",
            root=hosted.root,
            schedule=request.schedule,
            fingerprint=hosted.fingerprint(),
            parameters=json_parameters(hosted.parameters),
            options={"memory_model": hosted.options.memory_model.value},
            read=lambda name: _read(hosted.root / name, hosted.overlay),
        )


def _read(path: Path, overlay: Mapping[Path, str]) -> str | None:
    """The text of a source file, the editor's before the disk's; None if it cannot be read or is very large."""
    if path in overlay:
        return overlay[path]
    try:
        return read_file(path, _LARGEST_SOURCE).decode(errors="replace")
    except OSError:
        return None


def _namespaces(hosted: HostedModel) -> Iterator[dict[str, Any]]:
    for name in hosted.instrumentation.modules:
        module = sys.modules.get(name)
        if module is not None:
            yield vars(module)


def _running_task(hosted: HostedModel) -> RunningTask | None:
    """The asyncio task that the current thread runs."""
    thread: Any = hosted.host.current_thread()
    loop = getattr(thread, "dpor_running_loop", None)
    tasks: Any = sys.modules.get("asyncio.tasks")
    if loop is None or tasks is None:
        return None
    task = tasks.current_task(loop)
    if task is None:
        return None
    return RunningTask(task, task_name(task))
