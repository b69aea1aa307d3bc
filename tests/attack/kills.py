"""The command and the language server killed at random moments.

Each case kills one of them, then checks the same project again. Bad is
- a process that is left PATIENCE seconds after the kill,
- a file that is left in the folder of temporary files, once another check has been made there,
- a verdict of the check after it that is not right, a traceback, an exit code that does not fit,
- no end of a command that was asked to end (SIGTERM, SIGINT), or of the check after it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "server" / "test_language_server"))

import psutil
from lsp_editor import Editor

PATIENCE = 20.0
LONGEST = 120.0
WRONG = 1
MARK = "DPOR_ATTACK"
SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
)
MODELS = """
import dpor

@dpor.model
def racing():
    count = [0]
    def add():
        count[0] += 1
    for thread in [dpor.spawn(add) for _ in range(2)]:
        thread.join()
    assert count[0] == 2

@dpor.model
def longer():
    cells = [0] * 5
    def add():
        for index in range(5):
            cells[index] = 1
    for thread in [dpor.spawn(add) for _ in range(4)]:
        thread.join()

@dpor.model
def writing():
    with open("written.txt", "w") as stream:
        stream.write("text")
"""
EXPECTED = {"racing": "violated", "writing": "verified"}


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Try `count` kills; returns what was bad."""
    for asked in (signal.SIGINT, getattr(signal, "SIGHUP", None)):
        # What was started in the background hands its deafness on to what it starts.
        if asked is not None and signal.getsignal(asked) is signal.SIG_IGN:
            signal.signal(asked, signal.SIG_DFL)
    bad: list[str] = []
    for number in range(count):
        drawn = random.Random(f"{seed}-{number}")
        project = folder / str(number)
        project.mkdir()
        bad += [f"kills, seed {seed}, case {number}: {what}" for what in _Case(project, drawn).run()]
        shutil.rmtree(project, ignore_errors=True)
    return bad


class _Case:
    """One kill."""

    def __init__(self, project: Path, drawn: random.Random) -> None:
        self._project = project
        self._drawn = drawn
        self._temporary = project / "temporary"
        self._temporary.mkdir()
        self._mark = uuid.uuid4().hex
        (project / "models.py").write_text(MODELS)

    def run(self) -> Iterator[str]:
        """What was bad of it."""
        number = self._drawn.choice(SIGNALS)
        after = self._drawn.uniform(0.0, 4.0)
        serves = self._drawn.random() < 0.4
        what = f"{'server' if serves else 'command'} {number.name} after {after:.2f} s"
        if serves:
            self._kill_server(number, after)
        else:
            yield from (f"{what}: {fault}" for fault in self._kill_command(number, after))
        left = self._left()
        if left:
            yield f"{what}: left the processes {left}"
            for process in self._own():
                process.kill()
        yield from (f"{what}, then: {fault}" for fault in self._check())
        files = sorted(item.name for item in self._temporary.iterdir())
        if files:
            yield f"{what}: left the files {files}"

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, MARK: self._mark, "TMPDIR": str(self._temporary)}

    def _kill_command(self, number: signal.Signals, after: float) -> Iterator[str]:
        command = [sys.executable, "-m", "dpor_lsp", "--check", "--jobs", "2", "models.py"]
        with subprocess.Popen(
            command,
            cwd=self._project,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                process.communicate(timeout=after)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
            try:
                output, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                yield "did not end"
                return
            # Python itself shows an interrupt of its start.
            if b"Traceback (most" in output and b"dpor_lsp" in output and number is not signal.SIGINT:
                yield f"a traceback: {output[-600:]!a}"

    def _kill_server(self, number: signal.Signals, after: float) -> None:
        wrapper = ["env", f"{MARK}={self._mark}", f"TMPDIR={self._temporary}"]
        editor = Editor(self._project, command=[*wrapper, sys.executable, "-m", "dpor_lsp"])
        try:
            if self._drawn.random() < 0.9:
                editor.initialize()
                editor.open(self._project / "models.py")
            # The moment is what is drawn: nothing tells of it.
            time.sleep(after)
            editor.process.send_signal(number)
            if number is not signal.SIGKILL:
                editor.process.wait(PATIENCE)
        except (AssertionError, subprocess.TimeoutExpired):
            pass
        finally:
            editor.stop()

    def _own(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self._mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def _left(self) -> list[str]:
        _, alive = psutil.wait_procs(self._own(), timeout=PATIENCE)
        return [" ".join(process.cmdline()) for process in alive if process.is_running()]

    def _check(self) -> Iterator[str]:
        words = ["--check", "--format", "json", "models.py::racing", "models.py::writing"]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "dpor_lsp", *words],
                cwd=self._project,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            yield "the check does not end"
            return
        try:
            models = json.loads(done.stdout)["models"]
        except ValueError as error:
            yield f"no report ({error}): {done.stderr[-500:]!a}"
            return
        found = {one["id"].rpartition("::")[2]: one["verdict"] for one in models}
        if found != EXPECTED or done.returncode != WRONG:
            yield f"{found}, exit code {done.returncode}: {done.stderr[-500:]!a}"
