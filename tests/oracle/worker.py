"""A process that runs programs and pairs of operations for the oracle: lines of JSON in, lines of JSON out.

It never imports what is judged.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE / "site-packages")]

from oracle.orders import orders  # noqa: E402
from oracle.running import observe  # noqa: E402
from oracle.scheduler import Carrier  # noqa: E402
from oracle.schedules import Effort  # noqa: E402


def main() -> None:
    """Answer every line of standard input."""
    # A program may read from the first descriptors, write to them and close them.
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for descriptor, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY)):
        os.dup2(os.open(os.devnull, mode), descriptor)
    sys.argv[:] = ["program"]
    carriers: list[Carrier] = []
    gc.freeze()
    for line in questions:
        question = json.loads(line)
        try:
            answer = _orders(question) if "made" in question else _observed(question, carriers)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    # Threads of programs that were given up may hold what the interpreter waits for at its end.
    os._exit(0)


def _observed(question: dict[str, Any], carriers: list[Carrier]) -> dict[str, Any]:
    effort = Effort(**question["effort"])
    return dataclasses.asdict(
        observe(question["text"], effort, question["seed"], question["modules"], carriers)
    )


def _orders(question: dict[str, Any]) -> dict[str, Any]:
    return {"pairs": orders(question["context"], question["made"], question["most"], question["seed"])}


main()
