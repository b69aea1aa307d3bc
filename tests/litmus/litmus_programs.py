"""Litmus tests as text (`x:=1 rlx; r1=y acq || ...`) turned into models.

`data/litmus.csv` has a row for each test and memory model: the outcomes that the model allows, and the numbers of
consistent execution graphs (`executions`) and of reads-from classes (`rf_classes`).
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data" / "litmus.csv"
ORDERS = {"rlx": "relaxed", "acq": "acquire", "rel": "release", "ar": "acq_rel", "sc": "seq_cst"}

_STATEMENT = re.compile(
    r"(?P<variable>\w+):=(?P<value>[\w+]+) (?P<store>\w+)"
    r"|(?P<register>\w+)=(?P<call>FAI|XCHG|CAS)\((?P<arguments>[\w,]+)\) (?P<update>\w+)"
    r"|(?P<into>\w+)=(?P<source>\w+) (?P<load>\w+)"
    r"|(?P<local>\w+)=(?P<constant>\d+)"
    r"|F (?P<fence>\w+)"
    r"|assume\((?P<assumption>[^)]*)\)"
    r"|if\((?P<condition>[^)]*)\)\{(?P<body>[^}]*)\}"
)


@dataclass(frozen=True)
class Litmus:
    """One row of the table. `outcomes` are those that the memory model allows, as values of `registers`."""

    name: str
    program: str
    registers: tuple[str, ...]
    memory_model: str
    executions: int
    rf_classes: int
    outcomes: frozenset[tuple[int, ...]]

    @property
    def threads(self) -> list[str]:
        return self.program.partition("[")[0].split("||")

    @property
    def variables(self) -> list[str]:
        found = re.findall(
            r"(\w+):=|=(\w+) (?:rlx|acq|sc)\b|(?:FAI|XCHG|CAS)\((\w+),", self.program.partition("[")[0]
        )
        return sorted({name for names in found for name in names if name})

    @property
    def exchanges(self) -> dict[str, int]:
        """The value that each register holds if its compare-exchange took place."""
        calls = re.findall(r"(\w+)=CAS\(\w+,(\d+),", self.program)
        return {register: int(expected) for register, expected in calls}

    @property
    def is_plain(self) -> bool:
        """Whether plain variables can stand for the atomics."""
        orders = set(re.findall(r" (acq|rel|ar|sc)\b", re.sub(r"F \w+", "", self.program.partition("[")[0])))
        return not orders and not re.search("FAI|XCHG|CAS", self.program)

    def seen(self, outcome: dict[str, int]) -> tuple[int, ...]:
        """The outcome of an execution in the order of the registers."""
        return tuple(outcome.get(register, 0) for register in self.registers)

    def expected(self) -> set[tuple[int, ...]]:
        """The outcomes, where of a failed compare-exchange only its failure is known (as -1)."""
        exchanges = self.exchanges
        return {
            tuple(
                value if exchanges.get(register, value) == value else -1
                for register, value in zip(self.registers, outcome, strict=True)
            )
            for outcome in self.outcomes
        }

    def source(self, plain: bool = False, final: str = "seq_cst", symbolic: bool = False) -> str:
        """The test as a model named `program`; `plain` uses attributes in place of atomics, `final` is the order of the
        loads after the threads have ended, `symbolic` stores symbolic values, each assumed to be the test's number.
        """
        threads = [_with_symbolic_values(text) for text in self.threads] if symbolic else self.threads
        numbers = sorted(set(re.findall(r"\bv(\d+)", " ".join(threads))))
        given = "".join(f", v{number}" for number in numbers)
        lines = ["import litmus_sink", "", "import dpor", ""]
        if plain:
            lines += ["class Shared:", "    def __init__(self):"]
            lines += [f"        self.{name} = 0" for name in self.variables] + [""]
        for number, text in enumerate(threads):
            locals_: set[str] = set()
            body = _block(text, "    ", plain, locals_)
            lines += [f"def thread_{number}(shared{given}):"]
            lines += [f"    {name} = 0" for name in sorted(locals_)] + body
            kept = ", ".join(f"{name}={name}.__index__()" for name in sorted(locals_))
            lines += [f"    litmus_sink.keep({kept})", ""]
        made = "Shared()" if plain else repr(dict.fromkeys(self.variables, 0))
        lines += ["@dpor.model", "def program():", "    litmus_sink.begin()"]
        for number in numbers:
            lines += [f"    v{number} = dpor.nondet_int()", f"    dpor.assume(v{number} == {number})"]
        if plain:
            lines += [f"    shared = {made}"]
        else:
            cells = ", ".join(f"{name!r}: dpor.Atomic(0)" for name in self.variables)
            lines += [f"    shared = {{{cells}}}"]
        lines += [f"    dpor.spawn(thread_{number}, shared{given})" for number in range(len(threads))]
        lines += ["    dpor.join_all()"]
        finals = [name for name in self.registers if name in self.variables]
        loads = [f"{name}={_load(name, plain, final)}.__index__()" for name in finals]
        lines += [f"    litmus_sink.keep({', '.join(loads)})", "    litmus_sink.finish()"]
        return "\n".join(lines) + "\n"


def _with_symbolic_values(text: str) -> str:
    """A thread whose numbers `k` that go into memory are called `vk`."""
    text = re.sub(r":=(\d+)", r":=v\1", text)
    return re.sub(r"(FAI|XCHG)\((\w+),(\d+)\)", r"\1(\2,v\3)", text)


def _load(name: str, plain: bool, order: str = "seq_cst") -> str:
    return f"shared.{name}" if plain else f"shared[{name!r}].load(order={order!r})"


def _block(text: str, indent: str, plain: bool, locals_: set[str]) -> list[str]:
    lines: list[str] = []
    position = 0
    while position < len(text):
        if text[position] in " ;":
            position += 1
            continue
        match = _STATEMENT.match(text, position)
        assert match is not None, f"no statement: {text[position:]!r}"
        lines += _statement(match, indent, plain, locals_)
        position = match.end()
    return lines or [f"{indent}pass"]


def _statement(match: re.Match[str], indent: str, plain: bool, locals_: set[str]) -> list[str]:
    part = match.groupdict()
    if part["variable"]:
        name, value = part["variable"], part["value"]
        if plain:
            return [f"{indent}shared.{name} = {value}"]
        return [f"{indent}shared[{name!r}].store({value}, order={ORDERS[part['store']]!r})"]
    if part["call"]:
        name, *values = part["arguments"].split(",")
        locals_.add(part["register"])
        order = f"order={ORDERS[part['update']]!r}"
        into = f"{indent}{part['register']} = "
        match part["call"]:
            case "FAI":
                return [f"{into}shared[{name!r}].fetch_add({values[0]}, {order})"]
            case "XCHG":
                return [f"{into}shared[{name!r}].exchange({values[0]}, {order})"]
            case _:
                done = f"shared[{name!r}].compare_exchange({values[0]}, {values[1]}, {order})"
                return [f"{into}{values[0]} if {done} else -1"]
    if part["into"]:
        locals_.add(part["into"])
        return [f"{indent}{part['into']} = {_load(part['source'], plain, ORDERS[part['load']])}"]
    if part["local"]:
        locals_.add(part["local"])
        return [f"{indent}{part['local']} = {part['constant']}"]
    if part["fence"]:
        return [f"{indent}dpor.fence(order={ORDERS[part['fence']]!r})"]
    if part["assumption"]:
        return [f"{indent}dpor.assume({part['assumption']})"]
    return [f"{indent}if {part['condition']}:", *_block(part["body"], indent + "    ", plain, locals_)]


def read() -> list[Litmus]:
    """All rows of the table."""
    with DATA.open(newline="") as file:
        return [_row(row) for row in csv.DictReader(file)]


def _row(row: dict[str, str]) -> Litmus:
    outcomes = {tuple(int(value) for value in outcome.split("/")) for outcome in row["outcomes"].split()}
    return Litmus(
        name=row["test"],
        program=row["program"],
        registers=tuple(row["registers"].split(",")),
        memory_model=row["memory_model"],
        executions=int(row["executions"]),
        rf_classes=int(row["rf_classes"]),
        outcomes=frozenset(outcomes),
    )
