"""A result cache that is damaged, edited by hand or replaced between two runs of the command.

A case is a damage, and a check after it; STEPS of them come one after the other in a project. The project's models have
known verdicts, and their files change between runs as well. Bad is
- a verdict that is not that of the code as it is now, or a model without a result,
- a traceback, an error without a code, a failure of the command itself (DPOR113), an exit code that does not fit,
- a replay of the violated model that shows neither its counterexample nor an error with a code,
- no end within PATIENCE seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from dpor_lsp.checking.cache import FILE, FOLDER

PATIENCE = 60.0
STEPS = 4
WRONG, RIGHT, NO_COUNTEREXAMPLE = 1, 0, 2
MODELS = """
import dpor
from step import STEP

@dpor.model
def fixed():
    pass

@dpor.model
def changing():
    count = [0]
    def add():
        count[0] += STEP
    for thread in [dpor.spawn(add) for _ in range({threads})]:
        thread.join()
    assert count[0] == 2
"""
# How many threads add how much, and what a check says of it.
STATES = ((2, 1, "violated"), (1, 2, "verified"), (1, 1, "violated"))
TABLES = {
    "results": ("key", "model", "contents", "result", "stored", "digest"),
    "stopped": ("key", "model", "contents", "remaining", "stored", "digest"),
    "counterexamples": ("model", "schedule", "parameters", "options", "digest"),
}


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Try `count` damages, in as many projects as that takes; returns what was bad."""
    bad: list[str] = []
    for number in range(-(-count // STEPS)):
        project = folder / str(number)
        project.mkdir()
        drawn = random.Random(f"{seed}-{number}")
        bad += [f"cache, seed {seed}, project {number}: {what}" for what in _Project(project, drawn).run()]
        shutil.rmtree(project, ignore_errors=True)
    return bad


class _Project:
    """A project whose cache is damaged."""

    def __init__(self, folder: Path, drawn: random.Random) -> None:
        self._folder = folder
        self._drawn = drawn
        self._file = folder / FOLDER / FILE
        self._expected = ""
        self._damages: tuple[Callable[[], str], ...] = (
            self._edit_a_row,
            self._edit_a_row,
            self._edit_a_row,
            self._flip_bytes,
            self._cut_off,
            self._replace,
            self._leave,
        )

    def run(self) -> Iterator[str]:
        """The bad of this project."""
        self._change_code()
        done = ["first run"]
        for step in range(STEPS + 1):
            faults = list(self._check())
            yield from (f"{fault} after {done}" for fault in faults)
            if faults or step == STEPS:
                return
            done.append(self._drawn.choice(self._damages)())
            if self._drawn.random() < 0.5:
                self._change_code()
                done.append("other code")
            if self._drawn.random() < 0.3:
                yield from (f"{fault} after {done}" for fault in self._replay())

    def _check(self) -> Iterator[str]:
        code, output, said = self._command("--check", "--format", "json", "models.py")
        if said and ("Traceback (most" in said or "DPOR113" in said):
            yield f"a failure of the command itself: {said[-500:]}"
        try:
            models = {one["name"]: one["verdict"] for one in _models(output)}
        except (ValueError, KeyError) as error:
            yield f"no report ({error!r}): {said[-500:]}"
            return
        if models != {"fixed": "verified", "changing": self._expected}:
            yield f"the wrong verdicts: {models}, not {self._expected}"
        if code != (WRONG if self._expected == "violated" else RIGHT):
            yield f"the exit code {code}"

    def _replay(self) -> Iterator[str]:
        code, output, said = self._command("--replay", "models.py::changing")
        if "Traceback (most" in output + said or "DPOR113" in output + said:
            yield f"a failure of the command itself: {(output + said)[-500:]}"
        elif code not in (RIGHT, WRONG) and "DPOR" not in output + said:
            yield f"a replay without a code: {code} {said[-300:]}"

    def _command(self, *words: str) -> tuple[int | None, str, str]:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "dpor_lsp", *words],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, "", f"no end within {PATIENCE:.0f} s"
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    # What happens between two runs

    def _change_code(self) -> None:
        threads, step, self._expected = self._drawn.choice(STATES)
        (self._folder / "models.py").write_text(MODELS.format(threads=threads))
        moved = self._folder / "moved.py"
        moved.write_text(f"STEP = {step}\n")
        # As mv and rsync do: with the time of another day.
        os.utime(moved, (self._drawn.randint(0, 1 << 30),) * 2)
        moved.replace(self._folder / "step.py")

    def _edit_a_row(self) -> str:
        table = self._drawn.choice(tuple(TABLES))
        column = self._drawn.choice(TABLES[table])
        with (
            contextlib.suppress(sqlite3.Error),
            contextlib.closing(sqlite3.connect(self._file)) as connection,
        ):
            rows = connection.execute(f"SELECT {column} FROM {table}").fetchall()
            if not rows:
                return "nothing"
            value = self._edited(self._drawn.choice(rows)[0], [row[0] for row in rows])
            with connection:
                connection.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))
            return f"{table}.{column} = {str(value)[:80]!r}"
        return "nothing"

    def _edited(self, value: object, others: list[object]) -> object:
        text = str(value)
        start = self._drawn.randrange(len(text) + 1)
        kinds: tuple[Callable[[], object], ...] = (
            lambda: None,
            lambda: b"\xff\x00",
            lambda: 1e308,
            lambda: "",
            lambda: "[" * 5000,
            lambda: '{"a": ' + "9" * 5000 + "}",
            lambda: self._drawn.choice(others),
            lambda: text.replace("violated", "verified"),
            lambda: text.replace("verified", "violated"),
            lambda: text.replace("fixed", "changing"),
            lambda: text[:start] + self._drawn.choice("\0\udcff{}[],:1aé") + text[start + 1 :],
            lambda: text[:start],
        )
        edited = self._drawn.choice(kinds)()
        # The database takes no half of a surrogate pair.
        return edited.encode(errors="replace").decode() if isinstance(edited, str) else edited

    def _flip_bytes(self) -> str:
        if not self._file.is_file():
            return "nothing"
        content = bytearray(self._file.read_bytes())
        for _ in range(self._drawn.randint(1, 50)):
            if content:
                content[self._drawn.randrange(len(content))] = self._drawn.randrange(256)
        self._file.write_bytes(content)
        return "other bytes"

    def _cut_off(self) -> str:
        if not self._file.is_file():
            return "nothing"
        with self._file.open("r+b") as stream:
            stream.truncate(self._drawn.randrange(self._file.stat().st_size + 1))
        return "fewer bytes"

    def _replace(self) -> str:
        what = self._drawn.choice(("text", "folder", "pipe", "loop", "file for the folder"))
        if self._file.parent.is_dir():
            shutil.rmtree(self._file.parent)
        else:
            self._file.parent.unlink(missing_ok=True)
        if what == "file for the folder":
            self._file.parent.write_text("")
            return what
        self._file.parent.mkdir(exist_ok=True)
        if what == "text":
            self._file.write_text("no database\n" * 300)
        elif what == "folder":
            self._file.mkdir()
        elif what == "pipe" and hasattr(os, "mkfifo"):
            os.mkfifo(self._file)
        elif what == "loop":
            self._file.symlink_to(self._file)
        return what

    def _leave(self) -> str:
        return "nothing"


def _models(output: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for one in json.loads(output)["models"]:
        found.append({"name": one["id"].rpartition("::")[2], "verdict": one["verdict"]})
    return found
