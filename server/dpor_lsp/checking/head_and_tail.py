"""What is kept of what a model prints."""

from __future__ import annotations

OUTPUT_LIMIT = 64 << 10
"""How many bytes of a stream are kept, at the head and again at the tail."""


class HeadAndTail:
    """Keeps the first and the last bytes of a stream of any length."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        room = self._limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room else data
        if len(self._tail) > 2 * self._limit:
            self._drop()

    def text(self) -> str:
        """Return what was kept, with a note in the place of what was not."""
        self._drop()
        note = f"\n... {self._dropped} bytes left out ...\n".encode() if self._dropped else b""
        return bytes(self._head + note + self._tail).decode(errors="replace")

    def _drop(self) -> None:
        excess = max(0, len(self._tail) - self._limit)
        self._dropped += excess
        del self._tail[:excess]
