"""Messages of the Debug Adapter Protocol on byte streams, which are framed as those of the language server are.

Source: https://microsoft.github.io/debug-adapter-protocol/overview#base-protocol
"""

from __future__ import annotations

import json
import threading
from collections.abc import Coroutine
from typing import IO, Any, cast

from dpor_lsp.language_server.wire.framing import LONGEST_LINE, FramingError, MessageReader


class ProtocolError(Exception):
    """What came in is no message; reading goes on with the next one."""


class ClientGoneError(Exception):
    """Nobody reads what is written any more."""


class Reader:
    """Reads messages, one after the other."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._messages = MessageReader(_BlockingSource(stream))

    def message(self) -> dict[str, Any] | None:
        """Return the next message, or None at the end of the stream.

        Raises ProtocolError for a header or a body that is none, OSError and ValueError if the stream fails.
        """
        try:
            body = _result(self._messages.body())
        except FramingError as error:
            raise ProtocolError(str(error)) from error
        if body is None:
            return None
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
        """Send one message; raises ClientGoneError if nobody reads any more."""
        with self._lock:
            self._sequence += 1
            text = json.dumps({"seq": self._sequence, **message}, ensure_ascii=False)
            # Half of a surrogate pair, which names and values may hold, is no text that can be sent.
            body = text.encode(errors="replace")
            try:
                self._stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self._stream.flush()
            except (OSError, ValueError) as error:
                raise ClientGoneError from error


class _BlockingSource:
    """A stream whose reads are waited for by the thread that asks."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    async def line(self) -> bytes:
        """See `ByteSource`."""
        return self._stream.readline(LONGEST_LINE)

    async def exactly(self, count: int) -> bytes:
        """See `ByteSource`."""
        pieces = b""
        while len(pieces) < count:
            piece = self._stream.read(count - len(pieces))
            if not piece:
                break
            pieces += piece
        return pieces


def _result(reading: Coroutine[Any, Any, bytes | None]) -> bytes | None:
    """What a coroutine over a blocking source returns: it never waits for a loop, so that one step is all of it."""
    try:
        reading.send(None)
    except StopIteration as end:
        return cast("bytes | None", end.value)
    raise AssertionError("a blocking source does not suspend")
