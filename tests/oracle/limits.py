"""What a program of the oracle may take of the machine."""

from __future__ import annotations

import sys

_BYTES = 4 << 30


def limit_memory() -> None:
    """Hold this process, and those that it starts, to 4 GiB, so that a program that grows for ever ends by MemoryError.

    Does nothing on Windows, which has no such limit.
    """
    if sys.platform == "win32":
        return
    import resource

    # Linux counts anonymous memory under RLIMIT_DATA; elsewhere that is the heap alone.
    kind = resource.RLIMIT_DATA if sys.platform.startswith("linux") else resource.RLIMIT_AS
    resource.setrlimit(kind, (_BYTES, resource.getrlimit(kind)[1]))
