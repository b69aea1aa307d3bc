"""Compares CPython's own tests, each method a model, with plain CPython.

python tests/fidelity/run.py                              all modules
python tests/fidelity/run.py test_functools --jobs 2      of the modules named
python tests/fidelity/run.py test_dict --methods DictTest.test_pop
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fidelity.comparison import Compared, Finding, Unloaded, compare
from fidelity.known import judge, known_differences, version
from fidelity.modules import MODULES, files_of, folder_of_tests

NO_TESTS = f"this Python {version()} has no test package: nothing was compared"


def main() -> int:
    """Run the command; the exit code is 1 if there is a difference or a refusal that is not in the list, if an entry
    of the list is none any more, or if there is nothing to compare.
    """
    options = _options()
    folder = folder_of_tests()
    if folder is None:
        print(NO_TESTS)
        return 1
    begun = time.monotonic()
    asked = options.modules or MODULES
    there = {name: [found for found, _ in files_of(folder, name)] for name in asked}
    names = list(dict.fromkeys(found for many in there.values() for found in many))
    compared: list[Compared] = []
    unloaded: list[Unloaded] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        futures = [
            pool.submit(compare, name, options.methods, options.executions, options.patience)
            for name in names
        ]
        for future in as_completed(futures):
            result = future.result()
            if isinstance(result, Unloaded):
                unloaded.append(result)
                print(
                    f"{result.module}: not run{' when checked' * result.only_checked}: {result.reason}",
                    flush=True,
                )
                continue
            compared += result
            if result:
                print(f"{result[0].module}: {_counts(result)}", flush=True)
    return _conclude(
        compared,
        unloaded,
        [name for name in asked if not there[name]],
        options.verbose,
        time.monotonic() - begun,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="modules of the package test, without 'test.'"
    )
    parser.add_argument(
        "--methods", nargs="*", default=[], metavar="CLASS.METHOD", help="only these methods of the modules"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many modules at once")
    parser.add_argument(
        "--executions", type=int, default=1, help="how many executions of each method are compared"
    )
    parser.add_argument(
        "--patience", type=float, default=300.0, help="seconds after which a method counts as hanging"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print what is in the list of known differences too"
    )
    return parser.parse_args()


def _conclude(
    compared: list[Compared], unloaded: list[Unloaded], absent: list[str], verbose: bool, seconds: float
) -> int:
    judged = judge(compared, known_differences())
    for one in compared if verbose else judged.unknown:
        if one.finding is not Finding.SAME:
            print(one.describe())
    for name in judged.gone:
        print(f"{name}: is in known_differences.toml and does not differ")
    if absent:
        print(f"not in this Python {version()}: {', '.join(absent)}")
    print(
        f"{len(compared)} methods in {seconds:.0f} s: {_counts(compared)}; {len(judged.unknown)} not in the list"
    )
    broken = any(one.only_checked for one in unloaded) or not compared
    return int(bool(judged.unknown or judged.gone) or broken)


def _counts(compared: Iterable[Compared]) -> str:
    counts = Counter(one.finding for one in compared)
    return ", ".join(f"{counts[finding]} {finding.value}" for finding in Finding if counts[finding])


if __name__ == "__main__":
    sys.exit(main())
