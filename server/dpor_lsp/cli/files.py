"""Writing a report to the file that an option names, whatever sort of file that is."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from pathlib import Path

from dpor.codes import Code
from dpor.errors import DporError, reason_of_system

_READER_TIME = 10.0
"""Seconds for which somebody may take to open the other end of a named pipe."""
_PAUSE = 0.05
_DEVICES = ("/dev/", "/proc/")


def write_report(text: str, output: str, option: str) -> None:
    """Write a whole report to the file `output`; `option` is the option that named it, for the error message.

    A regular file appears complete or not at all, also at the end of a link. Anything else (a device, a named pipe) is
    written to. Raises DporError (DPOR105) if it cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if _is_replaceable(Path(output)):
            _replace(Path(os.path.realpath(output)), data)
        else:
            _write_to(output, data)
    except (OSError, ValueError) as error:
        reason = reason_of_system(error)
        raise DporError(
            Code.BAD_OPTION,
            f"{option} cannot write {output}: {reason}",
            "name a file in a folder that exists and can be written",
        ) from error


def _is_replaceable(path: Path) -> bool:
    """Whether the path means a regular file, or none yet, and not what another process has open."""
    hops = 0
    while path.is_symlink() and hops < 40:
        path = path.parent / os.readlink(path)
        if str(path.absolute()).startswith(_DEVICES):
            return False
        hops += 1
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def _replace(target: Path, data: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
    # The name may be as long as the system takes, and has to leave room for nothing else.
    descriptor, name = tempfile.mkstemp(prefix=".dpor-report-", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_to(output: str, data: bytes) -> None:
    # Appended: a standard output that leads to a file may hold what others have written.
    flags = os.O_WRONLY | os.O_APPEND
    end = time.monotonic() + _READER_TIME
    while True:
        try:
            # Without waiting: a named pipe that nobody ever reads must not hold the command for ever.
            descriptor = os.open(output, flags | getattr(os, "O_NONBLOCK", 0))
            break
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(os.stat(output).st_mode):
                raise
            if time.monotonic() >= end:
                raise OSError(error.errno, "nobody reads this pipe") from error
            time.sleep(_PAUSE)
    try:
        os.set_blocking(descriptor, True)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
