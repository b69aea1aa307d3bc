"""Standard output and error inside a model: the same object in every execution, which prints in some only."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


class ModelStream:
    """Stands in for a stream that the model prints to: with the attributes of `real`, but quiet when told to be.

    Printing is no effect: nobody in the model can read what was printed, so that a loop that says that it waits still
    only looks.
    """

    def __init__(self, real: Any, *, quiet: bool = False) -> None:
        self._real = real
        self._quiet = quiet

    def write(self, text: Any, /) -> int:
        """Write, or only say that it was written. TypeError for what is no text (or no bytes)."""
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
        return ModelStream(self._real.buffer, quiet=self._quiet)

    def __enter__(self) -> ModelStream:
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave it open: it is not the model's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Output:
    """The standard streams while a check lasts; `restore` puts those of the process back."""

    def __init__(self) -> None:
        self._real: tuple[Any, Any] | None = None

    def begin(self, *, quiet: bool) -> None:
        """Give an execution streams that nothing has been redirected from, quiet ones or not."""
        if self._real is None:
            self._real = (sys.stdout, sys.stderr)
        out, error = self._real
        sys.stdout = ModelStream(out, quiet=quiet)  # type: ignore[assignment]
        sys.stderr = ModelStream(error, quiet=quiet)  # type: ignore[assignment]

    def restore(self) -> None:
        """Put the streams of the process back."""
        if self._real is not None:
            sys.stdout, sys.stderr = self._real
            self._real = None
