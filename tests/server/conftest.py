"""What the server's tests share: projects, targets, results, and workers that only act."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dpor.codes import Code
from dpor.results import (
    CheckRequest,
    ModelInfo,
    ModelResult,
    Pattern,
    Reason,
    SourceSpan,
    TraceStep,
    Verdict,
    Violation,
    ViolationKind,
    WaitingThread,
)
from dpor_lsp.checking.check_target import CheckTarget

# The start of every acting worker: it reads its request and can answer as the real one does.
ACTOR = """
import hashlib, json, os, sys, time
message = json.loads(sys.stdin.readline())
request = message["request"]
with open(request["file"], "rb") as stream:
    contents = {"file:" + request["file"]: hashlib.sha256(stream.read()).hexdigest()}
def send(**data):
    os.write(2, b"\\n" + json.dumps({**data, "token": message["token"]}).encode() + b"\\n")
def answer(**fields):
    result = {"id": "m.py::model", "file": "m.py", "line": 1, "parameters": {}, "verdict": "verified",
              "contents": contents}
    send(kind="result", result={**result, **fields})
    os._exit(0)
def progress(executions):
    send(kind="progress", progress={"executions": executions, "blocked": 0, "redundant": 0, "events": 1,
                                    "seconds": 0.1, "fraction": 0.5})
"""


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C do what it does in a terminal: a suite that runs in the background ignores it, as its children do."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former or signal.SIG_DFL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    return folder


@pytest.fixture
def act(tmp_path: Path) -> Callable[[str], list[str]]:
    """Make the command of a worker that does what the given code says."""

    def make(code: str) -> list[str]:
        script = tmp_path / "actor.py"
        script.write_text(ACTOR + textwrap.dedent(code))
        return [sys.executable, str(script)]

    return make


@pytest.fixture
def make_target(project: Path) -> Callable[..., CheckTarget]:
    """Make a target for a model called `model` in `m.py`."""

    def make(
        source: str = "def model():\n    pass\n", *, options: dict[str, Any] | None = None, **request: Any
    ) -> CheckTarget:
        file = project / "m.py"
        if not file.exists() or file.read_text() != source:
            file.write_text(source)
        info = ModelInfo("m.py", "model", 1, 5, 1, 10, {}, options or {})
        return CheckTarget(info, project, CheckRequest(str(file), "model", str(project), **request))

    return make


@pytest.fixture
def make_result() -> Callable[..., ModelResult]:
    """Make a result of the model `m.py::model`."""

    def make(verdict: Verdict = Verdict.VERIFIED, **fields: Any) -> ModelResult:
        values: dict[str, Any] = {"parameters": {"clerks": 1}, "executions": 3, "seconds": 0.004, **fields}
        return ModelResult("m.py::model", "m.py", 1, verdict=verdict, **values)

    return make


@pytest.fixture
def violation() -> Violation:
    """A deadlock of two threads with a trace."""
    here = SourceSpan("m.py", 2, 5, 2, 9)
    steps = tuple(
        TraceStep(number, f"main.{number % 2}", "acquire", f"Account#{number % 2}.lock", None, here)
        for number in range(1, 7)
    )
    waiting = (
        WaitingThread("main.0", "acquire", "Account#1.lock", here, ("Account#0.lock",), "main.1"),
        WaitingThread("main.1", "acquire", "Account#0.lock", here, ("Account#1.lock",), "main.0"),
    )
    return Violation(
        ViolationKind.DEADLOCK,
        Code.DEADLOCK,
        "two threads wait for each other",
        here,
        "dpor1:text",
        steps,
        pattern=Pattern.LOCK_ORDER_INVERSION,
        waiting=waiting,
    )


@pytest.fixture
def timeout_reason() -> Reason:
    """Why a check was incomplete."""
    return Reason(Code.TIMEOUT, "the check did not end", "raise --timeout", SourceSpan("m.py", 2, 1))


@pytest.fixture
def run_command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command in a folder, as a process of its own."""

    def run(words: Sequence[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dpor_lsp", *words],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run
