"""A counterexample as a text document that any editor can show."""

from __future__ import annotations

import contextlib
import linecache
import re
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

from dpor.lines import split_lines
from dpor.results import Violation
from dpor_lsp.checking.cache import FOLDER

WIDTH = 100


def schedule_text(violation: Violation, root: Path, texts: Mapping[Path, str]) -> str:
    """The report of a violation; `texts` holds the texts that were checked instead of files' contents."""
    # Imported here: the first diagnostic must not wait for it.
    from dpor.counterexample.text import render

    with _sources(texts):
        return render(violation, width=WIDTH, color=False, root=root)


def write_schedule(root: Path, model: str, number: int, text: str) -> Path:
    """Write a report where it can be opened, and nobody takes it for something to edit; returns the file."""
    folder = root / FOLDER / "schedules"
    name = re.sub(r"[^\w.-]+", "_", model) + (f"-{number + 1}" if number else "") + ".txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _write(folder / name, text)
    except OSError:
        # A project that cannot be written to is no reason not to show what was found.
        return _write(Path(tempfile.mkdtemp(prefix="dpor-")) / name, text)


def _write(file: Path, text: str) -> Path:
    with contextlib.suppress(OSError):
        file.chmod(0o644)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o444)
    return file


@contextlib.contextmanager
def _sources(texts: Mapping[Path, str]) -> Generator[None, None, None]:
    """Have source lines read from `texts`, and files that have changed read anew."""
    linecache.checkcache()
    for path, text in texts.items():
        lines = split_lines(text, keepends=True)
        linecache.cache[str(path)] = (len(text), None, lines, str(path))
    try:
        yield
    finally:
        for path in texts:
            linecache.cache.pop(str(path), None)
