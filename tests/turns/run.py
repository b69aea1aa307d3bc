"""Compares explorations of random asyncio programs, as many as are asked for: see README.md."""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from turns.compare import Answer, Comparison, compared
from turns.programs import made


def main() -> int:
    """Run the command; the exit code is 1 if two answers differ."""
    options = _options()
    numbers = (
        [options.one] if options.one is not None else range(options.seed, options.seed + options.programs)
    )
    began = time.monotonic()
    answers: collections.Counter[Answer] = collections.Counter()
    by_turns = 0
    executions = [0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            program = Path(folder) / f"program_{number}.py"
            program.write_text(made(number), encoding="utf-8")
            comparison = compared(program, options.timeout)
            answers[comparison.answer] += 1
            by_turns += comparison.turns.by_turns
            if comparison.answer is Answer.SAME:
                executions[0] += comparison.drawn.executions
                executions[1] += comparison.turns.executions
                executions[2] += comparison.turns.redundant
            if comparison.answer is Answer.DIFFERENT or options.one is not None:
                _tell(number, program.read_text(encoding="utf-8"), comparison)
    told = ", ".join(f"{count} {answer.value}" for answer, count in answers.items())
    print(f"{len(numbers)} programs in {time.monotonic() - began:.0f} s: {told}")
    print(f"turns were events to the end in {by_turns}")
    print(f"executions: {executions[0]} drawn, {executions[1]} by turns, {executions[2]} redundant")
    return 1 if answers[Answer.DIFFERENT] else 0


def _tell(number: int, text: str, comparison: Comparison) -> None:
    print(f"program {number}: {comparison.answer.value}\n{text}")
    for name, explored in (("drawn", comparison.drawn), ("turns", comparison.turns)):
        print(
            f"{name}: {explored.verdict.value}, {explored.executions} executions, {explored.redundant} redundant"
        )
    for name, outcomes in (
        ("only drawn", comparison.drawn.outcomes - comparison.turns.outcomes),
        ("only by turns", comparison.turns.outcomes - comparison.drawn.outcomes),
    ):
        for outcome in sorted(outcomes):
            print(f"{name}: {outcome}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=500, help="how many programs (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first (default: 0)")
    parser.add_argument("--one", type=int, help="one program again, with its text and both answers")
    parser.add_argument("--timeout", type=float, default=4.0, help="seconds for an exploration (default: 4)")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
