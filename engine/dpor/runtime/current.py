"""Which check, if any, controls the code that is running.

`current_host()` is looked up as an attribute of this module at every use, so that it costs one built-in call and
can be stood in for by tests.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: importing it would be most of the time that `import dpor` takes

if TYPE_CHECKING:
    from dpor._kernel import Host

try:
    from dpor._kernel import Abort as Abort  # pyright: ignore[reportAssignmentType]
    from dpor._kernel import current_host as current_host
except ImportError:  # a source tree whose kernel is not built: everything then runs on real threads

    class Abort(BaseException):
        """Never raised: there is no kernel."""

    def current_host() -> Host | None:
        """The Host installed in this OS thread, or None."""
        return None


def active_host() -> Host | None:
    """The Host of the execution that the caller is part of, or None if the caller is ordinary code."""
    host = current_host()
    return host if host is not None and host.active else None
