"""The standard streams of a server, byte by byte: for what no well-behaved editor sends."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED = -32002
PATIENCE = 60

# Bytes that are no frame.
NO_FRAMES = (
    b"{}",
    b'{"jsonrpc": "2.0", "id": 1}',
    b"Content-Length: 99999999999999999999\r\n\r\n{}",
    b"Content-Length: -1\r\n\r\n",
    b"Content-Length: \r\n\r\n",
    b"Content-Length: 0x10\r\n\r\n",
    b"Content-Type: application/json\r\n\r\n",
    b"Host: 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\r\n",
    b"\n\n\n",
    b"\0",
    b": \r\n",
    b"\xff\xfe\x00\r\n",
    # A header that begins near 4,096 bytes comes in two pieces.
    b"x" * 4090,
    b"x" * 4095,
    b"x" * 4096,
    b"x" * 5000,
    b"x" * 5000 + b"\r\n" + b"y" * 9000,
)
# Bodies that are no message, and the codes that they are refused with.
NO_MESSAGES = (
    (b"", PARSE_ERROR),
    (b"{", PARSE_ERROR),
    (b"\xff", PARSE_ERROR),
    (b"[" * 100_000, PARSE_ERROR),
    (b"1" * 10_000, PARSE_ERROR),
    (b"[]", INVALID_REQUEST),
    (b"null", INVALID_REQUEST),
    (b'"text"', INVALID_REQUEST),
    (b'{"jsonrpc": "1.0", "method": "initialized"}', INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": [], "method": "dpor/models"}', INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": true, "method": "dpor/models"}', INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "dpor/models"}', INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "method": 7}', INVALID_REQUEST),
)


class Wire:
    """The two ends of a server's standard streams."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dpor_lsp"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        # It reads only while somebody waits for an answer, so that the output can be closed at any other time.
        self._listener = ThreadPoolExecutor(1)

    def write(self, data: bytes) -> None:
        """Send bytes. Raises OSError if the server has ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        """Send a message in its frame."""
        self.write(framed(message))

    def read(self, patience: float = PATIENCE) -> dict[str, Any]:
        """Return the next message of the server that answers or refuses something.

        Raises AssertionError if none comes within so many seconds, or the server has ended.
        """
        try:
            message = self._listener.submit(self._answer).result(patience)
        except TimeoutError:
            raise AssertionError(f"no answer within {patience:.0f} s") from None
        assert message is not None, "the server has ended"
        return message

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        """Send a request and return the next answer."""
        self.send({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        return self.read()

    def initialize(self) -> None:
        """Begin the conversation."""
        assert "result" in self.ask("initialize", INITIALIZE)
        self.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    def hang_up(self) -> None:
        """Write nothing any more."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close_output(self) -> None:
        """Read nothing any more."""
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stop(self) -> None:
        """Kill the server."""
        self.process.kill()
        self.process.wait()
        self._listener.shutdown()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None and not stream.closed:
                with contextlib.suppress(OSError):
                    stream.close()

    def _answer(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        # It fails where the server ends within a message.
        with contextlib.suppress(OSError, ValueError):
            while message := _message(self.process.stdout):
                if "method" not in message:
                    return message
        return None


def framed(message: Any) -> bytes:
    """Return a message as it goes over the wire."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def code(answer: dict[str, Any]) -> int:
    """Return the code of an answer that refuses."""
    return answer["error"]["code"]


def _message(stream: IO[bytes]) -> dict[str, Any] | None:
    length = 0
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        length = int(value) if name == b"Content-Length" else length
    return json.loads(stream.read(length)) if length else None
