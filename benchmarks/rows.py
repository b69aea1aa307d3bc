"""What is measured: a row is one check with what is expected of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import expectations

ROOT = Path(__file__).resolve().parents[1]
MEASURE = Path(__file__).resolve().parent / "measure.py"
SPEED_MODELS = expectations.PROGRAMS / "speed.py"
FIRST_COUNTS = ROOT / "tests" / "litmus" / "models" / "first_counts.py"
QUICK_CLASSES = 5000
# Algorithms that make no redundant explorations, unless an option makes them.
OPTIMAL = ("optimal", "parsimonious", "graph", "unfolding", "concolic")
# Past the check's own deadline, a process that has not answered is stuck.
GRACE_SECONDS = 30


@dataclass(frozen=True)
class Row:
    """One check: what to check, how, and what is expected (`expected` classes, `at_most` so many, or a `target`)."""

    name: str
    file: Path
    model: str
    parameters: Mapping[str, int]
    algorithm: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    expected: tuple[int, int] | None = None
    at_most: int | None = None
    target: str = ""
    limit: tuple[str, float] | None = None


def count_rows(algorithm: str, quick: bool) -> Iterator[Row]:
    """Every row of the reference counts; only those of up to 5,000 classes if `quick`."""
    for row in expectations.load():
        if not quick or row.classes <= QUICK_CLASSES:
            counts = (row.executions, row.blocked)
            if algorithm == "value-centric":
                most = row.most_value_classes
                yield Row(row.name, row.file, row.program, row.parameters, algorithm, at_most=most)
            else:
                yield Row(row.name, row.file, row.program, row.parameters, algorithm, expected=counts)


def speed_rows(quick: bool) -> Iterator[Row]:
    """Executions a second, named models against the clock, cost of an event, memory as executions pass."""
    many = 20_000 if quick else 200_000
    for model, parameters in (
        ("thirty_events", {"threads": 3, "rounds": 5}),
        ("thirty_events", {"threads": 2, "rounds": 8}),
        ("thirty_events", {"threads": 4, "rounds": 4}),
        ("thirty_plain_events", {"rounds": 5}),
    ):
        for algorithm in ("optimal", "source"):
            yield Row(
                f"{model}{tuple(parameters.values())}",
                SPEED_MODELS,
                model,
                parameters,
                algorithm,
                {"max_executions": many},
                target="20,000 executions/s",
                limit=("rate", 20_000.0),
            )
    yield _timed("writers_and_reader", {"n": 8}, (256, 0), 0.1)
    yield _timed("lost_notify", {}, (56, 4), 0.5)
    yield Row(
        "floating_read(15)",
        expectations.program_files()["floating_read"],
        "floating_read",
        {"n": 15},
        "value-centric",
        expected=(16, 0),
        target="1 s",
        limit=("seconds", 1.0),
    )
    for length in (50, 200, 800) if quick else (50, 200, 800, 3200):
        yield Row(
            f"long_execution({length})",
            SPEED_MODELS,
            "long_execution",
            {"length": length},
            "optimal",
            expected=(length + 1, 0),
            target="microseconds an event stay flat",
        )
    for executions in (100, 1_000, 10_000) if quick else (100, 1_000, 10_000, 100_000, 1_000_000):
        yield Row(
            f"many_executions, first {executions:,}",
            SPEED_MODELS,
            "many_executions",
            {"threads": 3, "rounds": 4},
            "source",
            {"max_executions": executions},
            target="memory stays flat",
        )


def _timed(model: str, parameters: dict[str, int], expected: tuple[int, int], seconds: float) -> Row:
    name = f"{model}({', '.join(str(value) for value in parameters.values())})"
    return Row(
        name,
        FIRST_COUNTS,
        model,
        parameters,
        "optimal",
        expected=expected,
        target=f"{seconds} s",
        limit=("seconds", seconds),
    )


def run(row: Row, timeout: float) -> dict[str, Any]:
    """Check the row in a process of its own; return its measurements and a `status`.

    The status is `ok`, `WRONG COUNT`, `REDUNDANT`, `slow` (a limit is missed), `timeout` or `failed: ...`.
    """
    task = {
        "file": str(row.file),
        "model": row.model,
        "parameters": dict(row.parameters),
        "options": {"algorithm": row.algorithm, "timeout": timeout, **row.options},
    }
    paths = [str(ROOT / "engine"), str(ROOT / "server"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    try:
        done = subprocess.run(
            [sys.executable, str(MEASURE), json.dumps(task)],
            capture_output=True,
            text=True,
            timeout=timeout + GRACE_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": "timeout"}
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return {"status": f"failed: {last[0]}"}
    measured = json.loads(done.stdout.splitlines()[-1])
    seconds = max(measured["seconds"], 1e-9)
    explored = measured["executions"] + measured["blocked"] + measured["redundant"]
    measured["rate"] = explored / seconds
    measured["event_rate"] = measured["events"] / seconds
    measured["status"] = _status(row, measured)
    return measured


def _status(row: Row, measured: dict[str, Any]) -> str:
    reason = measured["reason"]
    if reason is not None and "max_executions" not in row.options:
        return "timeout" if reason["code"] == "DPOR304" else f"failed: {reason['code']} {reason['message']}"
    if row.expected is not None and (measured["executions"], measured["blocked"]) != row.expected:
        return "WRONG COUNT"
    if row.at_most is not None and measured["executions"] + measured["blocked"] > row.at_most:
        return "WRONG COUNT"
    if row.algorithm in OPTIMAL and "k" not in row.options and measured["redundant"]:
        return "REDUNDANT"
    if row.limit is not None:
        what, bound = row.limit
        if (measured[what] < bound) if what == "rate" else (measured[what] > bound):
            return "slow"
    return "ok"
