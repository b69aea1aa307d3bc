"""Reads files of the user, which may be anything: a pipe that nobody writes to, a device without an end, a folder."""

from __future__ import annotations

import errno
import io
import os
import stat
import tokenize
from os import close, fstat
from os import open as open_descriptor
from os import read as read_descriptor
from os import stat as status_of
from pathlib import Path

from dpor.codes import Code
from dpor.errors import DporError, reason_of_system

LARGEST_SOURCE = 16 << 20
"""How many bytes a file of source, or of settings, may have. Nobody writes as much, and parsing takes a hundredfold."""

# The functions of the system are bound at import, before a check begins: what stands in for them then would show the
# model's files. Without O_NONBLOCK, opening a pipe waits for whoever writes to it.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_PIECE = 1 << 20
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_file(path: Path, most: int | None = LARGEST_SOURCE) -> bytes:
    """The content of a regular file; never waits for anybody, and never reads more than `most` bytes.

    Raises OSError if there is no such file, if it is no regular file, if it has more than `most` bytes (None: however
    many it has) or if it cannot be read; `strerror` says which.
    """
    # Opening a device may already do something.
    _require_regular(status_of(path), path, most)
    descriptor = open_descriptor(path, _FLAGS)
    try:
        _require_regular(fstat(descriptor), path, most)
        content = bytearray()
        # What /proc shows has the size 0, however much it is.
        while piece := read_descriptor(descriptor, _PIECE):
            content += piece
            if most is not None and len(content) > most:
                raise _too_large(path, most)
    finally:
        close(descriptor)
    return bytes(content)


def require_readable(path: Path, name: str) -> None:
    """Raise DporError (NOT_FOUND) for what `read_file` would not begin to read; `name` is what the error calls it."""
    try:
        _require_regular(status_of(path), path, LARGEST_SOURCE)
    except (OSError, ValueError) as error:
        raise unreadable(name, error) from error


def is_readable(path: Path, most: int = LARGEST_SOURCE) -> bool:
    """Whether nothing is known against reading a file: it is regular and not too large, or is not there."""
    try:
        _require_regular(status_of(path), path, most)
    except IrregularFileError:
        return False
    except (OSError, ValueError):
        return True
    return True


def read_source(path: Path, name: str | None = None) -> bytes:
    """The content of a file that the user has named; `name` is what the error calls it.

    Raises DporError (NOT_FOUND) in place of what `read_file` raises.
    """
    try:
        return read_file(path)
    except (OSError, ValueError) as error:
        raise unreadable(name or str(path), error) from error


def read_text(path: Path) -> str:
    """The text of a source file, in the encoding that it names, with the ends of its lines as they are.

    Raises OSError as `read_file` does, SyntaxError for an encoding that there is not, and UnicodeError.
    """
    content = read_file(path)
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding)


def unreadable(name: str, error: OSError | ValueError) -> DporError:
    """What is reported of a file that cannot be read."""
    if isinstance(error, IrregularFileError):
        fix = error.fix
    elif isinstance(error, FileNotFoundError):
        fix = "check the spelling, and whether it was moved"
    else:
        fix = "check its permissions"
    reason = reason_of_system(error)
    return DporError(Code.NOT_FOUND, f"{name} cannot be read: {reason}", fix)


class IrregularFileError(OSError):
    """Something that has a path and is not a file that can be read as a whole; `fix` says what to do."""

    def __init__(self, number: int, reason: str, path: Path, fix: str) -> None:
        super().__init__(number, reason, str(path))
        self.fix = fix


def _require_regular(status: os.stat_result, path: Path, most: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((kind for is_kind, kind in _KINDS if is_kind(status.st_mode)), "something else")
        number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise IrregularFileError(
            number, f"it is {kind}, not a regular file", path, "name a regular file, or rename this"
        )
    if most is not None and status.st_size > most:
        raise _too_large(path, most)


def _too_large(path: Path, most: int) -> IrregularFileError:
    return IrregularFileError(
        errno.EFBIG, f"it has more than {most >> 20} MiB", path, "split it, or leave it out"
    )
