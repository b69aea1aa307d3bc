"""Check every reference program, measure speed and memory, print a table and write JSON.

python benchmarks/run.py [--quick] [--json FILE] [--only PATTERN] [--algorithm NAME ...] [--timeout SECONDS]

Exit code 1 if a count is wrong or a row fails or times out; missing a speed target is reported, not a
failure.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import platform
import sys
from pathlib import Path
from typing import Any

import process
import rows
from rich.console import Console
from rich.table import Table

COLUMNS = (
    ("program", "left"),
    ("algorithm", "left"),
    ("expected", "right"),
    ("executions", "right"),
    ("blocked", "right"),
    ("redundant", "right"),
    ("seconds", "right"),
    ("executions/s", "right"),
    ("events/s", "right"),
    ("µs/event", "right"),
    ("peak MB", "right"),
    ("status", "left"),
)


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    console = Console(width=None if sys.stdout.isatty() else 170)
    wanted = [*rows.speed_rows(options.quick)]
    for algorithm in options.algorithm or ["optimal"]:
        wanted += rows.count_rows(algorithm, options.quick)
    results: list[dict[str, Any]] = []
    for row in wanted:
        if not fnmatch.fnmatch(row.name, options.only):
            continue
        with console.status(f"{row.name} ({row.algorithm})"):
            measured = rows.run(row, options.timeout)
        expected = sum(row.expected) if row.expected else None
        results.append(
            {
                "name": row.name,
                "program": row.model,
                "parameters": dict(row.parameters),
                "algorithm": row.algorithm,
                "expected": expected,
                "target": row.target,
                **measured,
            }
        )
        print(f"{row.name} ({row.algorithm}): {measured['status']}", file=sys.stderr)
        _write(options.json, results)
    if fnmatch.fnmatch("process", options.only):
        results += process.measure()
    console.print(_table(results))
    bad = [result for result in results if result["status"] not in ("ok", "slow")]
    slow = [result for result in results if result["status"] == "slow"]
    console.print(f"{len(results)} rows, {len(bad)} wrong or failed, {len(slow)} slower than their target")
    _write(options.json, results)
    return 1 if bad else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only rows of up to 5,000 classes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to FILE")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only rows whose name matches")
    parser.add_argument("--algorithm", action="append", help="algorithm of the count rows (again for more)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each row")
    return parser.parse_args(arguments)


def _table(results: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name, justify in COLUMNS:
        table.add_column(name, justify="right" if justify == "right" else "left", no_wrap=name != "status")
    for result in results:
        status = result["status"]
        style = {"ok": "", "slow": "yellow"}.get(status, "red")
        if status == "slow":
            status = f"slow (target {result['target']})"
        events = result.get("events")
        microseconds = result["seconds"] / events * 1e6 if events else None
        cells = (
            result["name"],
            result.get("algorithm", ""),
            _number(result.get("expected")),
            _number(result.get("executions")),
            _number(result.get("blocked")),
            _number(result.get("redundant")),
            _number(result.get("seconds"), 3),
            _number(result.get("rate"), 0),
            _number(result.get("event_rate"), 0),
            _number(microseconds, 2),
            _number(result.get("peak_megabytes"), 0),
            status,
        )
        table.add_row(*cells, style=style)
    return table


def _number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _write(file: Path | None, results: list[dict[str, Any]]) -> None:
    """Write what is known so far: all rows take long enough to be interrupted."""
    if file is not None:
        file.write_text(json.dumps(_report(results), indent=1) + "\n", encoding="utf-8")


def _report(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "rows": results,
    }


if __name__ == "__main__":
    sys.exit(main())
