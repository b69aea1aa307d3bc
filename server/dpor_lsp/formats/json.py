"""The JSON report: the keys that the design names, in its order, then what is useful beside them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from dpor.options import shown_value
from dpor.results import (
    Assumption,
    CallSite,
    ModelInfo,
    ModelResult,
    Reason,
    ReplayResult,
    SourceSpan,
    TraceStep,
    Violation,
    WaitingThread,
    to_json,
)
from dpor_lsp.cli.report import Report

VERSION = 3
_MOST_BITS = 14_000
"""A number of more bits has more digits than Python writes."""


def render(report: Report) -> str:
    """Return the report as one JSON document."""
    document = {
        "version": VERSION,
        "exit_code": int(report.exit_code),
        "models": [model(entry.result) for entry in report.entries],
    }
    return dumps(document)


def dumps(document: object) -> str:
    """Return indented JSON text with a newline at its end; what JSON cannot hold appears as its repr."""
    try:
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=repr)
    except ValueError:
        plain = _plain(document)
        text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False, default=repr)
    return f"{text}\n"


def _plain(value: Any) -> Any:
    """Return a document with text for the numbers that JSON has no form for: infinite ones, and vast ones."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return shown_value(value)
    return value


def model(result: ModelResult) -> dict[str, Any]:
    """Return one model's part of the report."""
    return {
        "id": result.id,
        "file": result.file,
        "line": result.line,
        "parameters": to_json(result.parameters),
        "verdict": result.verdict.value,
        "reason": reason(result.reason),
        "algorithm": result.algorithm,
        "memory_model": result.memory_model,
        "cached": result.cached,
        "executions": result.executions,
        "blocked": result.blocked,
        "redundant": result.redundant,
        **({} if result.classes is None else {"classes": result.classes}),
        "events": result.events,
        "seconds": round(result.seconds, 6),
        "violations": [violation(item) for item in result.violations],
        "warnings": [violation(item) for item in result.warnings],
        "expect": result.expect.value if result.expect else None,
        "as_expected": result.as_expected,
        "assumptions": [assumption(item) for item in result.assumptions],
        "output": result.output,
    }


def violation(item: Violation) -> dict[str, Any]:
    """Return one violation with its counterexample."""
    return {
        "kind": item.kind.value,
        "code": item.code.value,
        "message": item.message,
        "location": location(item.location),
        "schedule": item.schedule,
        "trace": [step(part) for part in item.trace],
        "pattern": item.pattern.value if item.pattern else None,
        "thread": item.thread,
        "traceback": item.traceback,
        "calls": [call(part) for part in item.calls],
        "waiting": [waiting(part) for part in item.waiting],
        "values": dict(item.values),
        "path_condition": list(item.path_condition),
    }


def call(item: CallSite) -> dict[str, Any]:
    """Return one of the calls that were active where an exception was raised."""
    return {
        "function": item.function,
        "location": location(item.location),
        "first_party": item.first_party,
    }


def step(item: TraceStep) -> dict[str, Any]:
    """Return one step of a counterexample."""
    return {
        "step": item.step,
        "thread": item.thread,
        "operation": item.operation,
        "target": item.target,
        "value": item.value,
        "location": location(item.location),
        "matters": item.matters,
        "held": list(item.held),
        "function": item.function,
        "call_site": location(item.call_site),
        "source": item.source,
    }


def waiting(item: WaitingThread) -> dict[str, Any]:
    """Return one thread of a deadlock."""
    return {
        "thread": item.thread,
        "operation": item.operation,
        "target": item.target,
        "location": location(item.location),
        "held": list(item.held),
        "waits_for": item.waits_for,
        "task": item.task,
    }


def assumption(item: Assumption) -> dict[str, Any]:
    """Return something that a verdict rests on."""
    return {
        "kind": item.kind.value,
        "subject": item.subject,
        "message": item.message,
        "fix": item.fix,
        "location": location(item.location),
    }


def reason(item: Reason | None) -> dict[str, Any] | None:
    """Return why a verdict is `incomplete` or `error`."""
    if item is None:
        return None
    return {
        "code": item.code.value,
        "message": item.message,
        "fix": item.fix,
        "location": location(item.location),
    }


def location(item: SourceSpan | None) -> dict[str, Any] | None:
    """Return a place in a source file."""
    if item is None:
        return None
    return {
        "file": item.file,
        "line": item.line,
        "column": item.column,
        "end_line": item.end_line,
        "end_column": item.end_column,
    }


def render_replay(identity: str, replayed: ReplayResult, exit_code: int) -> str:
    """Return the outcome of a replay as one JSON document."""
    document = {
        "version": VERSION,
        "exit_code": exit_code,
        "replay": {
            "id": identity,
            "violation": violation(replayed.violation) if replayed.violation else None,
            "trace": [step(item) for item in replayed.trace],
            "changed": replayed.changed,
            "divergence": replayed.divergence,
        },
    }
    return dumps(document)


def render_list(models: Sequence[ModelInfo], exit_code: int) -> str:
    """Return the models that were found as one JSON document."""
    document = {
        "version": VERSION,
        "exit_code": exit_code,
        "models": [
            {
                "id": item.id,
                "file": item.file,
                "line": item.line,
                "parameters": to_json(item.parameters),
                "options": to_json(item.options),
            }
            for item in models
        ],
    }
    return dumps(document)
