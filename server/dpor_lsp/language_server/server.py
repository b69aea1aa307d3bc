"""The server object: pygls, with what it leaves open closed, and the session that the handlers use."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from pygls.lsp.server import LanguageServer

from dpor_lsp import version
from dpor_lsp.checking.scheduler import Event
from dpor_lsp.language_server.client import Client
from dpor_lsp.language_server.running import Runner
from dpor_lsp.language_server.session import Session
from dpor_lsp.language_server.wire.converting import strict_converter
from dpor_lsp.language_server.wire.protocol import Protocol


class DporServer(LanguageServer):
    """The language server; `runner_of` makes what runs the checks."""

    def __init__(self, runner_of: Callable[[Callable[[Event], None]], Runner]) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "dpor-lsp",
            version(),
            protocol_cls=Protocol,
            converter_factory=strict_converter,
            max_workers=2,
        )
        self.client = Client(self)
        self.session = Session(self.client, runner_of)
        self.exit_code: int | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.ended: asyncio.Event | None = None

    @property
    def incoming(self) -> Protocol:
        """The protocol, as what receives messages."""
        assert isinstance(self.protocol, Protocol)
        return self.protocol

    def end(self, code: int | None = None) -> None:
        """End the process soon; may be called from any thread."""
        if code is not None:
            self.exit_code = code
        if self.loop is not None and self.ended is not None:
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self.ended.set)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write an error that no request asked for into the log, as long as there is a client to tell."""
        if self.exit_code is None and not isinstance(error, BrokenPipeError):
            self.client.log(f"dpor-lsp: {type(error).__name__}: {error}")


def make_server(runner_of: Callable[[Callable[[Event], None]], Runner]) -> DporServer:
    """Return a server with every handler in its place."""
    from dpor_lsp.language_server import (
        code_actions,
        code_lenses,
        commands,
        completion,
        hovers,
        inline,
        lifecycle,
        requests,
        symbols,
        synchronization,
    )

    server = DporServer(runner_of)
    for module in (
        lifecycle,
        synchronization,
        code_actions,
        code_lenses,
        hovers,
        symbols,
        completion,
        inline,
        commands,
        requests,
    ):
        module.register(server)
    return server
