"""Trace documents as JSON files: written whole or not at all, read only if this version understands them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from dpor.codes import Code
from dpor.counterexample.trace_document import TRACE_VERSION, TraceDocument
from dpor.errors import DporError
from dpor.reading import read_file, unreadable
from dpor.results import from_json, to_json

_LARGEST = 1 << 30
"""How many bytes a trace may have."""
_FIX = "record it again from its model"


def trace_to_json(document: TraceDocument) -> dict[str, Any]:
    """Return the JSON form of a document, which `docs/replay.md` describes."""
    return to_json(document)


def trace_of_json(data: object, name: str) -> TraceDocument:
    """Return the document whose JSON form is `data`; `name` says in errors where it came from.

    Raises DporError (DPOR404) if it is no document, one of a newer version, or one that contradicts itself.
    """
    content: Mapping[str, Any] = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    version = content.get("version")
    if type(version) is not int or not isinstance(content.get("steps"), list):
        raise _bad(f"{name} is not a recorded trace")
    if version != TRACE_VERSION:
        age = "newer" if version > TRACE_VERSION else "older"
        raise _bad(
            f"{name} is a trace of version {version}, and this dpor-lsp reads version {TRACE_VERSION}",
            f"it was written by a {age} dpor-lsp: use that one, or {_FIX}",
        )
    try:
        document = from_json(TraceDocument, content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _bad(f"{name} is a damaged trace: {error}") from error
    _require_consistent(document, name)
    return document


def save_trace(document: TraceDocument, path: Path) -> None:
    """Write a document to a file, which appears complete or not at all. Raises OSError if that cannot be done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(trace_to_json(document), stream, ensure_ascii=False, separators=(",", ":"))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load_trace(path: Path) -> TraceDocument:
    """Read a document from a file.

    Raises DporError: DPOR103 if there is no such file, DPOR404 if it holds no trace that this version can show.
    """
    try:
        text = read_file(path, _LARGEST).decode()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise DporError(Code.NOT_FOUND, f"there is no trace file {path}", _FIX) from error
    except OSError as error:
        raise _bad(unreadable(str(path), error).message) from error
    except ValueError as error:
        raise _bad(f"{path} cannot be read: {error}") from error
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(f"{path} is not a recorded trace: it is not valid JSON ({error})") from error
    return trace_of_json(data, str(path))


def _require_consistent(document: TraceDocument, name: str) -> None:
    lanes = {lane.id for lane in document.threads}
    for number, step in enumerate(document.steps, start=1):
        if step.index != number:
            raise _bad(f"{name} is a damaged trace: step {number} has the index {step.index}")
        if step.thread not in lanes:
            raise _bad(
                f"{name} is a damaged trace: step {number} is of a thread {step.thread!r} that it lacks"
            )
    if document.failure is not None and not 1 <= document.failure.step <= len(document.steps):
        raise _bad(f"{name} is a damaged trace: it fails at step {document.failure.step}, which it lacks")


def _bad(message: str, fix: str = _FIX) -> DporError:
    return DporError(Code.BAD_TRACE, message, fix)
