"""Code of modules that are not the user's, compiled as a check needs it: once for a file, also across processes.

Such files are many and long, and hardly ever change. Instrumenting them takes about six times as long as compiling
them, so what was compiled is kept in the user's folder for caches, as Python keeps its own in `__pycache__`.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import marshal
import os
import sys
from pathlib import Path
from types import CodeType

from dpor.instrument.entries import compile_marked
from dpor.instrument.transformer import compile_instrumented
from dpor.reading import read_file

_FOLDER = "dpor-lsp"
_DIGEST_SIZE = hashlib.sha256().digest_size


class Treatment(enum.StrEnum):
    """What is done to a module's code."""

    INSTRUMENTED = "instrumented"
    """Every operation is seen, but for operators with a literal operand, which read nothing of what the library has."""
    WITH_OPERANDS = "with-operands"
    """Every operation is seen."""
    MARKED = "marked"
    """Every function says that it begins to run."""


class LibraryCode:
    """Compiles files; `folder` is where code is kept (None: in this process only)."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._compiled: dict[tuple[Path, str, Treatment, bytes | None], CodeType] = {}

    def compile(
        self,
        source: Path,
        filename: str,
        treatment: Treatment = Treatment.INSTRUMENTED,
        text: bytes | None = None,
    ) -> CodeType:
        """The code of a file, which names itself `filename`; `text` is its content, if it has been read.

        Raises OSError if the file cannot be read, SyntaxError or ValueError if it is not valid Python.
        """
        key = (source, filename, treatment, text)
        code = self._compiled.get(key)
        if code is None:
            content = read_file(source) if text is None else text
            code = self._compiled[key] = self._kept(source, filename, treatment, content)
        return code

    def _kept(self, source: Path, filename: str, treatment: Treatment, text: bytes) -> CodeType:
        digest = hashlib.sha256(text).hexdigest()
        name = f"{source}\0{filename}\0{treatment}\0{digest}\0{_version()}"
        file = self._folder and self._folder / hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
        if file is not None:
            kept = _read(file)
            if kept is not None:
                return kept
        code = (
            compile_marked(text, filename)
            if treatment is Treatment.MARKED
            else compile_instrumented(
                text, filename, sees_operands=treatment is Treatment.WITH_OPERANDS, of_library=True
            )
        )
        if file is not None and not sys.dont_write_bytecode:
            _write(file, marshal.dumps(code))
        return code


@functools.cache
def library_code() -> LibraryCode:
    """What all checks of this process share."""
    return LibraryCode(_cache_folder())


def _cache_folder() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if not base:
        home = os.path.expanduser("~")
        if home == "~":
            return None
        base = str(Path(home) / ("Library/Caches" if sys.platform == "darwin" else ".cache"))
    return Path(base) / _FOLDER / f"code-{sys.implementation.cache_tag}"


@functools.cache
def _version() -> str:
    """What tells code of this instrumentation from that of another."""
    digest = hashlib.sha256(sys.version.encode())
    # Not by `glob`: who asks for a folder is told by what is known to pass the question on.
    for file in sorted(Path(__file__).parent.iterdir()):
        if file.suffix == ".py":
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _read(file: Path) -> CodeType | None:
    """The code that a file keeps; None if there is none, or if it is damaged: what is no code can end the process."""
    with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
        content = file.read_bytes()
        digest, kept = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if hashlib.sha256(kept).digest() == digest:
            code: object = marshal.loads(kept)
            return code if isinstance(code, CodeType) else None
    return None


def _write(file: Path, content: bytes) -> None:
    """Write a file as a whole or not at all: several processes may do so at once."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(hashlib.sha256(content).digest() + content)
        unfinished.replace(file)
