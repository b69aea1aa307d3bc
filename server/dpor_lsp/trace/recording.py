"""Recording a trace: the schedule is followed in a worker process, once, and never again to look at it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpor.codes import Code
from dpor.counterexample.trace_document import TRACE_VERSION, TraceDocument
from dpor.errors import DporError
from dpor.reading import read_file
from dpor.results import Reason, ReplayRequest, TraceRequest, from_json, to_json
from dpor_lsp.checking.check_target import Limits
from dpor_lsp.checking.outcomes import failure
from dpor_lsp.checking.process import Cancellation, Ending, run_worker
from dpor_lsp.cli.report import raised
from dpor_lsp.trace.storage import load_trace, save_trace, trace_of_json

_FOLDER = "traces"


def record_trace(
    request: ReplayRequest,
    limits: Limits | None = None,
    *,
    cancellation: Cancellation | None = None,
    command: Sequence[str] | None = None,
) -> TraceDocument:
    """Follow a request's schedule in a worker process and return all that happened.

    `limits` are those of the worker, `cancellation` ends it, `command` is its command line (None: this interpreter).
    A schedule that the model no longer follows gives a document that ends at the divergence and explains it.

    Raises DporError: DPOR401 and DPOR402 for a schedule that is none or another model's, DPOR305 if it was cancelled,
    and whatever keeps the model from being run.
    """
    limits = limits or Limits()
    asked = TraceRequest(
        file=request.file,
        model=request.model,
        root=request.root,
        schedule=request.schedule,
        parameters=request.parameters,
        options=request.options,
        source=request.source,
        overlays=request.overlays,
    )
    end = run_worker(asked, limits, cancellation=cancellation or Cancellation(), command=command)
    if end.ending is not Ending.FINISHED or end.result is None:
        raise raised(failure(end, limits, Path(request.root), Path(request.file))[1])
    if "reason" in end.result:
        raise raised(from_json(Reason, end.result["reason"]))
    if "trace" not in end.result:
        raise DporError(Code.INTERNAL_ERROR, "the worker's answer holds no trace")
    return replace(trace_of_json(end.result["trace"], "the worker's answer"), output=end.output)


def find_or_record(
    request: ReplayRequest,
    folder: Path,
    limits: Limits | None = None,
    *,
    cancellation: Cancellation | None = None,
    command: Sequence[str] | None = None,
) -> Path:
    """Return the file of the trace of a request, recording it if the kept one is missing or of other code.

    `folder` is the project's cache folder. Raises DporError as `record_trace` does, OSError if the file cannot be
    written.
    """
    path = folder / _FOLDER / f"{_key(request)}.json"
    if not _still_holds(path, request):
        save_trace(record_trace(request, limits, cancellation=cancellation, command=command), path)
    return path


def _key(request: ReplayRequest) -> str:
    parts = [
        TRACE_VERSION,
        request.file,
        request.model,
        request.root,
        "".join(request.schedule.split()),
        to_json(request.parameters),
        to_json(request.options),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()[:32]


def _still_holds(path: Path, request: ReplayRequest) -> bool:
    """True if there is a trace whose sources are all as they are now, in the editor or else on the disk."""
    try:
        document = load_trace(path)
    except DporError:
        return False
    root = Path(document.root)
    return all(_text(root / name, request) == text for name, text in document.sources.items())


def _text(path: Path, request: ReplayRequest) -> str | None:
    if request.source is not None and path == (Path(request.root) / request.file).resolve():
        return request.source
    edited = {Path(name).resolve(): text for name, text in request.overlays.items()}
    if path in edited:
        return edited[path]
    try:
        return read_file(path).decode(errors="replace")
    except OSError:
        return None
