"""Starts the language server on standard input and output or on a port, and ends it with its client."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from dpor.codes import Code
from dpor.errors import DporError, reason_of_system

if TYPE_CHECKING:
    from dpor_lsp.checking.scheduler import Event
    from dpor_lsp.language_server.running import Runner
    from dpor_lsp.language_server.server import DporServer
    from dpor_lsp.language_server.wire.framing import MessageReader

LAST_MOMENT = 1.5
"""Seconds after which the process ends even if something does not let go."""


def serve_stdio() -> int:
    """Serve the client on standard input and output until it ends; returns the exit code."""
    # What is printed by mistake, here or in a child, must not get between the messages.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    runner_of = _prepared()

    async def talk(server: DporServer) -> None:
        from dpor_lsp.language_server.client_watch import watch_reader
        from dpor_lsp.language_server.wire.framing import FileSource, MessageReader

        def write(data: bytes) -> None:
            output.write(data)
            output.flush()

        server.protocol.set_writer(_Writer(write, output.close, server.end))
        watch_reader(output.fileno(), server.end)
        await _receive(server, MessageReader(FileSource(sys.stdin.buffer, ThreadPoolExecutor(1))))

    return _run(runner_of, talk)


def serve_tcp(address: str) -> int:
    """Serve the first client that connects to `HOST:PORT` with the token; returns the exit code.

    Standard error says which port it is, as port 0 stands for any that is free, and the token unless the environment
    gives it. Raises DporError (DPOR105) for an address that is none, that is not this machine's, or that cannot be
    used.
    """
    from dpor_lsp.language_server.wire.admission import Admitted, Token, admit, parse_address

    host, port = parse_address(address)
    token = Token.of(os.environ)
    runner_of = _prepared()

    async def talk(server: DporServer) -> None:
        connected: asyncio.Future[Admitted] = asyncio.get_running_loop().create_future()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            admitted = await admit(token, reader, writer)
            if admitted is None:
                return
            if connected.done():
                writer.close()
            else:
                connected.set_result(admitted)

        try:
            listener = await asyncio.start_server(accept, host, port)
        except OSError as error:
            raise DporError(
                Code.BAD_OPTION,
                f"--tcp cannot listen on {address}: {reason_of_system(error)}",
                "choose another port, or 0 for any that is free",
            ) from error
        used = listener.sockets[0].getsockname()
        told = f", initializationOptions.token: {token.text}" if token.drawn else ""
        print(f"dpor-lsp: listening on {used[0]}:{used[1]}{told}", file=sys.stderr, flush=True)
        admitted = await connected
        listener.close()
        server.protocol.set_writer(_Writer(admitted.writer.write, admitted.writer.close, server.end))
        server.incoming.receive(admitted.first)
        await _receive(server, admitted.messages)

    return _run(runner_of, talk)


async def _receive(server: DporServer, messages: MessageReader) -> None:
    """Give the server what comes in, until nothing does."""
    from lsprotocol.types import ErrorCodes

    from dpor_lsp.language_server.wire.framing import FramingError

    while True:
        try:
            body = await messages.body()
        except FramingError as error:
            server.incoming.refuse(None, ErrorCodes.ParseError, str(error))
            continue
        if body is None:
            return
        server.incoming.receive(body)


class _Writer:
    """What pygls writes to, until the client has said `exit`. One that no longer reads has gone: the server ends."""

    def __init__(
        self, write: Callable[[bytes], None], close: Callable[[], None], lost: Callable[[int], None]
    ) -> None:
        self._write = write
        self._close = close
        self._lost = lost
        self._closed = False

    def write(self, data: bytes) -> None:
        if self._closed:
            return
        try:
            self._write(data)
        except (OSError, ValueError):
            self._lost(1)

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._close()


def _prepared() -> Callable[[Callable[[Event], None]], Runner]:
    """Have workers starting while this process still loads its own modules; returns what takes them over."""
    from dpor_lsp.language_server.running import Runner

    deliver: list[Callable[[Event], None]] = []
    runner = Runner(lambda event: deliver[0](event), ready=True)

    def take_over(to: Callable[[Event], None]) -> Runner:
        deliver.append(to)
        return runner

    return take_over


def _run(runner_of: Callable[[Callable[[Event], None]], Runner], talk: Callable[[DporServer], Any]) -> int:
    from dpor_lsp.language_server.server import make_server

    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = make_server(runner_of)
    failure: list[DporError] = []

    async def main() -> None:
        server.ended = asyncio.Event()
        server.loop = asyncio.get_running_loop()
        talking = asyncio.ensure_future(talk(server))
        ending = asyncio.ensure_future(server.ended.wait())
        await asyncio.wait({talking, ending}, return_when=asyncio.FIRST_COMPLETED)
        if talking.done() and isinstance(error := talking.exception(), DporError):
            failure.append(error)
        for task in (talking, ending):
            task.cancel()
        await asyncio.wait({talking, ending}, timeout=0.1)

    loop = asyncio.new_event_loop()
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        loop.run_until_complete(main())
    # Not in `main`, which pygls leaves by SystemExit when the client says `exit`.
    with contextlib.suppress(KeyboardInterrupt, SystemExit):
        loop.run_until_complete(server.session.checks.kept(LAST_MOMENT))
    _end_soon(server.exit_code)
    server.session.close()
    if failure:
        raise failure[0]
    return _end(server.exit_code)


def _end_soon(code: int | None) -> None:
    timer = threading.Timer(LAST_MOMENT, lambda: os._exit(_status(code)))
    timer.daemon = True
    timer.start()


def _status(code: int | None) -> int:
    """The exit status: 0 only after `shutdown`, as the protocol wants it."""
    return 1 if code is None else code


def _end(code: int | None) -> int:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    # A thread may still wait for standard input, which nobody will ever close.
    os._exit(_status(code))
