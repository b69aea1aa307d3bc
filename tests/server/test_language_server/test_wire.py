"""What comes in on the wire: whatever it is, each request is answered, and what follows is taken as ever."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_wire import (
    INITIALIZE,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NO_FRAMES,
    NO_MESSAGES,
    NOT_INITIALIZED,
    PARSE_ERROR,
    PATIENCE,
    Wire,
    code,
)


@pytest.fixture
def wire(project: Path) -> Iterator[Wire]:
    """A server that nobody has talked to yet."""
    found = Wire(project)
    yield found
    found.stop()


def is_well(wire: Wire) -> bool:
    """Whether the server answers a request as if nothing had happened."""
    answer = wire.ask("dpor/models")
    return answer["id"] == "dpor/models" and answer["result"] == {"models": []}


BODY = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "dpor/nothing", "params": None}).encode()
LENGTH = b"%d" % len(BODY)


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: " + LENGTH + b"\r\n\r\n",
        b"Content-Length:" + LENGTH + b"\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH: " + LENGTH + b"\r\n\r\n",
    ],
)
def test_a_header_is_read_in_every_way_that_clients_write_it(wire: Wire, header: bytes) -> None:
    wire.initialize()
    wire.write(header + BODY)
    assert (code(answer := wire.read()), answer["id"]) == (METHOD_NOT_FOUND, 1)
    assert is_well(wire)


@pytest.mark.parametrize("junk", NO_FRAMES)
def test_what_is_no_frame_costs_one_error_and_no_message_after_it(wire: Wire, junk: bytes) -> None:
    wire.initialize()
    wire.write(junk)
    wire.send({"jsonrpc": "2.0", "id": 7, "method": "dpor/models", "params": None})
    assert (code(answer := wire.read()), answer["id"]) == (PARSE_ERROR, None)
    assert wire.read() == {"jsonrpc": "2.0", "id": 7, "result": {"models": []}}
    assert is_well(wire)


@pytest.mark.parametrize(
    ("body", "expected", "number"),
    [
        *((body, expected, None) for body, expected in NO_MESSAGES),
        (b'{"id": 1, "method": "dpor/models"}', INVALID_REQUEST, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": []}', INVALID_REQUEST, 1),
    ],
)
def test_a_body_that_is_no_message_is_refused(
    wire: Wire, body: bytes, expected: int, number: int | None
) -> None:
    wire.initialize()
    wire.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert (code(answer := wire.read()), answer["id"]) == (expected, number)
    assert is_well(wire)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/hover", None),
        ("textDocument/hover", []),
        ("textDocument/hover", {"textDocument": 3, "position": {}}),
        ("textDocument/codeLens", {"textDocument": {"uri": None}}),
        ("textDocument/codeAction", "x"),
        ("workspace/executeCommand", {"command": {}}),
        ("textDocument/didOpen", {}),
    ],
)
def test_a_request_with_wrong_parameters_is_answered(wire: Wire, method: str, params: Any) -> None:
    wire.initialize()
    answer = wire.ask(method, params)
    assert (code(answer), answer["id"]) == (INVALID_PARAMS, method)
    assert method in answer["error"]["message"]
    assert is_well(wire)


def test_a_notification_with_twenty_thousand_wrong_items_holds_nobody_up(wire: Wire) -> None:
    wire.initialize()
    assert is_well(wire)
    changes = [{"uri": 3, "type": "x"}] * 20_000
    started = time.monotonic()
    wire.send({"jsonrpc": "2.0", "method": "workspace/didChangeWatchedFiles", "params": {"changes": changes}})
    assert is_well(wire)
    # It took ten seconds and more.
    assert time.monotonic() - started < 5


def test_nothing_is_answered_before_initialize(wire: Wire) -> None:
    assert code(wire.ask("dpor/models")) == NOT_INITIALIZED
    assert code(wire.ask("shutdown")) == NOT_INITIALIZED
    assert "result" in wire.ask("initialize", INITIALIZE)


def test_nothing_runs_before_initialized(wire: Wire) -> None:
    wire.ask("initialize", INITIALIZE)
    assert code(wire.ask("dpor/models")) == NOT_INITIALIZED
    wire.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    assert is_well(wire)


def test_a_second_initialize_is_refused(wire: Wire) -> None:
    wire.initialize()
    assert code(wire.ask("initialize", INITIALIZE)) == INVALID_REQUEST
    assert is_well(wire)


def test_an_initialize_with_wrong_parameters_can_be_sent_again(wire: Wire) -> None:
    assert code(wire.ask("initialize", {"capabilities": 3})) == INVALID_PARAMS
    wire.initialize()
    assert is_well(wire)


def test_a_request_after_shutdown_is_refused(wire: Wire) -> None:
    wire.initialize()
    assert wire.ask("shutdown")["result"] is None
    assert code(wire.ask("dpor/models")) == INVALID_REQUEST
    wire.send({"jsonrpc": "2.0", "method": "exit"})
    assert wire.process.wait(PATIENCE) == 0


def test_a_client_that_no_longer_reads_ends_the_server(wire: Wire) -> None:
    wire.initialize()
    wire.close_output()
    wire.send({"jsonrpc": "2.0", "id": 1, "method": "dpor/models", "params": None})
    assert wire.process.wait(PATIENCE) == 1


@pytest.mark.parametrize(
    "last", [b"", b"Content-Length: 9", b"Content-Length: 9\r\n", b"Content-Length: 9\r\n\r\n{", b"x"]
)
def test_the_end_of_input_ends_the_server_wherever_it_comes(wire: Wire, last: bytes) -> None:
    wire.initialize()
    assert is_well(wire)
    wire.write(last)
    wire.hang_up()
    assert wire.process.wait(PATIENCE) == 1
