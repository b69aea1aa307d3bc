"""Instrumented code of modules that are not the user's, kept so that it is compiled once."""

from __future__ import annotations

from pathlib import Path
from types import CodeType

from dpor.instrument.transformer import compile_instrumented


class LibraryCode:
    """Compiles modules that do not change while the process runs."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[Path, str], CodeType] = {}

    def compile(self, source: Path, filename: str) -> CodeType:
        """The instrumented code of a file, which names itself `filename`.

        Raises OSError if the file cannot be read, SyntaxError or ValueError if it is not valid Python.
        """
        key = (source, filename)
        code = self._compiled.get(key)
        if code is None:
            code = self._compiled[key] = compile_instrumented(source.read_bytes(), filename)
        return code
