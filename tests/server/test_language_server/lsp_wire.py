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
