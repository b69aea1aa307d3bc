"""What the command says beside its report: warnings and errors on standard error, reports on their way out."""

from __future__ import annotations

import contextlib
import os
import sys

from dpor.codes import Code
from dpor.errors import DporError, reason_of_system

PROGRAM = "dpor-lsp"


def warn(code: Code, message: str) -> None:
    """Print a coded warning on standard error."""
    _say(f"{PROGRAM}: warning: {code.value}: {message}")


def fail(error: DporError) -> None:
    """Print a coded error on standard error."""
    _say(f"{PROGRAM}: {error}")


def _say(text: str) -> None:
    # Nobody can be told that there is nobody to tell; the exit code still says it.
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def deliver(text: str, output: str | None, option: str = "--output", *, utf_8: bool = False) -> None:
    """Write a whole report to the file `output`, or to standard output if that is None.

    `option` is the option that named the file, for the error message; `utf_8` is for formats that are UTF-8 whatever
    the terminal is. Raises DporError (DPOR105) if it cannot be written, BrokenPipeError if whoever read it has gone.
    """
    if output is not None:
        # Imported here because most reports go to standard output.
        from dpor_lsp.cli.files import write_report

        write_report(text, output, option)
        return
    try:
        if utf_8:
            _reconfigure(sys.stdout, encoding="utf-8", errors="backslashreplace")
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = reason_of_system(error)
        raise DporError(
            Code.BAD_OPTION,
            f"the report cannot be written to standard output: {reason}",
            "name a file with --output, or see where standard output leads",
        ) from error


def make_streams_safe() -> None:
    """Have the three standard streams open, and characters that they cannot show replaced instead of failing.

    The number of a stream that the parent process has closed would be given to the next file or pipe that is opened,
    which then got what is meant for the stream.
    """
    missing = [number for number in range(3) if not _is_open(number)]
    for number in missing:
        # A standard output that nobody has opened refuses what is written to it, as it would without this.
        descriptor = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
        if descriptor != number:
            os.dup2(descriptor, number)
            os.close(descriptor)
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        _reconfigure(stream, errors="backslashreplace")


def leave_streams() -> None:
    """Have the interpreter fail at nothing when it flushes the standard streams at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(nothing, stream.fileno())
    os.close(nothing)


def _reconfigure(stream: object, **how: str) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(**how)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
