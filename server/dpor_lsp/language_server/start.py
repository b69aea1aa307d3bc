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
from dpor.errors import DporError

if TYPE_CHECKING:
    from dpor_lsp.language_server.running import Runner
    from dpor_lsp.language_server.server import DporServer
    from dpor_lsp.scheduler import Event

LAST_MOMENT = 1.5
"""Seconds after which the process ends even if something does not let go."""


def serve_stdio() -> int:
    """Serve the client on standard input and output until it ends; returns the exit code."""
    # What is printed by mistake, here or in a child, must not get between the messages.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    runner_of = _prepared()

    async def talk(server: DporServer) -> None:
        from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async

        server.protocol.set_writer(StdoutWriter(output))
        reader = StdinAsyncReader(sys.stdin.buffer, ThreadPoolExecutor(1))
        await run_async(threading.Event(), reader, server.protocol, error_handler=server.report_server_error)

    return _run(runner_of, talk)


def serve_tcp(address: str) -> int:
    """Serve the first client that connects to `HOST:PORT`; returns the exit code.

    Standard error says which port it is, as port 0 stands for any that is free. Raises DporError (DPOR105) for an
    address that is none or cannot be used.
    """
    host, port = parse_address(address)
    runner_of = _prepared()

    async def talk(server: DporServer) -> None:
        from pygls.io_ import run_async

        connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.get_running_loop().create_future()
        )

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if connected.done():
                writer.close()
            else:
                connected.set_result((reader, writer))

        try:
            listener = await asyncio.start_server(accept, host, port)
        except OSError as error:
            raise DporError(
                Code.BAD_OPTION,
                f"--tcp cannot listen on {address}: {error.strerror or error}",
                "choose another port, or 0 for any that is free",
            ) from error
        used = listener.sockets[0].getsockname()
        print(f"dpor-lsp: listening on {used[0]}:{used[1]}", file=sys.stderr, flush=True)
        reader, writer = await connected
        listener.close()
        server.protocol.set_writer(_StreamWriter(writer))
        await run_async(threading.Event(), reader, server.protocol, error_handler=server.report_server_error)

    return _run(runner_of, talk)


def parse_address(address: str) -> tuple[str, int]:
    """Split `HOST:PORT`. Raises DporError (DPOR105) for anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise DporError(Code.BAD_OPTION, f"--tcp does not accept {address!r}", "write --tcp 127.0.0.1:2087")
    return host.strip("[]") or "127.0.0.1", int(port)


class _StreamWriter:
    """A connection as pygls writes to it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    def close(self) -> None:
        self._writer.close()


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
