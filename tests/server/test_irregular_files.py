"""The command line comes across files that are none: each costs its own result, with a code, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.errors import DporError
from dpor_lsp.trace.storage import load_trace

MODEL = "import dpor\n\n\n@dpor.model\ndef small():\n    pass\n"
Make = Callable[[Path], object]
Run = Callable[..., subprocess.CompletedProcess[str]]
IRREGULAR: dict[str, Make] = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}
irregular = pytest.mark.parametrize(("what", "make"), IRREGULAR.items(), ids=["fifo", "zero"])


@irregular
def test_a_walk_warns_of_what_is_no_file_once_and_checks_the_rest(
    project: Path, run_command: Run, what: str, make: Make
) -> None:
    make(project / "a.py")
    (project / "b.py").write_text(MODEL)
    done = run_command(["--check", "--no-cache", "--format", "json", ".", "."], project)
    assert done.returncode == 0, done.stderr
    assert [item["id"] for item in json.loads(done.stdout)["models"]] == ["b.py::small"]
    assert done.stderr.count("a.py") == 1
    assert f"DPOR103: {project / 'a.py'} cannot be read: it is {what}, not a regular file" in done.stderr


@irregular
def test_a_named_target_that_is_no_file_is_an_error_of_its_own(
    project: Path, run_command: Run, what: str, make: Make
) -> None:
    make(project / "a.py")
    (project / "b.py").write_text(MODEL)
    done = run_command(["--check", "--no-cache", "--format", "json", "a.py", "b.py"], project)
    wrong, right = json.loads(done.stdout)["models"]
    assert (wrong["id"], wrong["reason"]["code"]) == ("a.py", "DPOR103")
    assert wrong["reason"]["message"] == f"a.py cannot be read: it is {what}, not a regular file"
    assert wrong["reason"]["fix"]
    assert (right["id"], right["verdict"]) == ("b.py::small", "verified")
    assert "Traceback" not in done.stderr


@irregular
def test_settings_that_are_no_file_are_an_error_with_a_code(
    project: Path, run_command: Run, what: str, make: Make
) -> None:
    (project / "b.py").write_text(MODEL)
    (project / "pyproject.toml").unlink()
    make(project / "pyproject.toml")
    done = run_command(["--check", "b.py"], project)
    assert done.returncode == 2
    assert (
        f"DPOR103: pyproject.toml cannot be read: it is {what}, not a regular file (name a regular"
        in done.stderr
    )


@irregular
def test_a_trace_that_is_no_file_is_refused_with_a_code(project: Path, what: str, make: Make) -> None:
    make(project / "trace.json")
    with pytest.raises(DporError) as caught:
        load_trace(project / "trace.json")
    assert caught.value.code is Code.BAD_TRACE
    assert caught.value.message.endswith(f"trace.json cannot be read: it is {what}, not a regular file")


def test_a_folder_with_the_name_of_a_file_is_walked(project: Path, run_command: Run) -> None:
    (project / "x.py").mkdir()
    (project / "x.py" / "b.py").write_text(MODEL)
    done = run_command(["--check", "--no-cache", "--format", "json", "x.py"], project)
    assert done.returncode == 0, done.stderr
    assert [item["verdict"] for item in json.loads(done.stdout)["models"]] == ["verified"]
