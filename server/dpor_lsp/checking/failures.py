"""What a failure around a check means: of the system, or of this program."""

from __future__ import annotations

from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import Reason


def reason_of(error: BaseException) -> Reason:
    """Return what a report says of an exception that nobody expected."""
    if isinstance(error, DporError):
        return Reason(error.code, error.message, error.fix, error.span)
    if isinstance(error, RecursionError):
        return Reason(
            Code.UNSUPPORTED_CONSTRUCT,
            "what was to be checked or reported nests too deeply",
            "split what nests deeply: a value, an expression or a block",
        )
    # Imported here because only a failure needs it.
    from dpor.exception_texts import titled

    # What cannot be opened for want of descriptors looks like a module that is not there.
    if isinstance(error, OSError | MemoryError | ImportError) or _wants_thread(error):
        return Reason(
            Code.NO_RESOURCES,
            f"the system refuses what the check needs: {titled(error)}",
            "allow more open files, processes and memory (ulimit -n, -u, -v), or use --jobs 1",
        )
    import traceback

    lines = traceback.format_exception(error)
    return Reason(Code.INTERNAL_ERROR, titled(error), f"please report this:\n{''.join(lines)}")


def _wants_thread(error: BaseException) -> bool:
    return type(error) is RuntimeError and "can't start new thread" in error.args
