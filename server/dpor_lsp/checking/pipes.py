"""A pipe from a process, of which everything is read that the process has written, whoever else holds its end.

End of file is no such sign: a process that the worker has started may keep the pipe open for ever, and a reader on a
busy machine may be late by any time. So the parent keeps an end for itself and writes a sign into the pipe once the
process has ended: what was written before comes before it.
"""

from __future__ import annotations

import contextlib
import enum
import os
import secrets
import threading
from collections.abc import Generator, Iterator

READ_SIZE = 1 << 16


class Mark(enum.Enum):
    """What the parent has written into a pipe, or the process with the sign that it was given."""

    ASKED = b"?"
    ENDED = b"."
    AFRESH = b"!"


class MarkedPipe:
    """A pipe for a process to write to and for one thread of this process to read from.

    `write_end` is the descriptor to start the process with. Raises OSError if there are no descriptors left.
    """

    def __init__(self) -> None:
        self._read_end, self.write_end = os.pipe()
        # Nobody else can guess it. It begins with a byte that hardly any text ends with, since a piece that ends with
        # the beginning of a sign is held back until the next one. That byte is only at the beginning: a sign does not
        # overlap with itself, so that neither the text before it nor another sign can hide where it begins.
        self._sign = b"\0" + bytes(1 + secrets.randbelow(255) for _ in range(15))
        self._lock = threading.Lock()
        self._ended = False

    @property
    def afresh(self) -> bytes:
        """What the process writes before what takes the place of what it has written so far."""
        return self._sign + Mark.AFRESH.value

    def ask(self) -> None:
        """Have the reader come by `Mark.ASKED` after all that was written so far."""
        with self._lock:
            if not self._ended:
                self._write(Mark.ASKED)

    def end(self) -> None:
        """Have the reader stop after all that was written so far; a second call does nothing."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._write(Mark.ENDED)
            os.close(self.write_end)

    def close(self) -> None:
        """Close both ends of a pipe that nobody reads."""
        with self._lock:
            self._ended = True
            os.close(self.write_end)
            os.close(self._read_end)

    def pieces(self) -> Generator[bytes | Mark, None, None]:
        """Read until `end` was called, and close the pipe then."""
        try:
            yield from self._pieces()
        finally:
            os.close(self._read_end)

    def _pieces(self) -> Iterator[bytes | Mark]:
        data = b""
        while piece := os.read(self._read_end, READ_SIZE):
            data += piece
            while (position := data.find(self._sign)) >= 0:
                after = position + len(self._sign)
                if after == len(data):
                    break
                if position:
                    yield data[:position]
                mark = Mark(data[after : after + 1])
                yield mark
                if mark is Mark.ENDED:
                    return
                data = data[after + 1 :]
            held = self._beginning_of_sign(data)
            if held < len(data):
                yield data[: len(data) - held]
                data = data[len(data) - held :]

    def _beginning_of_sign(self, data: bytes) -> int:
        """How many bytes at the end of `data` may be the beginning of a sign."""
        position = data.rfind(self._sign[:1])
        return len(data) - position if position >= 0 and self._sign.startswith(data[position:]) else 0

    def _write(self, mark: Mark) -> None:
        # The reader may have found the pipe broken.
        with contextlib.suppress(BrokenPipeError):
            while True:
                try:
                    # So short a piece is written at once or not at all.
                    os.write(self.write_end, self._sign + mark.value)
                except BlockingIOError:
                    # The process shares this end, and may have asked not to be kept waiting.
                    os.set_blocking(self.write_end, True)
                else:
                    return
