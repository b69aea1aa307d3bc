"""Changes the project a little, many times, and counts how often the tests notice.

python tests/mutation/run.py core --sample 40     execution, memory and explorers of the kernel, by its own tests
python tests/mutation/run.py host --sample 40     CPython's host in the kernel, by the tests that run models
python tests/mutation/run.py python --sample 40   dpor.instrument and dpor.runtime, by the same tests

`core` and `host` need cargo-mutants (`cargo install cargo-mutants`), `python` needs cosmic-ray in the environment that
runs the command (`pip install cosmic-ray`). All happens in a copy of the project; --sample 0 takes every mutant.
"""

from __future__ import annotations

import argparse
import enum
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from mutation.mutants import Mutant, of_python, of_rust  # noqa: E402

# Where what is watched, ordered or shown is tested, the quickest first.
_TESTS = (
    "tests/engine/test_runtime",
    "tests/engine/test_instrument",
    "tests/engine/test_seen_objects.py",
    "tests/engine/test_predicates.py",
    "tests/engine/test_identities.py",
    "tests/engine/test_module_state.py",
    "tests/engine/test_seen_statements.py",
    "tests/engine/test_outside",
    "tests/engine/test_semantics",
    "tests/engine/test_whole_reads.py",
    "tests/engine/test_deep_reads.py",
    "tests/engine/test_left_modules.py",
    "tests/engine/test_library_objects.py",
    "tests/engine/test_library_code.py",
    "tests/engine/test_shown_primitives.py",
    "tests/engine/test_seen_operations.py",
    "tests/litmus",
)
_KERNEL = "engine/kernel"
# Lines of a failing command that are shown.
_LAST_WORDS = 40
# Quick to build; what it computes is the same.
_QUICK_BUILD = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_DEBUG": "0",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "2",
    "CARGO_INCREMENTAL": "1",
}


class Part(enum.Enum):
    """A part of the project with tests of its own."""

    CORE = "core"
    HOST = "host"
    PYTHON = "python"


class Fate(enum.Enum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMEOUT = "killed by the time limit"
    UNBUILT = "does not compile"
    EQUAL = "changes nothing"


def main() -> int:
    """Run the command; the exit code is 1 if a mutant survived, 2 if the tests fail without one."""
    options = _options()
    part = Part(options.part)
    mutants = _mutants(part)
    print(f"{len(mutants)} mutants of {part.value}")
    if options.sample:
        mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
    with tempfile.TemporaryDirectory(prefix="dpor-mutation-") as folder:
        copy = _Copy(Path(folder) / "project", part, options.jobs)
        began = time.monotonic()
        if copy.fate(None, 3600.0) is not Fate.SURVIVED:
            print("the tests fail without a mutant:", copy.last_words(), sep="\n")
            return 2
        limit = 60.0 + 3 * (time.monotonic() - began)
        tally: Counter[Fate] = Counter()
        for number, mutant in enumerate(mutants, 1):
            fate = copy.fate(mutant, limit)
            tally[fate] += 1
            print(f"{number}/{len(mutants)} {fate.value}: {mutant.name}", flush=True)
    killed = tally[Fate.KILLED] + tally[Fate.TIMEOUT]
    tried = killed + tally[Fate.SURVIVED]
    print(", ".join(f"{count} {fate.value}" for fate, count in tally.items()))
    print(f"score of {part.value}: {killed}/{tried}" + (f" = {100 * killed / tried:.0f} %" if tried else ""))
    return int(tally[Fate.SURVIVED] > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=[part.value for part in Part])
    parser.add_argument("--sample", type=int, default=40, help="how many mutants, drawn by --seed; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="how many tests run at once")
    return parser.parse_args()


def _mutants(part: Part) -> list[Mutant]:
    match part:
        case Part.CORE:
            return of_rust(ROOT, ("execution", "memory", "explorer"))
        case Part.HOST:
            return of_rust(ROOT, ("python",))
        case Part.PYTHON:
            return of_python(ROOT, ("engine/dpor/instrument", "engine/dpor/runtime"))


class _Copy:
    """A copy of the project, in which one file after the other is changed and put back."""

    def __init__(self, root: Path, part: Part, jobs: int) -> None:
        self._root = root
        self._part = part
        self._jobs = jobs
        ignored = shutil.ignore_patterns(
            ".git", ".venv", "target", "node_modules", "__pycache__", ".dpor_cache"
        )
        shutil.copytree(ROOT, root, ignore=ignored)
        self._python = os.environ.get("PYTHON", sys.executable)
        self._output = root.parent / "output"

    def last_words(self) -> str:
        """The last lines that a command has printed."""
        return "\n".join(
            self._output.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_WORDS:]
        )

    def fate(self, mutant: Mutant | None, limit: float) -> Fate:
        """What the tests say of the project with this mutant, or with none; `limit` is in seconds."""
        if mutant is None:
            return self._tested(limit)
        file = self._root / mutant.file
        source = file.read_text(encoding="utf-8")
        changed = mutant.apply(source)
        if changed == source:
            return Fate.EQUAL
        file.write_text(changed, encoding="utf-8")
        try:
            return self._tested(limit)
        finally:
            file.write_text(source, encoding="utf-8")

    def _tested(self, limit: float) -> Fate:
        if self._part is Part.CORE:
            tests = ["cargo", "test", "--locked", "--no-default-features", "--quiet"]
            if self._run([*tests, "--no-run"], self._root / _KERNEL, 3600.0) is not True:
                return Fate.UNBUILT
            return self._judged(tests, self._root / _KERNEL, limit)
        if self._part is Part.HOST and not self._built():
            return Fate.UNBUILT
        pytest = [
            self._python,
            "-m",
            "pytest",
            "-q",
            "-x",
            "--whole",
            "-p",
            "no:cacheprovider",
            "-n",
            str(self._jobs),
        ]
        return self._judged([*pytest, *_TESTS], self._root, limit)

    def _built(self) -> bool:
        kernel = self._root / _KERNEL
        build = ["cargo", "build", "--locked", "--release", "--lib", "--quiet"]
        if self._run(build, kernel, 3600.0) is not True:
            return False
        library = next((kernel / "target/release").glob("*_kernel.*[!d]"))
        module = next(self._root.glob("engine/dpor/_kernel.*[!i]"))
        shutil.copyfile(library, module)
        return True

    def _judged(self, command: list[str], folder: Path, limit: float) -> Fate:
        passed = self._run(command, folder, limit)
        return Fate.TIMEOUT if passed is None else Fate.SURVIVED if passed else Fate.KILLED

    def _run(self, command: list[str], folder: Path, limit: float) -> bool | None:
        """Whether the command succeeds; None if it takes longer than `limit`."""
        paths = os.pathsep.join(str(self._root / name) for name in ("engine", "server"))
        environment = {
            **os.environ,
            **_QUICK_BUILD,
            "PYTHONPATH": paths,
            "PYO3_PYTHON": self._python,
            "CARGO_PROFILE_DEV_OPT_LEVEL": "2",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with self._output.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
