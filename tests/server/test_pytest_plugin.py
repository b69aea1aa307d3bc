"""Models as tests, run by pytest in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

FILE = """\
import dpor

shared = []
with open("imports.txt", "a") as log:
    log.write("x")

class Counter:
    value = 0

def add(counter):
    counter.value += 1

def test_plain():
    pass

@dpor.model
def good(n: int = 1):
    assert n

@dpor.model(expect="violated")
def known():
    assert False

@dpor.model
def bad():
    counter = Counter()
    dpor.spawn(add, counter)
    dpor.spawn(add, counter)
    dpor.join_all()
    assert counter.value == 2
"""

RunPytest = Callable[..., str]


@pytest.fixture
def run_pytest(project: Path) -> RunPytest:
    """Run pytest in the project; returns what it printed."""
    installed = any(point.value == "dpor_lsp.pytest_plugin" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "dpor_lsp.pytest_plugin"]

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *words],
            cwd=project,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return done.stdout + done.stderr

    return run


@pytest.fixture
def models(project: Path) -> Path:
    """A test file with three models and a plain test."""
    file = project / "test_models.py"
    file.write_text(FILE)
    return file


def test_without_the_option_a_summary_says_what_was_not_checked(models: Path, run_pytest: RunPytest) -> None:
    output = run_pytest()
    assert "1 passed" in output
    assert "3 dpor models were not checked; run pytest --dpor" in output


def test_the_summary_also_comes_through_xdist(models: Path, run_pytest: RunPytest) -> None:
    assert "3 dpor models were not checked; run pytest --dpor" in run_pytest("-n", "2")


def test_a_file_without_models_is_passed_over(project: Path, run_pytest: RunPytest) -> None:
    (project / "test_other.py").write_text("# dpor\ndef test_one(): pass\n")
    output = run_pytest("--dpor")
    assert "1 passed" in output
    assert "not checked" not in output


def test_a_file_that_is_not_python_is_an_error_of_collection(project: Path, run_pytest: RunPytest) -> None:
    (project / "test_broken.py").write_text("import dpor\n@dpor.model\ndef broken(:\n")
    output = run_pytest("--dpor")
    assert "DPOR101" in output


@pytest.mark.parametrize("timeout", ["-1", "0", "nan", "inf", "1e999", "x", "none"])
def test_a_timeout_that_is_none_is_a_usage_error(models: Path, run_pytest: RunPytest, timeout: str) -> None:
    output = run_pytest("--dpor", f"--dpor-timeout={timeout}")
    assert f"ERROR: DPOR105: --dpor-timeout does not accept '{timeout}'" in output
    assert "Traceback" not in output


def test_settings_that_are_not_accepted_are_one_usage_error(
    project: Path, models: Path, run_pytest: RunPytest
) -> None:
    (project / "pyproject.toml").write_text("[tool.dpor]\nmagic = 1\n")
    (project / "test_others.py").write_text(models.read_text())
    output = run_pytest("--dpor")
    assert output.count("DPOR105") == 1
    assert "pyproject.toml:1: DPOR105: [tool.dpor] has no key 'magic'" in output
    assert "Interrupted" not in output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output


def test_workers_of_xdist_tell_of_settings_that_are_not_accepted(
    project: Path, models: Path, run_pytest: RunPytest
) -> None:
    (project / "pyproject.toml").write_text("[tool.dpor]\nmagic = 1\n")
    output = run_pytest("--dpor", "-n", "2")
    assert "pyproject.toml:1: DPOR105: [tool.dpor] has no key 'magic'" in output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output


@pytest.mark.parametrize("words", [["--dpor"], ["--dpor", "-n", "2"]])
def test_models_are_tests(models: Path, run_pytest: RunPytest, words: list[str]) -> None:
    output = run_pytest(*words)
    assert "1 failed, 3 passed" in output, output
    assert "✗ test_models.py::bad  violated" in output
    assert "counter.value += 1" in output
    assert "Traceback" not in output


def test_one_model_can_be_named(models: Path, run_pytest: RunPytest) -> None:
    output = run_pytest("--dpor", "test_models.py::good")
    assert "1 passed" in output


def test_a_file_of_any_name_can_be_given(project: Path, models: Path, run_pytest: RunPytest) -> None:
    models.rename(project / "bank.py")
    assert "1 failed, 3 passed" in run_pytest("--dpor", "bank.py", "-k", "good or known or bad or plain")


def test_an_incomplete_check_fails_with_its_reason(project: Path, run_pytest: RunPytest) -> None:
    (project / "test_hang.py").write_text(
        "import dpor\n@dpor.model\ndef hang():\n    turns = 0\n    while True:\n        turns += 1\n"
    )
    output = run_pytest("--dpor", "--dpor-timeout=4")
    assert "1 failed" in output
    assert "DPOR304 test_hang.py:5" in output


def test_strict_models_rest_on_nothing(project: Path, run_pytest: RunPytest) -> None:
    (project / "test_watched.py").write_text(
        "import dpor, weakref\nclass T: pass\n@dpor.model\ndef watched():\n    weakref.ref(T())\n"
    )
    assert "1 passed" in run_pytest("--dpor")
    output = run_pytest("--dpor", "--dpor-strict")
    assert "1 failed" in output
    assert "DPOR116 test_watched.py:5" in output


def test_collecting_models_imports_nothing_more(project: Path, models: Path, run_pytest: RunPytest) -> None:
    run_pytest("--dpor", "--collect-only")
    assert (project / "imports.txt").read_text() == "x"
