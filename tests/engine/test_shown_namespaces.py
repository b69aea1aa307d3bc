"""A program that goes through the variables of modules finds those that they have in CPython."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

PROGRAM = """
import collections
import dataclasses
import functools
import inspect
import queue
import sys
import threading

import first_party
import site_package

count = 0

def bump():
    global count
    count += 1
    for _ in range(2):
        total = [number for number in (1, 2)]

@dataclasses.dataclass
class Point:
    x: int = 0

Pair = collections.namedtuple("Pair", "left right")

class Newest(queue.Queue):
    def _init(self, maxsize):
        self.queue = []

    def _qsize(self):
        return len(self.queue)

    def _put(self, item):
        self.queue = [item]

def used():
    Newest().put(1)
    collections.Counter("abc").update("d")
    functools.singledispatch(bump).register(int, bump)
    dataclasses.make_dataclass("Made", ["y"])(1)
    site_package.work()
    return [sys.modules[name] for name in ("collections", "dataclasses", "functools", "inspect", "queue", "threading")]

def shown():
    threads = [threading.Thread(target=bump) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    modules = [sys.modules[__name__], first_party, site_package, *used()]
    return {LOOKS}
"""
LOOKS = {
    "globals": "sorted(globals())",
    "vars": "[sorted(vars(module)) for module in modules]",
    "dir": "[dir(module) for module in modules]",
    "__dict__": "[sorted(module.__dict__) for module in modules]",
    "functions": "[name for module in modules[:3] for name, _ in inspect.getmembers(module, inspect.isroutine)]",
    "callables": "[name for module in modules[:3] for name in vars(module) if callable(vars(module)[name])]",
    "names of a copy": "sorted(dict(globals()))",
    "names that a module exports": "[name for name in vars(first_party) if name not in first_party.__all__]",
}
FIRST_PARTY = "__all__ = list(globals())\ndef helper(): return 1\nclass Helper: pass\n"
MODEL = """
import dpor

@dpor.model(instrument=INSTRUMENT)
def model():
    found = str(shown())
    assert found == EXPECTED, found
"""
SITE_PACKAGE = "def work(): return [number for number in range(3)]\nTABLE = {name: 1 for name in dir()}\n"


def write(folder: Path, source: str, expected: str, instrument: tuple[str, ...] = ()) -> Path:
    (folder / "first_party.py").write_text(FIRST_PARTY)
    packages = folder / "site-packages"
    packages.mkdir(exist_ok=True)
    (packages / "site_package.py").write_text(SITE_PACKAGE)
    path = folder / "model.py"
    path.write_text(f"{source}\nEXPECTED = {expected!r}\n{MODEL.replace('INSTRUMENT', repr(instrument))}")
    return path


def shown_in_python(folder: Path) -> str:
    script = "import model; print(model.shown())"
    path = os.pathsep.join(map(str, (folder, folder / "site-packages", *sys.path)))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("instrument", [(), ("site_package", "collections", "dataclasses")])
def test_modules_hold_the_names_that_they_have_in_cpython(
    tmp_path: Path, instrument: tuple[str, ...]
) -> None:
    source = PROGRAM.replace("LOOKS", ", ".join(f"{name!r}: {look}" for name, look in LOOKS.items()))
    write(tmp_path, source, "")
    expected = shown_in_python(tmp_path)
    assert expected.count("helper") >= 5
    path = write(tmp_path, source, expected, instrument)
    # In a process of its own, whose modules reach little.
    command = [sys.executable, "-m", "dpor_lsp", "--check", "--no-cache", path.name]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site-packages")},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "1 verified" in done.stdout) == (0, True), done.stdout


LEAVING = """
import dpor

count = 0
def bump():
    global count
    count += 1
    return [number for number in (1, count)]

@dpor.model
def model():
    thread = dpor.spawn(bump)
    thread.join()
    assert count == 1
"""
USING = """
import dpor
import left_behind

@dpor.model
def model():
    threads = [dpor.spawn(left_behind.bump) for _ in range(2)]
    for thread in threads:
        thread.join()
"""


def test_a_function_that_a_check_has_left_runs_afterwards_and_in_another_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaving.py").write_text(LEAVING)
    (tmp_path / "using.py").write_text(USING)
    holder = ModuleType("left_behind")
    monkeypatch.setitem(sys.modules, "left_behind", holder)

    def keep() -> None:
        setattr(holder, "bump", sys.modules["leaving"].bump)  # noqa: B010

    first = check_model(CheckRequest("leaving.py", "model", str(tmp_path)), on_output=keep)
    assert first.verdict is Verdict.VERIFIED
    before = holder.bump()
    assert holder.bump() == [1, before[1] + 1]
    second = check_model(CheckRequest("using.py", "model", str(tmp_path)))
    assert second.verdict is Verdict.VERIFIED
    # What it does is not seen in this check.
    assert [assumption.subject for assumption in second.assumptions] == ["leaving"]
    assert holder.bump()[0] == 1


TWICE = """
import sys
import dpor

@dpor.model
def model():
    import counted
    first = counted
    del sys.modules["counted"]
    import counted as second
    assert first is not second
    threads = [dpor.spawn(WHICH.bump) for _ in range(2)]
    for thread in threads:
        thread.join()
    assert WHICH.count == 2
"""


@pytest.mark.parametrize("which", ["first", "second"])
def test_a_module_that_is_loaded_twice_is_instrumented_both_times(tmp_path: Path, which: str) -> None:
    (tmp_path / "counted.py").write_text("count = 0\ndef bump():\n    global count\n    count += 1\n")
    (tmp_path / "model.py").write_text(TWICE.replace("WHICH", which))
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert [violation.message for violation in result.violations] == [f"assertion failed: {which}.count == 2"]
