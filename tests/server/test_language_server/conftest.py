"""What the language server's tests share; this folder is put on the path, so that they can import the editor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from lsp_editor import Editor


@pytest.fixture
def launch(project: Path) -> Iterator[Callable[..., Editor]]:
    """Start an editor with a server; all are ended with the test."""
    started: list[Editor] = []

    def start(*words: str) -> Editor:
        started.append(Editor(project, words))
        return started[-1]

    yield start
    for item in started:
        item.stop()


@pytest.fixture
def editor(launch: Callable[..., Editor]) -> Editor:
    """An editor whose server has been initialized with its defaults."""
    found = launch()
    found.initialize()
    return found


@pytest.fixture
def write(project: Path) -> Callable[..., Path]:
    """Write a file of the project."""

    def make(name: str, text: str) -> Path:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return make
