"""Open documents as they are at one moment."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from pygls.uris import from_fs_path, to_fs_path


@dataclass(frozen=True)
class Document:
    """One version of an open document; `uri` is the client's own spelling of its address."""

    uri: str
    path: Path
    version: int
    text: str

    @cached_property
    def digest(self) -> str:
        """The hash of the text, comparable with that of a file's content."""
        return hashlib.sha256(self.text.encode(errors="surrogatepass")).hexdigest()


def path_of(uri: str) -> Path | None:
    """The file that an address means; None for an address that is no file's."""
    if urlsplit(uri).scheme != "file":
        return None
    path = to_fs_path(uri)
    return Path(path).resolve() if path else None


def uri_of(path: Path) -> str:
    """The address of a file."""
    return from_fs_path(str(path)) or path.as_uri()
