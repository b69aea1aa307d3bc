"""Check programs with several algorithms in turn, in one process, and print how they compare.

python benchmarks/compare.py [--algorithm NAME ...] [--only PATTERN] [--rounds N] [--seconds S] [--memory]

A cell holds the processor time of a check, with loading the model, as a multiple of that of the first algorithm; or
that a check was not done in time, or that the algorithm refuses the program; and the redundant explorations if there
are any. Each program is checked by one algorithm after another, `--rounds` times, and the fastest round of each counts:
what else the machine does slows all of them alike. With `--memory` each check has a process of its own instead, and the
table says how far its peak memory is above that of its first hundred executions. Exit code 1 if a count is wrong.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import expectations
import rows

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, Verdict

ALGORITHMS = ("optimal", "parsimonious", "graph", "unfolding", "source", "value-centric")
SYMBOLIC_ALGORITHMS = ("optimal", "concolic", "source")
WRONG = "WRONG COUNT"
SYMBOLIC_MODELS = rows.ROOT / "tests" / "engine" / "test_symbolic" / "models.py"
PROGRAMS: tuple[tuple[str, dict[str, int]], ...] = (
    ("readers", {"n": 10}),
    ("readers", {"n": 12}),
    ("account", {"n": 3}),
    ("lastzero", {"n": 8}),
    ("floating_read", {"n": 6}),
    ("fib_bench", {"n": 3}),
    ("exp_mem3", {"n": 6}),
    ("redundant_co", {"n": 4}),
    ("linuxlocks", {"n": 4}),
    ("parker", {"n": 8}),
    ("race_param", {"n": 3}),
    ("account_lock", {"n": 5}),
    ("circular_buffer", {"n": 6}),
    ("indexer", {"n": 14}),
    ("ssbexp", {"n": 12}),
    ("ssbexp_at", {"n": 10}),
    ("ssb3", {"n": 9, "m": 4}),
    ("ssb3", {"n": 7, "m": 6}),
    ("dispatcher", {"n": 5, "m": 3}),
    ("poke", {"n": 5, "m": 3}),
    ("poke", {"n": 7, "m": 3}),
    ("mpc", {"n": 3, "m": 3}),
    ("mpc", {"n": 3, "m": 5}),
)
# Executions by the closed forms of the ConDPOR paper: (n!)^2, n!, 2^(n-1), 6 and 3.
SYMBOLIC_PROGRAMS: tuple[tuple[str, dict[str, int], int], ...] = (
    ("coarse_list", {"threads": 3}, 36),
    ("coarse_list", {"threads": 4}, 576),
    ("locked_queue", {"threads": 6}, 720),
    ("push_and_pop", {"threads": 8}, 128),
    ("write_symbolic_write_and_two_reads", {}, 6),
    ("read_symbolic_and_write", {}, 3),
)
MEMORY: tuple[tuple[str, dict[str, int]], ...] = (
    ("exp_mem3", {"n": 8}),
    ("lastzero", {"n": 12}),
    ("poke", {"n": 10, "m": 4}),
)
FIRST_EXECUTIONS = 100


@dataclass(frozen=True)
class Case:
    """A program at one size, and what is known of its classes."""

    program: str
    parameters: Mapping[str, int]
    file: Path
    classes: int | None

    @property
    def name(self) -> str:
        return f"{self.program}({', '.join(str(value) for value in self.parameters.values())})"


@dataclass
class Cell:
    """What is known of one program with one algorithm; `problem` says why there are no counts."""

    seconds: list[float] = field(default_factory=list[float])
    classes: int = 0
    redundant: int = 0
    problem: str = ""


def main(arguments: list[str] | None = None) -> int:
    options = _parse(arguments)
    if options.memory:
        return _compare_memory(options)
    report: list[dict[str, Any]] = []
    wrong = False
    for cases, algorithms in ((_cases(), ALGORITHMS), (_symbolic_cases(), SYMBOLIC_ALGORITHMS)):
        chosen = [case for case in cases if fnmatch.fnmatch(case.name, options.only)]
        names = options.algorithm or algorithms
        if chosen:
            _print_head(("program", "classes", *names))
        for case in chosen:
            cells = _compare(case, names, options.rounds, options.seconds)
            wrong = wrong or any(cell.problem.startswith(WRONG) for cell in cells.values())
            _print_row(case, cells)
            report.append(_row(case, cells))
            if options.json is not None:
                options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def _compare(case: Case, algorithms: Sequence[str], rounds: int, seconds: float) -> dict[str, Cell]:
    """Check a program with each algorithm in turn; what has a problem once is not checked again."""
    cells = {name: Cell() for name in algorithms}
    for _ in range(rounds):
        for name, cell in cells.items():
            if not cell.problem:
                _check(case, name, seconds, cell)
    for name, cell in cells.items():
        known = name in rows.OPTIMAL and not cell.problem and case.classes is not None
        if known and (cell.classes, cell.redundant) != (case.classes, 0):
            cell.problem = f"{WRONG} {cell.classes:,} · {cell.redundant:,}"
    return cells


def _cases() -> Iterator[Case]:
    for program, parameters in PROGRAMS:
        row = expectations.expected(program, parameters)
        yield Case(program, parameters, row.file, row.classes)


def _symbolic_cases() -> Iterator[Case]:
    for program, parameters, classes in SYMBOLIC_PROGRAMS:
        yield Case(program, parameters, SYMBOLIC_MODELS, classes)


def _check(case: Case, algorithm: str, seconds: float, cell: Cell) -> None:
    request = CheckRequest(
        file=str(case.file),
        model=case.program,
        root=str(case.file.parent),
        parameters=dict(case.parameters),
        options={"algorithm": algorithm, "timeout": seconds},
        all_violations=True,
    )
    start = time.process_time()
    try:
        result = check_model(request)
    except DporError as error:
        if error.code not in (Code.UNSUPPORTED_PAIR, Code.UNSUPPORTED_CONSTRUCT):
            raise
        cell.problem = "refused"
        return
    if result.verdict is Verdict.INCOMPLETE:
        cell.problem = f"not in {seconds:g} s"
        return
    cell.seconds.append(time.process_time() - start)
    cell.classes = result.executions + result.blocked
    cell.redundant = result.redundant


def _print_head(columns: tuple[str, ...]) -> None:
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)


def _print_row(case: Case, cells: Mapping[str, Cell]) -> None:
    first = next(iter(cells.values()))
    base = min(first.seconds, default=None)
    texts = [case.name, f"{first.classes:,}" if base is not None else ""]
    for cell in cells.values():
        texts.append(_text(cell, base, cell is first))
    print(f"| {' | '.join(texts)} |", flush=True)


def _text(cell: Cell, base: float | None, is_base: bool) -> str:
    if cell.problem:
        return cell.problem
    fastest = min(cell.seconds)
    text = f"{fastest:.3f} s" if is_base or base is None else f"{fastest / base:.2f}"
    return text + (f" · {cell.redundant:,}" if cell.redundant else "")


def _row(case: Case, cells: Mapping[str, Cell]) -> dict[str, Any]:
    measured = {
        name: {
            "seconds": cell.seconds,
            "classes": cell.classes,
            "redundant": cell.redundant,
            "problem": cell.problem,
        }
        for name, cell in cells.items()
    }
    return {"program": case.program, "parameters": dict(case.parameters), "algorithms": measured}


def _compare_memory(options: argparse.Namespace) -> int:
    """Peak memory of whole checks beside that of their first executions; `--seconds` is the limit of each."""
    _print_head(
        (
            "program",
            "algorithm",
            "executions",
            "executions/s",
            "peak MB of the first 100",
            "peak MB",
            "growth",
        )
    )
    for program, parameters in MEMORY:
        case = Case(program, parameters, expectations.program_files()[program], None)
        if not fnmatch.fnmatch(case.name, options.only):
            continue
        for algorithm in options.algorithm or ("parsimonious", "optimal"):
            few = rows.Row(
                case.name, case.file, program, parameters, algorithm, {"max_executions": FIRST_EXECUTIONS}
            )
            first = rows.run(few, options.seconds)
            # A bound on executions that is never reached: a check that the time ends is measured like any other.
            whole = rows.run(
                rows.Row(case.name, case.file, program, parameters, algorithm, {"max_executions": 10**12}),
                options.seconds,
            )
            if "peak_megabytes" not in first or "peak_megabytes" not in whole:
                print(
                    f"| {case.name} | {algorithm} | {first['status']} | {whole['status']} | | | |", flush=True
                )
                continue
            before, after = first["peak_megabytes"], whole["peak_megabytes"]
            explored = whole["executions"] + whole["blocked"]
            done = "" if whole["reason"] is None else " so far"
            cells = (
                case.name,
                algorithm,
                f"{explored:,}{done}",
                f"{whole['rate']:,.0f}",
                f"{before:.1f}",
                f"{after:.1f}",
                f"{after / before - 1:+.1%}",
            )
            print(f"| {' | '.join(cells)} |", flush=True)
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--algorithm", action="append", help="an algorithm, the first is the measure (again for more)"
    )
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only programs whose name matches")
    parser.add_argument("--rounds", type=int, default=3, help="how often each algorithm checks each program")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds that one check may take")
    parser.add_argument("--memory", action="store_true", help="compare memory rather than time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements to FILE")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
