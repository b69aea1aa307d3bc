from __future__ import annotations

from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.discovery import find_model_files, find_models
from dpor.errors import DporError

SOURCE = '''"""Mentions @dpor.model in text."""
import dpor, dpor as d
from dpor import model, model as checked, spawn

alias = dpor.model

@dpor.model
def plain(): pass

@dpor.model(timeout=5, expect="violated", instrument=("cachetools",), k=SIZE)
@other
def with_options(clerks: int = 1, /, name="x", *rest, far=(1, 2), size=SIZE, bare): pass

@model
async  def asynchronous(required, optional=None): pass

class Suite:
    @checked(k=2)
    def method(self, n=-1): pass

    @d.model
    def é(self): pass

    def helper(self):
        @dpor.model
        def inner(): pass

@alias
def by_alias(): pass

@spawn
@other.model
def not_a_model(): pass
'''


def test_models_are_found_with_their_parameters_options_and_positions() -> None:
    models = find_models(Path("/project/pack/bank.py"), Path("/project"), SOURCE)
    assert [(m.id, m.line, m.column, m.end_column) for m in models] == [
        ("pack/bank.py::plain", 8, 5, 10),
        ("pack/bank.py::with_options", 12, 5, 17),
        ("pack/bank.py::asynchronous", 15, 12, 24),
        ("pack/bank.py::Suite.method", 19, 9, 15),
        ("pack/bank.py::Suite.é", 22, 9, 10),
        ("pack/bank.py::by_alias", 29, 5, 13),
    ]
    assert models[1].parameters == {"clerks": 1, "name": "x", "far": (1, 2), "size": "SIZE"}
    assert models[1].options == {
        "timeout": 5,
        "expect": "violated",
        "instrument": ("cachetools",),
        "k": "SIZE",
    }
    assert models[2].parameters == {"optional": None}
    assert (models[3].parameters, models[3].options) == ({"n": -1}, {"k": 2})


def test_a_file_outside_the_root_keeps_its_path() -> None:
    assert find_models(Path("/elsewhere/bank.py"), Path("/project"), SOURCE)[0].file == "/elsewhere/bank.py"


def test_another_package_called_model_is_no_decorator() -> None:
    assert (
        find_models(Path("a.py"), Path(), "from x import model\nimport x as dpor\n@model\ndef f(): pass\n")
        == []
    )


def test_a_syntax_error_carries_its_place() -> None:
    with pytest.raises(DporError) as caught:
        find_models(Path("/project/bank.py"), Path("/project"), "import dpor\nx = = 1\n")
    span = caught.value.span
    assert caught.value.code is Code.SYNTAX_ERROR
    assert span is not None
    assert (span.file, span.line, span.column) == ("bank.py", 2, 5)


@pytest.mark.parametrize("source", ["x = 1\0", "# coding: nonsense\n"])
def test_what_cannot_be_decoded_is_a_syntax_error(source: str, tmp_path: Path) -> None:
    path = tmp_path / "bank.py"
    path.write_text(source)
    with pytest.raises(DporError) as caught:
        find_models(path, tmp_path)
    assert caught.value.code is Code.SYNTAX_ERROR


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    for find in (
        lambda: find_models(tmp_path / "no.py", tmp_path),
        lambda: find_model_files([tmp_path / "no"]),
    ):
        with pytest.raises(DporError) as caught:
            find()
        assert caught.value.code is Code.NOT_FOUND


def test_folders_are_searched_for_files_with_models(tmp_path: Path) -> None:
    model = "import dpor\n@dpor.model\ndef f(): pass\n"
    for name, text in {
        "b.py": model,
        "a/deep/m.py": model,
        "a/mentions.py": "# dpor\nimport dpor\n",
        "a/broken.py": "import dpor\n= 1\n",
        "a/broken_too.py": "import os\n= 1\n",
        "a/notes.txt": model,
        ".hidden/m.py": model,
        "env/pyvenv.cfg": "",
        "env/m.py": model,
        "node_modules/m.py": model,
        "build/m.py": model,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    # The broken file that mentions dpor is found, so that somebody says that it is broken.
    assert find_model_files([tmp_path]) == [
        tmp_path / "b.py",
        tmp_path / "a/broken.py",
        tmp_path / "a/deep/m.py",
    ]
    assert find_model_files([tmp_path / "build", tmp_path / "b.py", tmp_path / "b.py"]) == [
        tmp_path / "build/m.py",
        tmp_path / "b.py",
    ]
    with pytest.raises(DporError, match="DPOR101"):
        find_model_files([tmp_path / "a/broken.py"])
