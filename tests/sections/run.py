"""Compares explorations of random programs with locks, as many as are asked for: see README.md."""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from sections.compare import Answer, Comparison, compared
from sections.programs import made


def main() -> int:
    """Run the command; the exit code is 1 if two answers differ."""
    options = _options()
    numbers = (
        [options.one] if options.one is not None else range(options.seed, options.seed + options.programs)
    )
    began = time.monotonic()
    answers: collections.Counter[Answer] = collections.Counter()
    by_sections = violated = 0
    executions = [0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            program = Path(folder) / f"program_{number}.py"
            program.write_text(made(number), encoding="utf-8")
            comparison = compared(program, options.timeout, options.algorithm)
            answers[comparison.answer] += 1
            by_sections += comparison.sections.by_sections
            violated += comparison.steps.verdict.value == "violated"
            if comparison.answer is Answer.SAME:
                executions[0] += comparison.steps.executions
                executions[1] += comparison.sections.executions
                executions[2] += comparison.sections.redundant
            if comparison.answer is Answer.DIFFERENT or options.one is not None:
                _tell(number, program.read_text(encoding="utf-8"), comparison)
    told = ", ".join(f"{count} {answer.value}" for answer, count in answers.items())
    print(f"{len(numbers)} programs in {time.monotonic() - began:.0f} s: {told}; {violated} violated")
    print(f"sections were events to the end in {by_sections}")
    print(f"executions: {executions[0]} step by step, {executions[1]} by sections, {executions[2]} redundant")
    return 1 if answers[Answer.DIFFERENT] else 0


def _tell(number: int, text: str, comparison: Comparison) -> None:
    print(f"program {number}: {comparison.answer.value}\n{text}")
    for name, explored in (("step by step", comparison.steps), ("sections", comparison.sections)):
        told = f"{explored.executions} executions, {explored.redundant} redundant"
        print(f"{name}: {explored.verdict.value}, {told}, {', '.join(explored.messages)}")
    for name, outcomes in (
        ("only step by step", comparison.steps.outcomes - comparison.sections.outcomes),
        ("only by sections", comparison.sections.outcomes - comparison.steps.outcomes),
    ):
        for outcome in sorted(outcomes):
            print(f"{name}: {outcome}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=500, help="how many programs (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first (default: 0)")
    parser.add_argument("--one", type=int, help="one program again, with its text and both answers")
    parser.add_argument("--timeout", type=float, default=4.0, help="seconds for an exploration (default: 4)")
    parser.add_argument(
        "--algorithm", default="optimal", help="how to explore step by step (default: optimal)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
