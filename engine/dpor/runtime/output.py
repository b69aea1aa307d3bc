"""Standard output and error inside a model: the same object in every execution, which prints in some only."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from dpor._kernel import Host


class ModelStream:
    """Stands in for a stream that the model prints to: with the attributes of `real`, but quiet when told to be.

    Printing is something that an iteration of a loop does, and that no predicate may do.
    """

    def __init__(self, real: Any, host: Host, *, quiet: bool = False) -> None:
        self._real = real
        self._host = host
        self._quiet = quiet

    def write(self, text: Any, /) -> int:
        """Write, or only say that it was written. TypeError for what is no text (or no bytes)."""
        self._note()
        if not self._quiet:
            return self._real.write(text)
        if isinstance(text, str) != hasattr(self._real, "encoding"):
            raise TypeError(f"write() argument has the wrong type, {type(text).__name__}")
        return len(text)

    def writelines(self, lines: Iterable[Any], /) -> None:
        """Write one after another."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write out what is kept back."""
        if not self._quiet:
            self._real.flush()

    @property
    def buffer(self) -> ModelStream:
        """The stream of bytes below it."""
        return ModelStream(self._real.buffer, self._host, quiet=self._quiet)

    def __enter__(self) -> ModelStream:
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave it open: it is not the model's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _note(self) -> None:
        if self._host.active:
            self._host.had_effect("prints")


class Output:
    """The standard streams while a check lasts; `restore` puts those of the process back."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._real: tuple[Any, Any] | None = None

    def begin(self, *, quiet: bool) -> None:
        """Give an execution streams that nothing has been redirected from, quiet ones or not."""
        if self._real is None:
            self._real = (sys.stdout, sys.stderr)
        out, error = self._real
        sys.stdout = ModelStream(out, self._host, quiet=quiet)  # type: ignore[assignment]
        sys.stderr = ModelStream(error, self._host, quiet=quiet)  # type: ignore[assignment]

    def restore(self) -> None:
        """Put the streams of the process back."""
        if self._real is not None:
            sys.stdout, sys.stderr = self._real
            self._real = None
