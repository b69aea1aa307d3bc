"""Open documents as they are at one moment."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

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
    """The file that an address means; None for an address that is no file's, whatever it is. Raises nothing."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file":
            return None
        name = to_fs_path(uri) if os.name == "nt" else _posix_name(parts.netloc, parts.path)
        if not name or not os.path.isabs(name):
            return None
        path = Path(name).resolve()
        _require_possible(path)
    except (ValueError, OSError, RuntimeError):
        # A bracket that is not closed, a NUL, half a surrogate pair, a name that is too long, a circle of links.
        return None
    return path


def is_address(text: str) -> bool:
    """True if a text can be taken apart as an address at all."""
    try:
        urlsplit(text)
    except ValueError:
        return False
    return True


def uri_of(path: Path) -> str:
    """The address of a file."""
    try:
        return from_fs_path(str(path)) or path.as_uri()
    except UnicodeError:
        # A name that is no UTF-8, which only its bytes spell.
        return path.as_uri()


def _posix_name(host: str, path: str) -> str | None:
    """The name of a file of this machine. Raises UnicodeError for bytes that are no UTF-8, which no result can name."""
    return unquote_to_bytes(path).decode() if host in ("", "localhost") else None


def _require_possible(path: Path) -> None:
    """Raise OSError or ValueError for a path that the system does not take, whether there is such a file or not."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
