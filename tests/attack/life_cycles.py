"""Conversations with a server from its start to its end, byte by byte: frames and stages in any order.

Each case is a server and a dozen bursts. A burst is one write, or several that split it anywhere, of messages in frames
as clients write them, of bytes that are no frame, and of bodies that are no message. What each request has to be
answered with follows from the stage that the conversation has come to (`_Client`), which is written down here from the
protocol, not taken from the server.

Bad is
- a request without an answer within PATIENCE seconds, with two, or with another one than the stage asks for,
- an error that nothing has caused, or none where bytes or bodies are wrong,
- a server that ends before it is asked to, that goes on afterwards, or ends with another exit code.
"""

from __future__ import annotations

import collections
import enum
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "server" / "test_language_server"))

from lsp_wire import (
    INITIALIZE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NO_FRAMES,
    NO_MESSAGES,
    NOT_INITIALIZED,
    PARSE_ERROR,
    Wire,
)

PATIENCE = 20.0
BURSTS = 12
FINE = "fine"
NO_NUMBER = "null"

Answer = tuple[str, int | str]
"""The number of a request as JSON, and the code of its error, or FINE."""

_HEADERS = (
    b"Content-Length: %d\r\n\r\n",
    b"content-length: %d\r\n\r\n",
    b"CONTENT-LENGTH:%d\n\n",
    b"Content-Length:  %d \r\n\r\n",
    b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
    b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
)
# What nobody answers, whatever the stage.
_SILENT = (
    {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "nobody's"}},
    {"jsonrpc": "2.0", "method": "$/unknown"},
    {"jsonrpc": "2.0", "method": "unknown/notification", "params": [1]},
    {"jsonrpc": "2.0", "id": "nobody's", "result": None},
    {"jsonrpc": "2.0", "id": 4, "error": {"code": 1, "message": "x"}},
    {"jsonrpc": "2.0", "method": "textDocument/didSave", "params": 3},
)


