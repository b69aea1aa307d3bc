"""Exceptions that come from a package: the report says where, and who called."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.text import render
from dpor.errors import DporError
from dpor.results import CheckRequest, Violation

PACKAGE = "def inner(number):\n    return 1 // number\n\ndef outer(number):\n    return inner(number)\n"
MODELS = """
import threading
import dpor
import dividing

@dpor.model(instrument=("dividing",))
def called():
    dividing.outer(0)

@dpor.model(instrument=("dividing",))
def started():
    threading.Thread(target=dividing.outer, args=(0,)).start()

@dpor.model(instrument=("dividing",))
def of_the_model():
    dividing.outer(1)
    raise ValueError
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package outside of the project."""
    folder = tmp_path / "site"
    (folder / "dividing").mkdir(parents=True)
    (folder / "dividing" / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, "dividing", raising=False)
    return folder / "dividing" / "__init__.py"


def check(folder: Path, model: str, text: str = MODELS) -> Violation:
    project = folder / "project"
    project.mkdir()
    file = project / "model.py"
    file.write_text(text, encoding="utf-8")
    return check_model(CheckRequest(str(file), model, str(project))).violations[0]


@pytest.mark.parametrize("model", ["called", "started"])
def test_an_exception_of_a_package_shows_the_calls_in_it(tmp_path: Path, package: Path, model: str) -> None:
    violation = check(tmp_path, model)
    inner = [(call.function, call.location.line) for call in violation.calls if not call.first_party]
    assert inner == [("inner", 2), ("outer", 5)]
    text = render(violation, width=200, color=False, root=tmp_path / "project")
    assert f"raised in inner ({package.as_posix()}:2)\n  called in outer ({package.as_posix()}:5)\n" in text


@pytest.mark.usefixtures("package")
def test_an_exception_of_the_model_has_nothing_to_add(tmp_path: Path) -> None:
    violation = check(tmp_path, "of_the_model")
    assert [call.function for call in violation.calls] == ["of_the_model"]
    assert "raised in" not in render(violation, width=200, color=False, root=tmp_path / "project")


def test_an_exception_while_a_package_is_imported_shows_the_imports(tmp_path: Path, package: Path) -> None:
    package.write_text("\nraise ValueError('too early')\n", encoding="utf-8")
    with pytest.raises(DporError) as caught:
        check(tmp_path, "called")
    assert caught.value.code is Code.IMPORT_ERROR
    assert f"raised ValueError: too early (raised at {package.as_posix()}:2)" in caught.value.message
