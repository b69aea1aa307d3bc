"""Check concurrent Python: mark a function with `@dpor.model`, and every schedule that matters is explored."""

from __future__ import annotations

from dpor.api import (
    assume,
    choose,
    fence,
    join_all,
    nondet_bool,
    nondet_int,
    replay,
    spawn,
    wait_until,
)
from dpor.model import model

TYPE_CHECKING = False  # not from typing: importing it would be most of the time that `import dpor` takes

if TYPE_CHECKING:
    from typing import Any

    from dpor.atomic import Atomic

    __version__: str

__all__ = [
    "Atomic",
    "assume",
    "choose",
    "fence",
    "join_all",
    "model",
    "nondet_bool",
    "nondet_int",
    "replay",
    "spawn",
    "wait_until",
]


def __getattr__(name: str) -> Any:
    if name == "Atomic":
        from dpor.atomic import Atomic

        globals()["Atomic"] = Atomic
        return Atomic
    if name == "__version__":
        # Only when asked for: reading the package's metadata takes longer than the import of the package.
        from importlib import metadata

        try:
            return metadata.version("dpor-lsp")
        except metadata.PackageNotFoundError:
            return "0+unknown"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
