"""The one exception that carries a coded finding to whoever reports it."""

from __future__ import annotations

from dpor.codes import Code
from dpor.results import SourceSpan


class DporError(Exception):
    """A model or a request that cannot be served, with what a person needs to fix it.

    Arguments: the code; a message that says what is wrong; `fix`, how to put it right (may be empty); `span`,
    where in the source it is (None if it is nowhere).
    """

    def __init__(self, code: Code, message: str, fix: str = "", span: SourceSpan | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix
        self.span = span

    def __str__(self) -> str:
        where = f"{self.span.file}:{self.span.line}: " if self.span else ""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.code.value}: {where}{self.message}{fix}"


def reason_of_system(error: Exception) -> str:
    """What the system says of what it refuses, without its number and the name; else the text of the error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def too_deep(name: str) -> DporError:
    """The error of a file that nests deeper than the interpreter's parser and compiler, or ours, can follow."""
    return DporError(
        Code.UNSUPPORTED_CONSTRUCT,
        f"an expression or a block of {name} nests too deeply to be compiled",
        "split it: a sum of a thousand terms, or a chain of as many elif, is as deep as it is long",
        SourceSpan(name, 1),
    )