class _Stage(enum.Enum):
    NEW = enum.auto()
    ASKED = enum.auto()
    READY = enum.auto()
    DOWN = enum.auto()


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Try `count` conversations; returns what was bad."""
    bad: list[str] = []
    for number in range(count):
        wire = Wire(folder)
        try:
            client = _Client(wire, random.Random(f"{seed}-{number}"))
            fault = client.talk()
        finally:
            wire.stop()
        if fault is not None:
            said = re.sub(rb"(.)\1{50,}", rb"\1...\1", b" | ".join(client.said))[-2500:]
            bad.append(f"life-cycle, seed {seed}, case {number}: {fault} after {said!a}")
    return bad


class _Client:
    """One conversation, and what it has to come to."""

    def __init__(self, wire: Wire, drawn: random.Random) -> None:
        self.said: list[bytes] = []
        self._wire = wire
        self._drawn = drawn
        self._stage = _Stage.NEW
        self._expected: collections.Counter[Answer] = collections.Counter()
        self._numbers = 0
        # Bytes that are no frame came last: what comes until the next frame is one error with them, or one each.
        self._lost = False
        self._more_errors = 0

    def talk(self) -> str | None:
        """Go through the conversation; returns what was wrong first."""
        for _ in range(BURSTS):
            burst = b"".join(self._piece() for _ in range(self._drawn.randint(1, 6)))
            # A frame, so that the end of what is no frame is known.
            burst += self._request("dpor/models", None)
            fault = self._exchange(burst)
            if fault is not None:
                return fault
        return self._end()

    def _piece(self) -> bytes:
        chance = self._drawn.random()
        if chance < 0.15:
            if self._lost:
                self._more_errors += 1
            else:
                self._expect(None, PARSE_ERROR)
            self._lost = True
            return self._drawn.choice(NO_FRAMES)
        if chance < 0.25:
            body, error = self._drawn.choice(NO_MESSAGES)
            self._expect(None, error)
            return self._framed(body)
        if chance < 0.4:
            return self._framed(json.dumps(self._drawn.choice(_SILENT)).encode())
        if chance < 0.6:
            return self._initialize()
        if chance < 0.75:
            return self._initialized()
        if chance < 0.78:
            return self._request("shutdown", None)
        method = self._drawn.choice(("dpor/models", "unknown/request", "textDocument/hover"))
        return self._request(method, None)

    def _initialize(self) -> bytes:
        wrong = self._drawn.random() < 0.2
        return self._request("initialize", {"capabilities": 3} if wrong else INITIALIZE, wrong)

    def _initialized(self) -> bytes:
        if self._stage is _Stage.ASKED:
            self._stage = _Stage.READY
        return self._framed(b'{"jsonrpc": "2.0", "method": "initialized", "params": {}}')

    def _request(self, method: str, params: Any, wrong: bool = False) -> bytes:
        self._numbers += 1
        number = self._drawn.choice(
            (self._numbers, f"n{self._numbers}", -self._numbers, 2**31 + self._numbers)
        )
        self._expect(number, self._answer(method, wrong))
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        return self._framed(json.dumps(message).encode())

    def _answer(self, method: str, wrong: bool) -> int | str:
        """What a request is answered with; takes the conversation to its next stage."""
        stage = self._stage
        if stage is _Stage.DOWN:
            return INVALID_REQUEST
        if method == "initialize":
            if stage is not _Stage.NEW:
                return INVALID_REQUEST
            if wrong:
                return INVALID_PARAMS
            self._stage = _Stage.ASKED
            return FINE
        if method == "shutdown" and stage is not _Stage.NEW:
            self._stage = _Stage.DOWN
            return FINE
        if stage is not _Stage.READY:
            return NOT_INITIALIZED
        answers = {"dpor/models": FINE, "unknown/request": METHOD_NOT_FOUND}
        return answers.get(method, INVALID_PARAMS)

    def _framed(self, body: bytes) -> bytes:
        self._lost = False
        return self._drawn.choice(_HEADERS) % len(body) + body

    def _expect(self, number: int | str | None, answer: int | str) -> None:
        self._expected[json.dumps(number), answer] += 1

    def _exchange(self, burst: bytes) -> str | None:
        self.said.append(burst)
        cuts = sorted(self._drawn.randrange(len(burst)) for _ in range(self._drawn.choice((0, 0, 1, 3))))
        try:
            for start, end in zip([0, *cuts], [*cuts, len(burst)], strict=True):
                self._wire.write(burst[start:end])
            while self._expected.total():
                found = self._wire.read(PATIENCE)
                answer = json.dumps(found["id"]), found["error"]["code"] if "error" in found else FINE
                if self._expected[answer]:
                    self._expected[answer] -= 1
                elif answer == (NO_NUMBER, PARSE_ERROR) and self._more_errors:
                    self._more_errors -= 1
                else:
                    return f"{answer} is none of {dict(+self._expected)}"
        except (AssertionError, OSError) as error:
            return f"{error or type(error).__name__}, where {dict(+self._expected)} is expected"
        # They are sent before the answer to the request that ends the burst.
        self._more_errors = 0
        return None

    def _end(self) -> str | None:
        """Ask the server to end, or hang up."""
        asked = self._drawn.random() < 0.7
        process = self._wire.process
        if process.poll() is not None:
            return f"the server has ended with {process.returncode}"
        if asked:
            self._wire.write(self._framed(b'{"jsonrpc": "2.0", "method": "exit"}'))
        else:
            # In the middle of a frame, or between two.
            self._wire.write(self._drawn.choice((b"", b"Content-Length: 9", b"Content-Length: 9\r\n\r\n{")))
            self._wire.hang_up()
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return f"the server goes on after {'exit' if asked else 'the end of its input'}"
        orderly = self._stage is _Stage.DOWN
        if asked and code != (0 if orderly else 1):
            return f"exit code {code} {'after' if orderly else 'without'} shutdown"
        return None
