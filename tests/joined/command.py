"""The commands that compare random programs, as many as are asked for."""

from __future__ import annotations

import argparse
import collections
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from joined.compare import Answer, Comparison


def run(
    options: argparse.Namespace,
    made: Callable[[int], str],
    compared: Callable[[Path], Comparison],
    joined: str,
    single: str,
    *,
    may_cost_more: bool,
) -> int:
    """Compare the programs that the options ask for. `made` gives a program by number, `joined` and `single` are what
    the two explorations are called. Returns 1 if two answers differ, or if one costs more that may not.
    """
    numbers = (
        [options.one] if options.one is not None else range(options.seed, options.seed + options.programs)
    )
    began = time.monotonic()
    answers: collections.Counter[Answer] = collections.Counter()
    to_the_end = wrong = 0
    executions = [0, 0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            program = Path(folder) / f"program_{number}.py"
            program.write_text(made(number), encoding="utf-8")
            comparison = compared(program)
            answers[comparison.answer] += 1
            to_the_end += comparison.joined.is_joined
            if comparison.answer is Answer.SAME:
                executions[0] += comparison.single.executions
                executions[1] += comparison.joined.executions
                executions[2] += comparison.joined.redundant
            costs = comparison.answer is Answer.SAME and comparison.costs_more and not may_cost_more
            is_wrong = comparison.answer is Answer.DIFFERENT or costs
            wrong += is_wrong
            if is_wrong or options.one is not None:
                print(f"program {number}: {comparison.answer.value}\n{program.read_text(encoding='utf-8')}")
                _tell(comparison, joined, single)
    told = ", ".join(f"{count} {answer.value}" for answer, count in answers.items())
    print(f"{len(numbers)} programs in {time.monotonic() - began:.0f} s: {told}; {wrong} wrong")
    print(f"{joined} were events to the end in {to_the_end}")
    print(f"executions: {executions[0]} {single}, {executions[1]} by {joined}, {executions[2]} redundant")
    return 1 if wrong else 0


def parser(description: str | None) -> argparse.ArgumentParser:
    """What such a command takes."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--programs", type=int, default=500, help="how many programs (default: 500)")
    made.add_argument("--seed", type=int, default=0, help="the number of the first (default: 0)")
    made.add_argument("--one", type=int, help="one program again, with its text and both answers")
    made.add_argument("--timeout", type=float, default=4.0, help="seconds for an exploration (default: 4)")
    return made


def _tell(comparison: Comparison, joined: str, single: str) -> None:
    both = ((single, comparison.single, comparison.joined), (joined, comparison.joined, comparison.single))
    for name, explored, _ in both:
        told = f"{explored.executions} executions, {explored.redundant} redundant"
        print(f"{name}: {explored.verdict.value}, {told}, assumes {sorted(explored.assumptions)}")
    for name, explored, other in both:
        for outcome in sorted(explored.outcomes - other.outcomes):
            print(f"only {name}: {outcome}")
