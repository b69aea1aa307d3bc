"""Who may talk to a server on a port: whoever begins with `initialize` and the server's token.

Every program of this machine can reach the port, and so can a web page that a browser shows: it may send any text,
without being able to read the answer. Such a text is no LSP, and does not have the token.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from lsprotocol.types import INITIALIZE, ErrorCodes

from dpor.codes import Code
from dpor.errors import DporError
from dpor_lsp.language_server.wire.framing import FramingError, MessageReader, StreamSource

TOKEN_VARIABLE = "DPOR_LSP_TOKEN"
"""The environment variable with the token that clients have to send."""
PATIENCE = 10.0
"""Seconds within which a connection has to send its first message."""


@dataclass(frozen=True)
class Admitted:
    """A connection that may talk: its reader, its writer, and the body of its `initialize`."""

    messages: MessageReader
    writer: asyncio.StreamWriter
    first: bytes


@dataclass(frozen=True)
class Token:
    """What a client has to send; `drawn` says that nobody has given it, so that it has to be told."""

    text: str
    drawn: bool

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Token:
        """Return the token that the environment gives, or else a new one."""
        given = environment.get(TOKEN_VARIABLE, "")
        return cls(given, drawn=False) if given else cls(secrets.token_urlsafe(16), drawn=True)


def parse_address(address: str) -> tuple[str, int]:
    """Split `HOST:PORT`. Raises DporError (DPOR105) for anything else, and for a host that is not this machine."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        raise DporError(Code.BAD_OPTION, f"--tcp does not accept {address!r}", "write --tcp 127.0.0.1:2087")
    host = host.strip("[]") or "127.0.0.1"
    if not _is_loopback(host):
        raise DporError(
            Code.BAD_OPTION,
            f"--tcp does not listen on {host}: who reaches the port could run code here",
            "write --tcp 127.0.0.1:2087, and let ssh forward the port to another machine",
        )
    return host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def admit(token: Token, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Admitted | None:
    """Read a connection's first message; None if it may not talk, in which case the connection is closed."""
    messages = MessageReader(StreamSource(reader))
    refusal: bytes | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            body = await messages.body()
        if body is not None:
            refusal = _refusal(body, token)
            if refusal is None:
                return Admitted(messages, writer, body)
    except (FramingError, TimeoutError, OSError):
        pass
    with contextlib.suppress(OSError):
        if refusal is not None:
            writer.write(refusal)
        writer.close()
    return None


def _refusal(body: bytes, token: Token) -> bytes | None:
    """The answer to a first message that does not let its sender in; empty if it is no request."""
    try:
        data: object = json.loads(body)
    except (ValueError, RecursionError):
        return b""
    message = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if message.get("method") != INITIALIZE or not isinstance(message.get("id"), int | str):
        return b""
    found = message.get("params")
    for name in ("initializationOptions", "token"):
        found = cast("dict[str, Any]", found).get(name) if isinstance(found, dict) else None
    if isinstance(found, str) and secrets.compare_digest(found.encode(errors="replace"), token.text.encode()):
        return None
    error = {
        "code": int(ErrorCodes.InvalidRequest),
        "message": "initializationOptions.token is not the token that the server has shown on standard error",
    }
    answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(answer) + answer
