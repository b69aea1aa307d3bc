"""Runs the methods of a module on both sides, in child processes, and compares what they tell."""

from __future__ import annotations

import enum
import json
import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fidelity.outcome import Happening

_WORKER = Path(__file__).with_name("worker.py")
# What depends on it differs between two processes.
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}


class Finding(enum.Enum):
    """How a method compares."""

    SAME = "the same"
    DIFFERS = "differs"
    REFUSED = "refused"
    UNSTEADY = "plain CPython does not agree with itself"


@dataclass(frozen=True)
class Compared:
    """A method with what plain CPython and the check tell of it; `code` and `reason` are those of a refusal."""

    module: str
    method: str
    finding: Finding
    plain: tuple[Happening, ...] = ()
    checked: tuple[Happening, ...] = ()
    code: str = ""
    reason: str = ""
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The name by which the list of known differences has it."""
        return f"{self.module}.{self.method}"

    def describe(self) -> str:
        """What a person reads of it: a line, and for a difference both sides."""
        if self.finding is Finding.REFUSED:
            return f"{self.name}: {self.code}: {self.reason}"
        if self.finding is not Finding.DIFFERS:
            return f"{self.name}: {self.finding.value}"
        plain, checked = _words(self.plain), _words(self.checked)
        return f"{self.name}\n    CPython: {plain}\n    checked: {checked}"


@dataclass(frozen=True)
class Unloaded:
    """A module that cannot be run: not in plain CPython, or only there; `reason` says why."""

    module: str
    reason: str
    only_checked: bool


def compare(
    module: str, only: Collection[str] = (), executions: int = 1, patience: float = 60.0, every: int = 1
) -> list[Compared] | Unloaded:
    """Compare the methods of the test module, those of them that are in `only`, or of all one in `every`."""
    plain = _ask("plain", module, only, executions, patience, every)
    if isinstance(plain, str):
        return Unloaded(module, plain, only_checked=False)
    checked = _ask("checked", module, only or plain, executions, patience)
    if isinstance(checked, str):
        return Unloaded(module, checked, only_checked=True)
    found = [_compared(module, name, plain[name], checked.get(name)) for name in plain]
    doubted = [one.method for one in found if one.finding is Finding.DIFFERS]
    again = _ask("plain", module, doubted, executions, patience) if doubted else {}
    if isinstance(again, str):
        again = {}
    return [
        Compared(module, one.method, Finding.UNSTEADY)
        if one.method in again and _told(again[one.method])[:1] != [one.plain]
        else one
        for one in found
    ]


def _compared(module: str, name: str, plain: dict[str, Any], checked: dict[str, Any] | None) -> Compared:
    if checked is None:
        return Compared(module, name, Finding.DIFFERS, checked=(Happening("has no such method"),))
    expected = _told(plain)[0]
    seconds = float(checked["seconds"])
    if "refused" in checked:
        code, reason = checked["refused"]
        return Compared(module, name, Finding.REFUSED, expected, code=code, reason=reason, seconds=seconds)
    if "broken" in checked:
        wrong: tuple[Happening, ...] = (Happening("the check broke", message=checked["broken"]),)
        return Compared(module, name, Finding.DIFFERS, expected, wrong, seconds=seconds)
    told = _told(checked)
    different = next((one for one in told if one != expected), None)
    if told and different is None:
        return Compared(module, name, Finding.SAME, expected, expected, seconds=seconds)
    return Compared(module, name, Finding.DIFFERS, expected, different or (), seconds=seconds)


def _told(answer: dict[str, Any]) -> list[tuple[Happening, ...]]:
    return [tuple(Happening(*one) for one in execution) for execution in answer["executions"]] or [()]


def _ask(
    side: str, module: str, only: Collection[str], executions: int, patience: float, every: int = 1
) -> dict[str, dict[str, Any]] | str:
    """What the process of this side says of each method; or why it cannot run any."""
    command = [sys.executable, str(_WORKER), side, module]
    command += ["--patience", str(patience), "--executions", str(executions), "--every", str(every)]
    done = subprocess.run(
        command,
        input="\n".join(only),
        capture_output=True,
        text=True,
        env={**os.environ, **_ENVIRONMENT},
        check=False,
    )
    answers: dict[str, dict[str, Any]] = {}
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        if "unloaded" in answer:
            return str(answer["unloaded"])
        answers[answer["name"]] = answer
    if done.returncode:
        return f"the process ended with status {done.returncode}: {done.stderr.strip()[-500:]}"
    return answers


def _words(happenings: Collection[Happening]) -> str:
    return "; ".join(" ".join(part for part in one if part) for one in happenings) or "nothing"
