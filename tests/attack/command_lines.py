"""Hostile command lines and models, drawn from a seed and given to the real command.

Bad is: a traceback, an exit code that is none of the command's, a report that is not valid, an error without a code,
a failure of `dpor-lsp` itself (DPOR113), the result of the innocent model lost or not `verified`, more than 20 seconds,
and a file that is left beside the models.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

LONGEST = 20.0
FORMATS = ("json", "text", "junit", "sarif", "github")
INNOCENT = "import dpor\n\n\n@dpor.model\ndef innocent():\n    pass\n"
_KEPT = {"pyproject.toml", "a_hostile.py", "innocent.py", ".dpor_cache", "__pycache__", "report"}

_VALUES = (
    "{[]: 1}",
    "0x" + "f" * 6000,
    "10**6000",
    "9" * 400,
    "1e999",
    "-1",
    "None",
    "''",
    "'\\ud800'",
    "[[]] * 3",
    "object()",
    "2**64",
    "True",
    "b'\\xff'",
    "...",
)
_OPTIONS = (
    "algorithm",
    "max_steps",
    "k",
    "seed",
    "timeout",
    "instrument",
    "expect",
    "races",
    "root",
    "nothing",
)
_STATEMENTS = (
    "assert False, {value}",
    "raise ValueError({value})",
    "raise SystemExit({value})",
    "raise KeyboardInterrupt",
    "raise MemoryError",
    "threading.current_thread().name = str({value})\n{indent}assert False",
    "global __builtins__\n{indent}__builtins__ = {value}",
    "class Odd(Exception):\n{indent}    def __str__(self): return {value}\n{indent}raise Odd",
    "print({value})",
    "value = {deep}",
    "dpor.choose({value})",
)
_TAILS = (
    "",
    "raise type('Odd', (BaseException,), {})",
    "raise KeyboardInterrupt",
    "__builtins__ = {}",
    "del __name__",
    "hostile = 3",
    "import os; os._exit(0)",
    "import os; os.remove(__file__)",
    "\0",
    "def",
)
_HEADS = ("", "", "", "# coding: unicode_escape\n", "# coding: hex\n", "# coding: utf-7\n", "\ufeff")
_WORDS = (
    "--timeout=1e308",
    "--timeout=nan",
    f"--max-steps={2**64}",
    f"--k={10**20}",
    "--seed=-1",
    "--jobs=0",
    "--algorithm=\udcff",
    "--set=a=0x" + "f" * 6000,
    "--set=value=3",
    "--memory-limit=" + "9" * 400,
    "a" * 300,
    "b/" * 3000,
    "::",
    "innocent.py::" + "m" * 3000,
    "--output=/dev/stdout",
    "--output=no/such",
    "--all-violations",
)
_SETTINGS = (
    "",
    "",
    "",
    "",
    "timeout = " + "9" * 6000,
    "exclude = " + "[" * 3000,
    "k = 0x" + "f" * 6000,
    "cache = 3",
)


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Try `count` command lines in `folder`, and return what was bad, one text for each."""
    draw = random.Random(seed)
    bad: list[str] = []
    for number in range(count):
        project = folder / str(number)
        project.mkdir(parents=True)
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, project, ignore_errors=True)
            bad += [f"seed {seed}, case {number}: {what}" for what in _try(draw, project)]
    return bad


def _source(draw: random.Random) -> str:
    deep = draw.choice(
        ("+".join(["1"] * 5000), "-" * 3000 + "1", "1" + "[0]" * 3000, "(" * 150 + "1" + ")" * 150)
    )
    statement = draw.choice(_STATEMENTS).format(value=draw.choice(_VALUES), deep=deep, indent="    ")
    options = f"{draw.choice(_OPTIONS)}={draw.choice(_VALUES)}" if draw.random() < 0.4 else ""
    parameters = f"value={draw.choice(_VALUES)}" if draw.random() < 0.4 else ""
    tail = draw.choice(_TAILS) if draw.random() < 0.4 else ""
    head = f"{draw.choice(_HEADS)}import threading\nimport dpor\n"
    return f"{head}@dpor.model({options})\ndef hostile({parameters}):\n    {statement}\n{tail}\n"


def _try(draw: random.Random, project: Path) -> Iterator[str]:
    (project / "innocent.py").write_text(INNOCENT)
    (project / "a_hostile.py").write_text(_source(draw), errors="surrogatepass")
    setting = draw.choice(_SETTINGS)
    (project / "pyproject.toml").write_text(f"[tool.dpor]\n{setting}\n")
    word = [draw.choice(_WORDS)] if draw.random() < 0.4 else []
    form = draw.choice(FORMATS)
    command = [
        sys.executable,
        "-m",
        "dpor_lsp",
        "--check",
        "--hang-timeout",
        "5",
        "--format",
        form,
        *word,
        "a_hostile.py",
        "innocent.py",
    ]
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            output, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            yield f"took more than {LONGEST:g} s: {word} {form}"
            return
    shown = f"{word} {form}: {said[-300:]!a}"
    if b"Traceback (most" in said or b"DPOR113" in said + output:
        yield f"a failure of the command itself: {shown}"
    if process.returncode not in (0, 1, 2, 3):
        yield f"exit code {process.returncode}: {shown}"
    if not output:
        if process.returncode != 2 or b"DPOR" not in said:
            yield f"neither a report nor a code: {shown}"
    else:
        yield from (f"{what}: {shown}" for what in _wrong(form, output))
    left = {item.name for item in project.iterdir()} - _KEPT
    if left:
        yield f"left {sorted(left)}: {shown}"


def _wrong(form: str, output: bytes) -> Iterator[str]:
    try:
        text = output.decode()
        if form == "json":
            models = json.loads(text)["models"]
            yield from (
                "an error without a code" for one in models if one["verdict"] == "error" and not one["reason"]
            )
            if ("innocent.py::innocent", "verified") not in [(one["id"], one["verdict"]) for one in models]:
                yield "the innocent result is lost"
        elif form == "sarif":
            json.loads(text)
        elif form == "junit":
            names = [case.get("name") for case in ElementTree.fromstring(text).iter("testcase")]
            if "innocent" not in names:
                yield "the innocent result is lost"
        elif form == "text" and "innocent.py::innocent  verified" not in text:
            yield "the innocent result is lost"
    except (ValueError, KeyError, ElementTree.ParseError) as error:
        yield f"a report that is not valid ({error})"
