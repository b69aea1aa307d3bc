"""Compares checks with what plain Python does, on as many programs as are asked for.

python tests/oracle/run.py --programs 20000 --jobs 2     random programs
python tests/oracle/run.py --pairs "deque" "list"        all pairs of operations of these kinds (none named: of all)
python tests/oracle/run.py --pairs --at-times            the same, where the look at the end is not taken each time
python tests/oracle/run.py --instances                   pairs of operations on objects of the library, found in Python
python tests/oracle/run.py --one 4711                    one program again, with its text and both answers

An interrupt (Ctrl-C, SIGTERM) ends it as `--minutes` does: with the totals of what was compared.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from oracle.checker import Checked, prepared
from oracle.client import Oracle
from oracle.compare import QUICK, Finding, compare, explorers_differ
from oracle.limits import limit_memory
from oracle.programs import made, pairs
from oracle.schedules import Effort
from oracle.summary import WRONG, Report, in_common, operations_of, report, totals
from oracle.tables.instances import INSTANCES
from oracle.tables.registry import KINDS

# How many programs a process takes at once.
_SHARE = 25


def main() -> int:
    """Run the command; the exit code is 1 if a check was wrong."""
    options = _options()
    names = _names(options)
    began = time.monotonic()
    end = None if options.minutes is None else began + 60 * options.minutes
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    reports: list[Report] = []
    shares = [names[start : start + _SHARE] for start in range(0, len(names), _SHARE)]
    effort = Effort(options.executions, options.preemptions, 60.0 if options.executions > 1000 else 3.0)
    work = (
        (share, tuple(options.algorithm), effort, bool(options.one or options.verbose)) for share in shares
    )
    # A check and the plain Python that it is compared with run in processes of their own.
    os.environ.setdefault("PYTHONHASHSEED", "0")
    processes = ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn"), _begin)
    with processes:
        for share, future in _done(
            processes, [(one[0][0], processes.submit(_share, one)) for one in work], end
        ):
            try:
                found = future.result()
            except BrokenProcessPool:
                sys.exit(
                    f"a process died at the {_SHARE} programs from {share} on, or soon after; try --jobs 1"
                )
            for one in found:
                reports.append(one)
                if one.text:
                    print(one.text, flush=True)
    compared = len({one.name for one in reports})
    early = f", the first {compared} of {len(names)} programs" if compared < len(names) else ""
    print(f"{len(reports)} comparisons in {time.monotonic() - began:.0f} s{early}")
    for line in totals(reports):
        print(line)
    for finding in (Finding.FALSE_PASS, Finding.ALARM, Finding.UNDECIDED, Finding.DIFFER):
        lines = list(in_common(reports, finding))
        if lines:
            print(f"operations in programs of the sort: {finding.value}")
            print("\n".join(lines))
    return int(any(one.finding in WRONG for one in reports))


def _begin() -> None:
    """Prepare a process that compares: it finishes its share when the whole group of processes is interrupted."""
    for interrupt in (signal.SIGINT, signal.SIGTERM):
        signal.signal(interrupt, signal.SIG_IGN)
    limit_memory()


def _done(
    processes: ProcessPoolExecutor, shares: list[tuple[str, Future[list[Report]]]], end: float | None
) -> Iterator[tuple[str, Future[list[Report]]]]:
    """Yield what was submitted in its order, each when it is done. At the end of time (monotonic, in seconds) or at an
    interrupt, let the shares that have begun finish, and yield them as the last ones.
    """
    waiting = collections.deque(shares)
    try:
        while (
            waiting and wait([waiting[0][1]], None if end is None else max(0.0, end - time.monotonic())).done
        ):
            yield waiting.popleft()
    except KeyboardInterrupt:
        print("interrupted: what has begun is finished", file=sys.stderr)
    processes.shutdown(cancel_futures=True)
    yield from (one for one in waiting if not one[1].cancelled())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--one", nargs="+", help="programs by name")
    parser.add_argument("--pairs", nargs="*", metavar="KIND", help="all pairs of operations")
    parser.add_argument(
        "--instances", nargs="*", metavar="EXPRESSION", help="pairs whose order counts, on what these make"
    )
    parser.add_argument("--most", type=int, default=4, help="how many pairs on each of the instances")
    parser.add_argument("--every", type=int, default=1, help="of the pairs or instances, only each so many")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="end after this time with what was compared by then")
    parser.add_argument(
        "--at-times",
        action="store_true",
        help="pairs that look at the object only if the first thread ends last",
    )
    parser.add_argument("--algorithm", nargs="+", default=["optimal"])
    parser.add_argument(
        "--executions", type=int, default=QUICK.executions, help="schedules that the oracle runs at first"
    )
    parser.add_argument("--preemptions", type=int, default=QUICK.preemptions)
    parser.add_argument("--verbose", action="store_true", help="print refusals and unobserved outcomes too")
    options = parser.parse_args()
    unknown = [kind for kind in options.pairs or () if kind not in KINDS]
    if unknown:
        parser.error(f"no kind {', '.join(map(repr, unknown))}; there are: {'; '.join(sorted(KINDS))}")
    return options


def _names(options: argparse.Namespace) -> list[str]:
    if options.one:
        return list(options.one)
    if options.pairs is not None:
        kinds = options.pairs or KINDS
        programs = (program for kind in kinds for program in pairs(KINDS[kind], at_times=options.at_times))
        return [program.name for program in programs][options.seed :: options.every]
    if options.instances is not None:
        with Oracle() as oracle:
            return [
                program.name
                for made in options.instances or INSTANCES[:: options.every]
                for program in oracle.orders(made, options.most, options.seed)
            ]
    return [str(seed) for seed in range(options.seed, options.seed + options.programs)]


def _share(work: tuple[list[str], tuple[str, ...], Effort, bool]) -> list[Report]:
    names, algorithms, effort, whole = work
    found: list[Report] = []
    with prepared(), Oracle() as oracle, tempfile.TemporaryDirectory() as folder:
        for name in names:
            program = made(name)
            checked: dict[str, Checked] = {}
            for algorithm in algorithms:
                result = compare(program, oracle, Path(folder).resolve(), algorithm, effort)
                checked[algorithm] = result.checked
                found.append(report(result, algorithm, whole))
            different = explorers_differ(checked)
            if different:
                text = f"== {name}: {Finding.DIFFER.value}\n{different}\n{program.text}"
                found.append(Report(name, "all", Finding.DIFFER, "", operations_of(program), text))
    return found


if __name__ == "__main__":
    sys.exit(main())
