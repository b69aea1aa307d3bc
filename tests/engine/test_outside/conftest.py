"""Checking programs that work on files, and running them without a check."""

from __future__ import annotations

import gc
import itertools
import os
import runpy
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import file_locking
import outside_sink

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult

_PROGRAM = """
import contextlib, fileinput, gc, glob, gzip, io, json, os, pathlib, shutil, signal, sqlite3, stat, sys, tempfile
import threading, zipfile
from pathlib import Path
import dpor

def attempt(function):
    try:
        return function()
    except Exception as error:
        return type(error).__name__

def write(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)

def read(path):
    with open(path) as file:
        return file.read()

def tree():
    found = []
    for folder, folders, files in os.walk("."):
        folders.sort()
        found += [(os.path.join(folder, name), "folder") for name in folders]
        for name in sorted(files):
            path = os.path.join(folder, name)
            found.append((path, os.readlink(path) if os.path.islink(path) else attempt(lambda: read(path))))
    return tuple(sorted(found))

{before}

def first():
{first}

def second():
{second}

def final():
    return {final}
"""
_MODEL = """
import outside_sink

@dpor.model
def model():
    os.chdir({folder!r})
    {begin}
    results = [None, None]
    def run(index, function):
        results[index] = attempt(function)
    threads = [threading.Thread(target=run, args=item) for item in enumerate((first, second))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    outside_sink.record((tuple(results), final()))
"""


def _body(text: str) -> str:
    lines = text.strip("\n").splitlines()
    if len(lines) == 1 and not lines[0].startswith((" ", "return", "with", "for", "raise")):
        lines = [f"return {lines[0]}"] if "=" not in lines[0].split("(")[0] else lines
    return "\n".join(f"    {line}" for line in lines)


def contents(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that can be seen of a folder: names, kinds, modes, times of change and contents."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, status.st_ino, content)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a few files in it."""
    made = tmp_path / "data"
    made.mkdir()
    (made / "a").write_text("one")
    (made / "b").write_text("two")
    (made / "sub").mkdir()
    (made / "sub" / "c").write_text("three")
    (made / "empty").mkdir()
    return made


@pytest.fixture
def check(tmp_path: Path, folder: Path) -> Callable[..., tuple[frozenset[Any], ModelResult]]:
    """The outcomes of two functions as threads of a model; the user's folder must be as it was."""

    def run(
        first: str, second: str, final: str = "tree()", before: str = "", begin: str = "pass", **options: Any
    ) -> Any:
        text = _PROGRAM.format(before=before, first=_body(first), second=_body(second), final=final)
        (tmp_path / "model_of_files.py").write_text(text + _MODEL.format(folder=str(folder), begin=begin))
        outside_sink.take()
        had = contents(folder)
        here = os.getcwd()
        request = CheckRequest("model_of_files.py", "model", str(tmp_path), options=options)
        result = check_model(request)
        assert contents(folder) == had
        assert os.getcwd() == here
        return outside_sink.take(), result

    return run


@pytest.fixture
def orders(tmp_path: Path, folder: Path) -> Callable[..., frozenset[Any]]:
    """The outcomes of two functions run one after the other, in both orders, without a check."""

    def run(first: str, second: str, final: str = "tree()", before: str = "") -> frozenset[Any]:
        text = _PROGRAM.format(before=before, first=_body(first), second=_body(second), final=final)
        script = tmp_path / "plain.py"
        script.write_text(text)
        found: set[Any] = set()
        here = os.getcwd()
        variables = dict(os.environ)
        limit, path = sys.getrecursionlimit(), list(sys.path)
        mask = os.umask(0o022)
        for number, order in enumerate(itertools.permutations((0, 1))):
            copy = tmp_path / f"plain{number}" / "data"
            shutil.copytree(folder, copy, symlinks=True)
            os.chdir(copy)
            try:
                names = runpy.run_path(str(script))
                results: list[Any] = [None, None]
                for index in order:
                    results[index] = names["attempt"](names[("first", "second")[index]])
                found.add((tuple(results), names["final"]()))
            finally:
                os.umask(0o022)
                os.chdir(here)
                os.environ.clear()
                os.environ.update(variables)
                sys.setrecursionlimit(limit)
                sys.path[:] = path
                signal.signal(signal.SIGUSR1, signal.SIG_DFL)
                signal.signal(signal.SIGUSR2, signal.SIG_DFL)
                gc.enable()
        os.umask(mask)
        return frozenset(found)

    return run


@pytest.fixture
def check_locks(tmp_path: Path) -> Callable[..., ModelResult]:
    """The result of a model that locks files, with this body."""

    def run(body: str, **options: Any) -> ModelResult:
        text = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        (tmp_path / "locking.py").write_text(file_locking.PROGRAM.format(body=text, options=given))
        return check_model(CheckRequest("locking.py", "model", str(tmp_path)))

    return run
