"""Which check, if any, controls the code that is running.

`active_host()` and `current_host()` are looked up as attributes of this module at every use, so that they cost one
built-in call and can be stood in for by tests.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not from typing: importing it would be most of the time that `import dpor` takes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dpor._kernel import Host

try:
    from dpor._kernel import Abort as Abort  # pyright: ignore[reportAssignmentType]
    from dpor._kernel import active_host as active_host
    from dpor._kernel import current_host as current_host
except ImportError:  # a source tree whose kernel is not built: everything then runs on real threads

    class Abort(BaseException):
        """Never raised: there is no kernel."""

    def current_host() -> Host | None:
        """The Host installed in this OS thread, or None."""
        return None

    def active_host() -> Host | None:
        """The Host of the execution that the caller is part of, or None if the caller is ordinary code."""
        return None


def controlled(function: Callable[..., Any]) -> Callable[..., Any]:
    """What to call for a function that code of the standard library was given.

    It is the same, with its operations visible if it is built-in code, such as a list's `append`.
    """
    host = active_host()
    return function if host is None else host.callee(function)


def itself(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function: what a pickle of one that built-in code was given calls."""
    return function
