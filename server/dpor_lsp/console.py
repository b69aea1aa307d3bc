"""What the command says beside its report: warnings and errors on standard error, reports on their way out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dpor.codes import Code
from dpor.errors import DporError

PROGRAM = "dpor-lsp"


def warn(code: Code, message: str) -> None:
    """Print a coded warning on standard error."""
    print(f"{PROGRAM}: warning: {code.value}: {message}", file=sys.stderr)


def fail(error: DporError) -> None:
    """Print a coded error on standard error."""
    print(f"{PROGRAM}: {error}", file=sys.stderr)


def deliver(text: str, output: str | None, option: str = "--output") -> None:
    """Write a whole report to the file `output`, or to standard output if that is None.

    `option` is the option that named the file, for the error message.
    A file appears complete or not at all. Raises DporError (DPOR105) if it cannot be written.
    """
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    # Imported here because most reports go to standard output.
    import tempfile

    target = Path(output)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f"{option} cannot write {output}: {error.strerror or error}"
        raise DporError(
            Code.BAD_OPTION, message, "name a file in a folder that exists and can be written"
        ) from error


def make_streams_safe() -> None:
    """Have characters that a stream cannot show replaced instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
