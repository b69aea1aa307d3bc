"""Explore the programs of QPOR's Table 1 with alternatives to 1, 2, 3 and all disabled events.

python benchmarks/quasi_optimal.py [--only PATTERN] [--classes N] [--seconds S]

A cell holds how many explorations were redundant, beside it in brackets how many the paper's own tool made, and the
seconds that the check took. `qpor_table1.csv` has the figures that were published with the paper (logs of its
artifact, github.com/cesaro/dpu-cav18-exp), which its table rounds; under `source` those of Nidhugg. The classes must
be exactly the expected ones, redundant explorations must not become more as `k` grows, and none may be left with full
alternatives. Exit code 1 otherwise.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import expectations
import rows

PUBLISHED = expectations.HERE / "qpor_table1.csv"
COLUMNS = ("k1", "k2", "k3", "optimal", "source")


@dataclass(frozen=True)
class Published:
    """One row of the paper: a program at one size, and the redundant explorations by column, where they are known."""

    expected: expectations.Expectation
    redundant: Mapping[str, int]


def load() -> tuple[Published, ...]:
    """Read every row, in the order of the paper; raises LookupError if the number of classes is not known."""
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        return tuple(_read(row) for row in csv.DictReader(file))


def main(arguments: list[str] | None = None) -> int:
    """Print the table; return the exit code."""
    options = _parse(arguments)
    print(f"| program | classes | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 2)}", flush=True)
    wrong = False
    for published in load():
        expected = published.expected
        if expected.classes > options.classes or not fnmatch.fnmatch(expected.name, options.only):
            continue
        measured = {column: _run(expected, column, options.seconds) for column in COLUMNS}
        texts = [_text(measured[column], published.redundant.get(column)) for column in COLUMNS]
        problem = _problem(measured)
        wrong = wrong or bool(problem)
        print(f"| {expected.name} | {expected.classes:,} | {' | '.join(texts)} |{problem}", flush=True)
    return 1 if wrong else 0


def _read(row: Mapping[str, str]) -> Published:
    expected = expectations.expected(row["program"], expectations.read_parameters(row["parameters"]))
    redundant = {column: int(row[column]) for column in COLUMNS if row.get(column)}
    return Published(expected, redundant)


def _run(expected: expectations.Expectation, column: str, seconds: float) -> dict[str, Any]:
    algorithm = "source" if column == "source" else "unfolding"
    chosen = {"k": int(column[1:])} if column.startswith("k") else {}
    counts = (expected.executions, expected.blocked)
    row = rows.Row(
        expected.name,
        expected.file,
        expected.program,
        expected.parameters,
        algorithm,
        chosen,
        expected=counts,
    )
    return rows.run(row, seconds)


def _text(measured: Mapping[str, Any], published: int | None) -> str:
    beside = "" if published is None else f" ({published:,})"
    if measured["status"] != "ok":
        return f"{measured['status']}{beside}"
    return f"{measured['redundant']:,}{beside} · {measured['seconds']:.1f} s"


def _problem(measured: Mapping[str, Mapping[str, Any]]) -> str:
    failed = [row["status"] for row in measured.values() if row["status"] not in ("ok", "timeout")]
    if failed:
        return f" {failed[0]}"
    by_k = [measured[column]["redundant"] for column in COLUMNS[:4] if measured[column]["status"] == "ok"]
    rises = any(fewer < more for fewer, more in itertools.pairwise(by_k))
    return " MORE REDUNDANT WITH A LARGER k" if rises else ""


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only programs whose name matches")
    parser.add_argument(
        "--classes", type=int, default=20_000, help="only programs of at most so many classes"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds that one check may take")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
