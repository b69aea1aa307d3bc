"""The one place that knows which programs there are, where they live and how many classes each has.

`reference_counts.csv` holds a row for each program and size: under SC an optimal algorithm explores exactly
`executions` complete executions and `blocked` ones in which a thread stopped at a failed assumption. The
number of reads-from classes and of value classes, where known, are kept for algorithms that explore those.
"""

from __future__ import annotations

import ast
import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
COUNTS = HERE / "reference_counts.csv"

# Rows in which `value-centric` tells more apart than the published prototype does, with the number of classes: a
# write of one value counts as another if other reads causally precede it (condition 2 of the equivalence), which the
# prototype does not look at. In all other rows it explores no more than the prototype.
MORE_VALUE_CLASSES = {
    "lamport2(n=1)": 302,
    "peterson(n=1)": 301,
    "race_param(n=2)": 19,
    "race_param(n=3)": 141,
    "opt_lock(n=4)": 35,
    "opt_lock(n=6)": 55,
    "opt_lock(n=8)": 75,
    "opt_lock(n=10)": 95,
    "fkp2013(n=3)": 64,
    "dekker_sv()": 1530,
}

# Rows with fewer classes of values than the prototype explored (or, where that is not known, than there are classes of
# reads-from): the order of writes of leaf threads (condition 3) is not told apart where no read does.
FEWER_VALUE_CLASSES = {
    "account(n=2)": 25,
    "account(n=3)": 231,
    "lamport_fast(n=2)": 22,
    "parker(n=2)": 95,
    "parker(n=4)": 467,
    "parker(n=8)": 2891,
    "burns(n=2)": 18,
    "burns(n=4)": 40,
    "burns(n=8)": 108,
    "burns(n=16)": 340,
    "exponential_bug(n=1)": 614,
    "exponential_bug(n=2)": 702,
    "exponential_bug(n=3)": 709,
    "redundant_co(n=2)": 7,
    "redundant_co(n=3)": 7,
    "redundant_co(n=4)": 7,
    "redundant_co(n=5)": 7,
}

# Table 1 of the POP paper (CAV 2024): the executions of its ten programs at the first size of each. Its linuxrwlocks is
# `linuxlocks` here, its dispatcher(n) is `dispatcher(n, n)`, and its poke(n) is `poke(n, 4)`.
POP_TABLE = {
    "circular_buffer(n=7)": 3_432,
    "fib_bench(n=4)": 19_605,
    "linuxlocks(n=6)": 99_442,
    "filesystem(n=22)": 512,
    "indexer(n=15)": 4_096,
    "lastzero(n=10)": 3_328,
    "exp_mem3(n=7)": 10_080,
    "dispatcher(n=4, m=4)": 6_854,
    "poke(n=10, m=4)": 135_944,
    "length_param(n=1024)": 4,
}

# Programs with critical sections that have no effect: their order is part of a class of values, and not of reads-from.
ORDERED_BY_LOCKS = {"poke"}


@dataclass(frozen=True)
class Expectation:
    """One row: a program at one size and its counts (None where a count is not known)."""

    program: str
    parameters: Mapping[str, int]
    executions: int
    blocked: int
    rf_executions: int | None
    vc_executions: int | None

    @property
    def classes(self) -> int:
        """The number of Mazurkiewicz classes, complete and blocked."""
        return self.executions + self.blocked

    @property
    def most_value_classes(self) -> int:
        """What `value-centric` explores at most: classes of values are unions of all others."""
        if self.blocked or self.program in ORDERED_BY_LOCKS:
            return self.classes
        if any(name.startswith(f"{self.program}(") for name in MORE_VALUE_CLASSES):
            return MORE_VALUE_CLASSES.get(self.name, self.rf_executions or self.classes)
        return self.vc_executions or self.rf_executions or self.classes

    @property
    def name(self) -> str:
        """`program(n=3, m=2)`, unique among the rows."""
        return f"{self.program}({', '.join(f'{key}={value}' for key, value in self.parameters.items())})"

    @property
    def file(self) -> Path:
        """The file that holds the program."""
        return program_files()[self.program]


def load() -> tuple[Expectation, ...]:
    """Read every row, in the order of the file.

    Raises ValueError if a row does not parse or appears twice, KeyError if a column is missing.
    """
    with COUNTS.open(newline="", encoding="utf-8") as file:
        rows = tuple(_read(row) for row in csv.DictReader(file))
    if len({row.name for row in rows}) != len(rows):
        raise ValueError(f"{COUNTS.name} has a row twice")
    return rows


def expected(program: str, parameters: Mapping[str, int]) -> Expectation:
    """The row of `program` at this size; raises LookupError if there is none."""
    for row in load():
        if row.program == program and row.parameters == parameters:
            return row
    raise LookupError(f"{COUNTS.name} expects nothing of {program} with {dict(parameters)}")


@functools.cache
def program_files() -> dict[str, Path]:
    """Map every model in `programs/` to its file; raises ValueError if two files define one name."""
    files: dict[str, Path] = {}
    for path in sorted(PROGRAMS.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                if node.name in files:
                    raise ValueError(f"{node.name} is defined in {files[node.name].name} and in {path.name}")
                files[node.name] = path
    return files


def _read(row: Mapping[str, str]) -> Expectation:
    return Expectation(
        program=row["program"],
        parameters=read_parameters(row["parameters"]),
        executions=int(row["executions"]),
        blocked=int(row["blocked_by_assume"]),
        rf_executions=_read_optional(row["rf_executions"]),
        vc_executions=_read_optional(row["vc_executions"]),
    )


def read_parameters(text: str) -> dict[str, int]:
    """Read `N=3;M=2` as `{"n": 3, "m": 2}`."""
    pairs = (item.split("=") for item in text.split(";") if item)
    return {name.lower(): int(value) for name, value in pairs}


def _read_optional(text: str) -> int | None:
    return int(text) if text else None
