"""Asks the process that runs programs, and starts another one if it hangs."""

from __future__ import annotations

import dataclasses
import json
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from oracle.programs import Program, beside, context
from oracle.schedules import Effort, Observed


class Oracle:
    """What plain Python does with programs. A context manager; `python` is the interpreter that runs them."""

    def __init__(self, python: str = sys.executable, patience: float = 60.0) -> None:
        self._python = python
        self._patience = patience
        self._process: subprocess.Popen[str] | None = None
        # Several checks of one program are compared with the same answer.
        self._last: tuple[str, Observed | None] = "", None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop()

    def observe(self, program: Program, effort: Effort, seed: int = 0) -> Observed | None:
        """What was seen of the program; None if it hung in C or could not be run."""
        question = {
            "text": program.text,
            "modules": program.modules,
            "effort": dataclasses.asdict(effort),
            "seed": seed,
        }
        line = json.dumps(question)
        if self._last[0] != line:
            answer = self._ask(line)
            self._last = line, None if answer is None or "failed" in answer else Observed(**answer)
        return self._last[1]

    def orders(self, made: str, most: int, seed: int = 0) -> list[Program]:
        """Programs of two operations on the object that the expression `made` makes, for which plain Python gives
        something else in either order; `most` of them. None if none is found within the oracle's patience.
        """
        question = {"context": context(made), "made": made, "most": most, "seed": seed}
        answer = self._ask(json.dumps(question))
        pairs = [] if answer is None or "failed" in answer else answer["pairs"]
        return [beside(made, one, other) for one, other in pairs]

    def _ask(self, line: str) -> dict[str, Any] | None:
        if self._process is None:
            worker = str(Path(__file__).with_name("worker.py"))
            self._process = subprocess.Popen(
                [self._python, worker],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(self._patience):
                self._stop()
                return None
        answer = process.stdout.readline()
        if not answer:
            self._stop()
            return None
        return json.loads(answer)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
