"""Random runs of pytest with the plugin: options, settings, and files with and without models.

Each run has an innocent model beside what is drawn. Bad is
- an internal error of pytest, or a traceback of code of this distribution,
- an exit code other than 0 or 1 (the tests ran), 2 (a file cannot be collected), 4 (an option or a setting is wrong),
- a run that goes on without the result of the innocent model,
- a wrong setting that is told of without a code, or as often as there are models,
- no end within PATIENCE seconds.
What pytest itself does with the same files and without the plugin is not bad: a file that exits ends it.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

PATIENCE = 60.0
PASSED, FAILED, INTERRUPTED, USAGE = 0, 1, 2, 4
CODE = re.compile(r"DPOR\d{3}")
OWN_FRAME = re.compile(r"/dpor_lsp/\w[\w/]*\.py(?::\d+: |\", line \d)")

INNOCENT = """
import dpor

@dpor.model
def innocent():
    pass

@dpor.model
def innocent_too():
    pass
"""
MODEL = """
import dpor

@dpor.model({options})
def drawn():
    {body}
"""
OPTIONS = (
    "",
    "timeout=5",
    "timeout='x'",
    "timeout=float('nan')",
    "max_executions=0",
    "algorithm='none'",
    "unknown=1",
    "expect='violated'",
    "instrument=3",
    "max_steps=2**80",
)
BODIES = (
    "pass",
    "assert False",
    "raise SystemExit(3)",
    "raise KeyboardInterrupt",
    "print('\\ud800')",
    "raise Exception('\\ud800')",
    "import os; os._exit(1)",
    "undefined",
    "return object()",
    "yield 1",
)
FILES: tuple[bytes, ...] = (
    b"import dpor\ndef (",
    b"import dpor\nraise KeyboardInterrupt\n",
    b"import dpor\nraise SystemExit\n",
    b"import dpor\n\x00",
    b"\xff\xfe import dpor",
    b"# coding: unknown\nimport dpor\n@dpor.model\ndef m(): pass\n",
    b"# dpor\n" + b"(" * 3000 + b"\n",
    b"# dpor\nx = " + b"+".join([b"1"] * 5000) + b"\n",
    b"",
)
SETTINGS = (
    "",
    "[tool.dpor]\n",
    "[tool.dpor]\ntimeout = 20\n",
    "[tool.dpor]\ntimeout = nan\n",
    "[tool.dpor]\ntimeout = 'x'\n",
    "[tool.dpor]\nunknown = 1\n",
    "[tool.dpor]\nalgorithm = ''\n",
    "[tool.dpor\n",
    "tool = 3\n",
    "[tool]\ndpor = []\n",
    "[tool.dpor]\nmax_steps = " + "9" * 400 + "\n",
    "[tool.dpor]\nx = " + "[" * 500 + "]" * 500 + "\n",
)
ARGUMENTS: tuple[tuple[str, ...], ...] = (
    (),
    ("--dpor-timeout", "20"),
    ("--dpor-timeout", "0"),
    ("--dpor-timeout", "nan"),
    ("--dpor-timeout", "inf"),
    ("--dpor-timeout", "-1"),
    ("--dpor-timeout", "1e308"),
    ("--dpor-timeout", "x"),
    ("--dpor-strict",),
    ("-q",),
    ("-k", "innocent"),
    ("--tb=short",),
)


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Try `count` runs; returns the bad ones."""
    bad: list[str] = []
    for number in range(count):
        place = folder / str(number)
        place.mkdir()
        fault = _run(random.Random(f"{seed}-{number}"), place)
        if fault is not None:
            bad.append(f"pytest {number}: {fault}")
        shutil.rmtree(place, ignore_errors=True)
    return bad


def _run(drawn: random.Random, place: Path) -> str | None:
    """One run; returns what was bad of it."""
    (place / "test_innocent.py").write_text(INNOCENT)
    (place / "pytest.ini").write_text("[pytest]\n")
    settings = drawn.choice(SETTINGS) if drawn.random() < 0.4 else ""
    (place / "pyproject.toml").write_text(settings)
    for number in range(drawn.randint(0, 2)):
        name = place / f"test_drawn_{number}.py"
        draw: Callable[[], bytes] = drawn.choice((lambda: _model(drawn), lambda: drawn.choice(FILES)))
        name.write_bytes(draw())
    arguments = drawn.choice(ARGUMENTS)
    try:
        code, output = _pytest(place, "--dpor", *arguments)
        fault = _fault(code, output)
        if fault is None or _fault(*_pytest(place, "-p", "no:dpor")) == fault:
            return None
    except subprocess.TimeoutExpired:
        return f"no end within {PATIENCE:.0f} s: {arguments} {settings!r}"
    return f"{fault}: {arguments} {settings!r}\n{output}"


def _pytest(place: Path, *arguments: str) -> tuple[int, str]:
    """Run pytest on the files; returns its exit code and what it has printed."""
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        [*command, "--rootdir", str(place), "-c", str(place / "pytest.ini"), str(place)],
        cwd=place,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:backslashreplace"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def _fault(code: int, output: str) -> str | None:
    if "INTERNALERROR" in output:
        return "an internal error of pytest"
    if OWN_FRAME.search(output):
        return "a traceback of the plugin"
    if code == USAGE:
        return None if CODE.search(output) or "usage:" in output else "a usage error without a code"
    if code == INTERRUPTED:
        return None if "error" in output else "an interruption without an error"
    if code not in (PASSED, FAILED):
        return f"the exit code {code}"
    if "PASSED" not in output or "innocent" not in output:
        return "no result of the innocent model"
    return None


def _model(drawn: random.Random) -> bytes:
    text = MODEL.format(options=drawn.choice(OPTIONS), body=drawn.choice(BODIES))
    return text.encode(errors="surrogatepass")
