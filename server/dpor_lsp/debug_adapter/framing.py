"""Messages of the Debug Adapter Protocol on byte streams: a header with the length, then JSON.

The protocol is small and no maintained library serves its adapter's side, so this is all there is to it.
Source: https://microsoft.github.io/debug-adapter-protocol/overview#base-protocol
"""

from __future__ import annotations

import json
import threading
from typing import IO, Any, cast

_HEADER = b"content-length"
_LARGEST = 64 << 20


class ProtocolError(Exception):
    """The stream does not hold what the protocol asks for; nothing after it can be understood."""


def read_message(stream: IO[bytes]) -> dict[str, Any] | None:
    """Return the next message, or None at the end of the stream.

    Raises ProtocolError for a header or a body that is none.
    """
    length: int | None = None
    while True:
        line = stream.readline(1 << 16)
        if not line:
            return None
        if line in (b"\r\n", b"\n"):
            break
        name, _, value = line.partition(b":")
        if name.strip().lower() == _HEADER:
            try:
                length = int(value)
            except ValueError as error:
                raise ProtocolError(f"the length of a message is {value!r}") from error
    if length is None or not 0 <= length <= _LARGEST:
        raise ProtocolError(f"a message has the length {length}")
    body = b""
    while len(body) < length:
        piece = stream.read(length - len(body))
        if not piece:
            return None
        body += piece
    try:
        message: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a message is not valid JSON: {error}") from error
    if not isinstance(message, dict):
        raise ProtocolError("a message is not a JSON object")
    return cast("dict[str, Any]", message)


class Writer:
    """Writes messages, numbered in the order in which they go out; may be used from any thread."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._sequence = 0

    def send(self, **message: Any) -> None:
        """Send one message; raises OSError if nobody reads any more."""
        with self._lock:
            self._sequence += 1
            body = json.dumps({"seq": self._sequence, **message}, ensure_ascii=False).encode()
            self._stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self._stream.flush()
