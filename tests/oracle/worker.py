"""A process that runs programs for the oracle: lines of JSON in, lines of JSON out. It never imports what is judged."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[0:1] = [str(HERE.parent), str(HERE / "site-packages")]

from oracle.running import observe  # noqa: E402
from oracle.scheduler import Carrier  # noqa: E402
from oracle.schedules import Effort  # noqa: E402


def main() -> None:
    """Answer every line of standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    carriers: list[Carrier] = []
    gc.freeze()
    for line in sys.stdin:
        question = json.loads(line)
        effort = Effort(**question["effort"])
        try:
            seen = dataclasses.asdict(
                observe(question["text"], effort, question["seed"], question["modules"], carriers)
            )
        except Exception as error:
            seen = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(seen) + "\n")
        answers.flush()
    # Threads of programs that were given up may hold what the interpreter waits for at its end.
    os._exit(0)


main()
