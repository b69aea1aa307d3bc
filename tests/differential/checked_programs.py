"""What random programs have in common, as text and where they are checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import differential_sink

from dpor.checking import check_model
from dpor.checking.failures import Found
from dpor.codes import Code
from dpor.results import CheckRequest, ModelResult, Violation


class Step(Protocol):
    """A statement of a thread."""

    def source(self) -> str:
        """The statement in a function that has `found`, a list of results, and `index`, the number of its thread."""
        ...


def functions_of(threads: Sequence[Sequence[Step]]) -> str:
    """The definitions of the threads' functions, in a function that has `results`, a list for each."""
    return "".join(
        f"    def thread{index}(index={index}):\n        found = results[index]\n"
        + "".join(f"        {step.source()}\n" for step in steps)
        for index, steps in enumerate(threads)
    )


def names_of(threads: Sequence[object]) -> str:
    """The names of these functions, as a display has them."""
    return ", ".join(f"thread{index}" for index in range(len(threads)))


def check(source: str, folder: Path, **options: Any) -> ModelResult:
    """Check the model `program` of a text; the outcomes of its executions are in the sink then, and no others."""
    (folder / "generated.py").write_text(source)
    differential_sink.take()
    return check_model(
        CheckRequest("generated.py", "program", str(folder), options=options, all_violations=True)
    )


def named(found: Found) -> Violation:
    """The kind of a failure and where it is, with nothing run again: to explain each of many takes longest of all."""
    return Violation(found.kind, Code.ASSERTION, repr(found.place), None, "")
