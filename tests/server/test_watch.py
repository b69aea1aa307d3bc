"""`--check --watch` as a person uses it: save, look, Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

GOOD = "import dpor\n@dpor.model\ndef model():\n    assert True\n"
BAD = GOOD.replace("True", "False")

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals"),
    pytest.mark.usefixtures("ctrl_c"),
]


class Watching:
    """A running `dpor-lsp --check --watch`."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "dpor_lsp", "--check", "--watch"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        # A check that never comes would otherwise block the test for ever.
        self._guard = threading.Timer(60, self.process.kill)
        self._guard.start()

    def round(self) -> str:
        """Return what is printed up to the end of the next round."""
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:
            lines.append(line)
            if line.startswith("watching for changes"):
                return "".join(lines)
        pytest.fail("".join(lines) + str(self.process.stderr and self.process.stderr.read()))

    def end(self) -> int:
        """Press Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        self.close()
        return code

    def close(self) -> None:
        """End it in any case."""
        self._guard.cancel()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def watching(project: Path) -> Iterator[Watching]:
    (project / "m.py").write_text(GOOD)
    (project / "other.py").write_text(GOOD)
    watching = Watching(project)
    yield watching
    watching.close()


def test_a_change_is_checked_and_nothing_else(watching: Watching, project: Path) -> None:
    first = watching.round()
    assert "✓ m.py::model" in first
    assert "✓ other.py::model" in first
    (project / "m.py").write_text(BAD)
    second = watching.round()
    assert "m.py changed" in second
    assert "✗ m.py::model" in second
    assert "other.py" not in second
    assert "2 models: 1 verified, 1 violated" in second
    assert watching.end() == 0


def test_a_newer_save_takes_the_place_of_a_running_check(watching: Watching, project: Path) -> None:
    watching.round()
    (project / "m.py").write_text(GOOD.replace("assert True", "turns = 0\n    while True: turns += 1"))
    lines = iter(watching.process.stdout or ())
    assert "m.py changed" in next(lines)
    (project / "m.py").write_text(BAD)
    assert "✗ m.py::model" in watching.round()


def test_new_and_broken_files_appear(watching: Watching, project: Path) -> None:
    watching.round()
    (project / "new.py").write_text(GOOD)
    assert "✓ new.py::model" in watching.round()
    (project / "new.py").write_text("import dpor\n@dpor.model\ndef model(:\n")
    assert "DPOR101" in watching.round()
