"""Standard output and error inside a model: the same object in every execution, which prints in some only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any


class ModelStream:
    """Stands in for a stream that the model prints to: with the attributes of `real`, but quiet when told to be.

    Printing is no effect: nobody in the model can read what was printed, so that a loop that says that it waits still
    only looks.
    """

    # The kernel takes instances of classes with this mark for private to the thread.
    __dpor_thread_local__ = True

    def __init__(self, real: Any) -> None:
        self._real = real
        self.dpor_quiet = False

    def write(self, text: Any, /) -> int:
        """Write, or only say that it was written. TypeError for what is no text (or no bytes)."""
        if not self.dpor_quiet:
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
        if not self.dpor_quiet:
            self._real.flush()

    @property
    def buffer(self) -> ModelStream:
        """The stream of bytes below it."""
        below = ModelStream(self._real.buffer)
        below.dpor_quiet = self.dpor_quiet
        return below

    def __enter__(self) -> ModelStream:
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave it open: it is not the model's."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _nobody() -> None:
    """Nobody asks."""


class Output:
    """The standard streams while a check lasts, from the import of the model's modules on.

    They are the same objects in every execution, because modules can keep them.
    """

    def __init__(self) -> None:
        self._real: tuple[Any, Any] | None = None
        self._streams: tuple[ModelStream, ...] = ()
        self._quiet = False
        self._was_printed = False
        self.when_begun: Callable[[], object] = _nobody
        """Called before an execution that prints: what it prints is to be shown in place of what others have."""

    def install(self) -> None:
        """Put the streams of the model in place; `restore` puts those of the process back."""
        self._real = (sys.stdout, sys.stderr)
        self._streams = tuple(map(ModelStream, self._real))
        self.begin(quiet=False)

    def begin_execution(self) -> None:
        """Begin an execution. One prints what the model prints: thousands that say the same would hide it."""
        quiet = self._was_printed
        self._was_printed = True
        self.begin(quiet=quiet)
        if not quiet and self._real is not None:
            for stream in self._real:
                stream.flush()
            self.when_begun()

    def speak(self) -> None:
        """Let the next execution print: it is the one that is told of."""
        self._was_printed = False

    def begin(self, *, quiet: bool) -> None:
        """Give the model streams that nothing has been redirected from, quiet ones or not."""
        streams = self._streams
        if self._real is None or (
            quiet and self._quiet and sys.stdout is streams[0] and sys.stderr is streams[1]
        ):
            return
        self._quiet = quiet
        for stream in self._streams:
            stream.dpor_quiet = quiet
        sys.stdout, sys.stderr = self._streams  # type: ignore[assignment]

    def restore(self) -> None:
        """Put the streams of the process back."""
        if self._real is not None:
            sys.stdout, sys.stderr = self._real
            self._real = None
