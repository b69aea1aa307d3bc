"""A server on a port of this machine, which everybody here can reach, and a browser for any web page."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor, RequestError
from lsp_models import COUNTER

Write = Callable[..., Path]
PATIENCE = 60


class Listening:
    """A server that listens, and the editor that connects to it."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dpor_lsp", "--tcp", "127.0.0.1:0"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline()
        match = re.match(
            r"dpor-lsp: listening on 127\.0\.0\.1:(\d+)(?:, initializationOptions\.token: (\S+))?\n",
            self.line,
        )
        assert match is not None, self.line
        self.port, self.token = int(match[1]), match[2]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def editor(self, connection: socket.socket) -> Editor:
        editor = Editor.__new__(Editor)
        editor.folder = self.folder
        editor._connect(connection.makefile("rb"), connection.makefile("wb"))
        return editor

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def listening(project: Path) -> Iterator[Listening]:
    found = Listening(project)
    yield found
    found.stop()


def framed(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def check_of(path: Path) -> list[dict[str, Any]]:
    """What makes a server check a file."""
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text()}
    return [
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "workspace/executeCommand",
            "params": {"command": "dpor.server.checkModel", "arguments": [path.as_uri(), "two_adders"]},
        },
    ]


def initialize(folder: Path, **options: Any) -> dict[str, Any]:
    params = {
        "processId": None,
        "rootUri": folder.as_uri(),
        "capabilities": {},
        "initializationOptions": options,
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def test_a_client_with_the_token_is_served(listening: Listening, write: Write) -> None:
    with listening.connect() as connection:
        editor = listening.editor(connection)
        editor.initialize(token=listening.token)
        uri = editor.open(write("counter.py", COUNTER))
        editor.state(uri, "two_adders", "violated")
        editor.request("shutdown", None)
        editor.notify("exit", None)
        assert listening.process.wait(PATIENCE) == 0


def test_the_token_of_the_environment_is_not_shown(project: Path) -> None:
    listening = Listening(project, {"DPOR_LSP_TOKEN": "open sesame"})
    try:
        assert listening.token is None
        assert "sesame" not in listening.line
        with listening.connect() as connection:
            listening.editor(connection).initialize(token="open sesame")
    finally:
        listening.stop()


def test_a_client_without_the_token_is_refused_and_the_next_one_served(listening: Listening) -> None:
    for options in ({}, {"token": "x"}, {"token": 3}, {"token": "\ud800"}):
        with listening.connect() as connection, pytest.raises(RequestError, match="token"):
            listening.editor(connection).initialize(**options)
    with listening.connect() as connection:
        listening.editor(connection).initialize(token=listening.token)


def test_a_post_of_a_web_page_runs_nothing_and_is_cut_off(
    listening: Listening, project: Path, write: Write
) -> None:
    made = project / "made"
    path = write("counter.py", f"open({str(made)!r}, 'w').close()\n" + COUNTER)
    messages = [
        initialize(project),
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        *check_of(path),
    ]
    body = b"".join(framed(message) for message in messages)
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    with listening.connect() as connection:
        connection.sendall(head + body)
        assert received(connection) == b""
    with listening.connect() as connection:
        connection.sendall(body)
        answer = received(connection)
    assert b"token" in answer
    assert b"result" not in answer
    # Whoever is served comes after all that the others have sent.
    with listening.connect() as connection:
        listening.editor(connection).initialize(token=listening.token)
    assert not made.exists()


def received(connection: socket.socket) -> bytes:
    """All that comes until the other side closes or cuts the connection."""
    data = b""
    try:
        while piece := connection.recv(4096):
            data += piece
    except ConnectionResetError:
        pass
    return data
