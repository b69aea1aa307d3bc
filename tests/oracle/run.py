"""Compares checks with what plain Python does, on as many programs as are asked for.

    python tests/oracle/run.py --programs 20000 --jobs 2     random programs
    python tests/oracle/run.py --pairs "deque" "list"        all pairs of operations of these kinds (none named: of all)
    python tests/oracle/run.py --one 4711                    one program again, with its text and both answers
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from oracle.checker import prepared  # noqa: E402
from oracle.client import Oracle  # noqa: E402
from oracle.compare import QUICK, Comparison, Finding, compare, describe  # noqa: E402
from oracle.programs import made, pairs  # noqa: E402
from oracle.schedules import Effort  # noqa: E402
from oracle.tables.registry import KINDS  # noqa: E402

_SHOWN = {Finding.FALSE_PASS, Finding.ALARM, Finding.UNDECIDED}


def main() -> int:
    """Run the command; the exit code is 1 if a check was wrong."""
    options = _options()
    names = _names(options)
    tally: collections.Counter[str] = collections.Counter()
    began = time.monotonic()
    shares = [names[number :: options.jobs] for number in range(options.jobs)]
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        work = ((share, options.algorithm, options.executions, options.preemptions) for share in _chunks(shares))
        for found in pool.imap_unordered(_share, work):
            for label, text in found:
                tally[label] += 1
                shown = options.one or options.verbose or any(label.startswith(one.value) for one in _SHOWN)
                if text and shown:
                    print(text, flush=True)
    total = sum(tally.values())
    print(f"{total} programs in {time.monotonic() - began:.0f} s")
    for label, count in sorted(tally.items(), key=lambda item: -item[1]):
        print(f"{count:8} {label}")
    wrong = sum(count for label, count in tally.items() if label.startswith((Finding.FALSE_PASS.value, Finding.ALARM.value)))
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--one", nargs="+", help="programs by name")
    parser.add_argument("--pairs", nargs="*", metavar="KIND", help="all pairs of operations")
    parser.add_argument("--every", type=int, default=1, help="of the pairs, only each so many")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--algorithm", nargs="+", default=["optimal"])
    parser.add_argument("--executions", type=int, default=QUICK.executions, help="schedules that the oracle runs at first")
    parser.add_argument("--preemptions", type=int, default=QUICK.preemptions)
    parser.add_argument("--verbose", action="store_true", help="print refusals and unobserved outcomes too")
    return parser.parse_args()


def _names(options: argparse.Namespace) -> list[str]:
    if options.one:
        return list(options.one)
    if options.pairs is not None:
        kinds = options.pairs or KINDS
        return [program.name for kind in kinds for program in pairs(KINDS[kind])][options.seed :: options.every]
    return [str(seed) for seed in range(options.seed, options.seed + options.programs)]


def _chunks(shares: list[list[str]], size: int = 50) -> Iterator[list[str]]:
    for start in range(0, max(map(len, shares)), size):
        yield from (share[start : start + size] for share in shares if share[start : start + size])


def _share(work: tuple[list[str], list[str], int, int]) -> list[tuple[str, str]]:
    names, algorithms, executions, preemptions = work
    found: list[tuple[str, str]] = []
    effort = Effort(executions, preemptions, QUICK.seconds * max(1, executions // QUICK.executions))
    with prepared(), Oracle() as oracle, tempfile.TemporaryDirectory() as folder:
        for name in names:
            program = made(name)
            for algorithm in algorithms:
                result = compare(program, oracle, Path(folder).resolve(), algorithm, effort)
                found.append((_label(result, algorithm, algorithms), _text(result)))
    return found


def _text(result: Comparison) -> str:
    return describe(result)


def _label(result: Comparison, algorithm: str, algorithms: Iterable[str]) -> str:
    detail = result.checked.refused or result.checked.bounded or ""
    named = f" ({algorithm})" if len(list(algorithms)) > 1 else ""
    return f"{result.finding.value}{' ' if detail else ''}{detail}{named}"


if __name__ == "__main__":
    sys.exit(main())
