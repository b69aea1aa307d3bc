"""Source files of a trace as the editor is shown them: on the disk, or as recorded where that differs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from dpor.counterexample.trace_document import TraceDocument
from dpor.reading import read_file
from dpor_lsp.debug_adapter.answers import mapping

_WINDOWS_DRIVE = re.compile(r"^/([A-Za-z]:)")


class Sources:
    """Paths and texts of the files that a trace points into. Arguments: the trace, whether the client uses URIs."""

    def __init__(self, document: TraceDocument, *, uris: bool = False) -> None:
        self._root = Path(document.root)
        self._texts = document.sources
        self._uris = uris
        self._references = {name: number for number, name in enumerate(document.sources, start=1)}
        self.changed = tuple(name for name in document.sources if self._has_changed(name))

    def path(self, name: str) -> Path:
        """The path on this machine of a file by the name that spans have for it."""
        return self._root / name

    def name(self, source: object) -> str | None:
        """The name that spans have for a client's source; None if the trace does not point into it."""
        described = mapping(source)
        reference = described.get("sourceReference")
        for name, number in self._references.items():
            if reference and number == reference:
                return name
        text = described.get("path")
        if not isinstance(text, str):
            return None
        if text.startswith("file:"):
            try:
                text = _WINDOWS_DRIVE.sub(r"\1", unquote(urlparse(text).path))
            except ValueError:
                return None
        wanted = Path(text)
        for name in self._references:
            path = self.path(name)
            if path == wanted or _same_file(path, wanted):
                return name
        return None

    def describe(self, name: str) -> dict[str, Any]:
        """The protocol's description of a file; with a reference to the recorded text where the disk has another."""
        path = self.path(name)
        if name in self.changed:
            described = {"name": f"{path.name} (as recorded)", "sourceReference": self._references[name]}
            return {**described, "origin": "the file has changed since the trace was recorded"}
        return {"name": path.name, "path": _address(path) if self._uris else str(path)}

    def all(self) -> list[dict[str, Any]]:
        """The descriptions of all files."""
        return [self.describe(name) for name in self._texts]

    def text(self, reference: int) -> str | None:
        """The recorded text by its reference."""
        for name, number in self._references.items():
            if number == reference:
                return self._texts[name]
        return None

    def _has_changed(self, name: str) -> bool:
        try:
            return read_file(self.path(name)).decode(errors="replace") != self._texts[name]
        except (OSError, ValueError):
            return True

    def is_file(self, name: str) -> bool:
        """True if there is such a file on this machine; a trace may name what no file can be called."""
        try:
            return self.path(name).is_file()
        except (OSError, ValueError):
            return False


def _address(path: Path) -> str:
    try:
        return path.as_uri()
    except ValueError:
        # A trace may name what is no path of this machine.
        return str(path)


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
