"""Check one model in this process and print what it took as JSON; `run.py` starts this once for each row.

    python benchmarks/measure.py '{"file": ..., "model": ..., "parameters": {...}, "options": {...}}'

A process of its own makes peak memory that of the row, and lets a row be stopped without harm to others.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from dpor.checking import check_model
from dpor.results import CheckRequest, to_json


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Check the model that `task` names; return counts, verdict, seconds and megabytes."""
    request = CheckRequest(
        file=task["file"],
        model=task["model"],
        root=str(Path(task["file"]).parent),
        parameters=task["parameters"],
        options=task["options"],
        all_violations=True,
    )
    before = peak_megabytes()
    start = time.perf_counter()
    result = check_model(request, lambda progress: None)
    return {
        "verdict": result.verdict.value,
        "reason": to_json(result.reason),
        "executions": result.executions,
        "blocked": result.blocked,
        "redundant": result.redundant,
        "events": result.events,
        "violations": len(result.violations),
        "seconds": result.seconds,
        "wall_seconds": time.perf_counter() - start,
        "peak_megabytes": peak_megabytes(),
        "start_megabytes": before,
    }


def peak_megabytes() -> float:
    """The most memory that this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
