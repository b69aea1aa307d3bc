"""Roots and settings of projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.errors import DporError
from dpor_lsp.project import Settings, find_root, read_settings, relative_name


def settings(project: Path, table: str) -> Settings:
    (project / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[tool.dpor]\n{table}\n")
    return read_settings(project)


def test_the_root_is_the_nearest_folder_with_a_marker(project: Path, tmp_path: Path) -> None:
    inner = project / "package" / "inner"
    inner.mkdir(parents=True)
    file = inner / "m.py"
    file.touch()
    assert find_root(file, tmp_path) == project
    (inner / ".git").mkdir()
    assert find_root(file, tmp_path) == inner


def test_names_are_relative_with_forward_slashes(project: Path, tmp_path: Path) -> None:
    assert relative_name(project / "a" / "b.py", project) == "a/b.py"
    assert relative_name(tmp_path / "c.py", project) == (tmp_path / "c.py").as_posix()


def test_a_project_may_say_nothing(project: Path, tmp_path: Path) -> None:
    assert read_settings(project) == Settings()
    assert read_settings(tmp_path) == Settings()


def test_settings_are_read(project: Path) -> None:
    read = settings(
        project,
        'timeout = 30\njobs = 2\nexclude = ["old/*"]\nalgorithm = "source"\nmemory-limit = "1G"\ncache = false',
    )
    assert read.options == {"timeout": 30.0, "algorithm": "source"}
    assert (read.jobs, read.exclude, read.memory_limit, read.cache) == (2, ("old/*",), 1 << 30, False)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("timout = 3", "did you mean 'timeout'?"),
        ("jobs = 'many'", "does not accept 'many'"),
        ("jobs = true", "does not accept True"),
        ("exclude = 'old'", "a list of strings"),
        ("cache = 'no'", "true or false"),
        ("algorithm = 'fast'", "it accepts one of"),
    ],
)
def test_what_is_not_accepted_is_coded_and_located(project: Path, table: str, message: str) -> None:
    with pytest.raises(DporError) as caught:
        settings(project, table)
    assert caught.value.code is Code.BAD_OPTION
    assert message in str(caught.value)
    assert caught.value.span is not None
    assert caught.value.span.line == 3


def test_a_broken_file_is_named(project: Path) -> None:
    with pytest.raises(DporError, match=r"pyproject\.toml is not valid TOML"):
        settings(project, "timeout = ")


def test_a_file_that_is_no_toml_is_named_at_its_line(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project]\nname = dpor\n")
    with pytest.raises(DporError) as caught:
        read_settings(project)
    span = caught.value.span
    assert caught.value.code is Code.SYNTAX_ERROR
    assert span is not None
    assert (span.file, span.line) == ("pyproject.toml", 2)


@pytest.mark.parametrize("text", ["tool = 5  # dpor", "[tool]\ndpor = 5"])
def test_a_table_that_is_none_is_refused(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text + "\n")
    with pytest.raises(DporError) as caught:
        read_settings(project)
    assert caught.value.code is Code.BAD_OPTION
    assert "is no table but 5" in caught.value.message
