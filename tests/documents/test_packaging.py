"""Everything that the packages hold beside modules is installed with them: assets, stubs, documentation."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
FOLDERS = {name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()}
BUILT = (".so", ".pyd", ".dylib")


def data_files() -> list[Path]:
    return [
        path
        for folder in FOLDERS.values()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.suffix not in (".py", ".pyc", *BUILT)
        and not any(part == "__pycache__" or part.startswith(".") for part in path.parts)
    ]


@pytest.mark.parametrize("path", data_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_that_is_no_module_belongs_to_the_data_of_its_package(path: Path) -> None:
    patterns: list[str] = []
    for package, given in SETUPTOOLS["package-data"].items():
        if package == "*":
            patterns += [f"*/{pattern}" for pattern in given]
        else:
            first, *others = package.split(".")
            folder = FOLDERS[first].joinpath(*others)
            patterns += [f"{folder.as_posix()}/{pattern}" for pattern in given]
    assert any(fnmatchcase(path.as_posix(), pattern) for pattern in patterns)


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=lambda folder: folder.name)
def test_every_folder_with_modules_is_a_package(folder: Path) -> None:
    for module in folder.rglob("*.py"):
        assert (module.parent / "__init__.py").is_file(), module
