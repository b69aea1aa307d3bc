"""The debug adapter's process: requests in on standard input, answers and events out on standard output."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from dpor.codes import Code
from dpor.counterexample.trace_document import TraceDocument
from dpor.errors import DporError
from dpor_lsp.checking.process import Cancellation
from dpor_lsp.cli.report import ExitCode
from dpor_lsp.debug_adapter.framing import ClientGoneError, ProtocolError, Reader, Writer
from dpor_lsp.debug_adapter.handlers import serve_request
from dpor_lsp.debug_adapter.launching import Launch, load
from dpor_lsp.debug_adapter.session import Session

_Event = dict[str, Any] | Callable[[], None] | ProtocolError | None
_LAST_REQUESTS = 0.3
"""Seconds without a request after which the adapter ends once its client has disconnected."""
_LOADING_TIME = 5.0
"""Seconds that a worker which is being ended may take before the adapter ends without it."""


def serve() -> ExitCode:
    """Serve one client on the standard streams until it disconnects or goes away."""
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Nothing but the protocol may reach the client's stream.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # A thread waits in the read until the end: in a buffered stream it would hold a lock that Python asks for then.
    source = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0, closefd=False)
    return Adapter(source, output).run()


class Adapter:
    """One client's connection: a thread reads, one loads a trace, and all else happens in the thread that runs this."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source = source
        self._writer = Writer(sink)
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._cancellation = Cancellation()
        self._loader: threading.Thread | None = None
        self._progress: str | None = None
        self._progresses = 0
        self._session = Session(self._send_event, self._begin, self._cancel)

    def run(self) -> ExitCode:
        """Serve requests until the session has ended or the client is gone."""
        threading.Thread(target=self._read, daemon=True).start()
        status = ExitCode.EXPECTED
        try:
            while (event := self._next()) is not None:
                if isinstance(event, ProtocolError):
                    # It has no number to answer to.
                    print(f"dpor-lsp: debug adapter: {event}", file=sys.stderr, flush=True)
                    status = ExitCode.ERROR
                elif callable(event):
                    event()
                else:
                    self._take(event)
            self._finish_loading()
            return ExitCode.EXPECTED if self._session.ended else status
        except ClientGoneError:
            # There is nobody left to serve.
            return ExitCode.EXPECTED
        finally:
            self._cancellation.cancel()
            if self._loader is not None:
                self._loader.join(_LOADING_TIME)

    def _finish_loading(self) -> None:
        """Answer the request whose trace is still being loaded, which is given up."""
        self._cancellation.cancel()
        if self._loader is None:
            return
        self._loader.join(_LOADING_TIME)
        while not self._events.empty():
            event = self._events.get()
            if callable(event):
                event()

    def _next(self) -> _Event:
        """What is to be done next; None at the end."""
        if not self._session.ended:
            return self._events.get()
        # What the client has sent after `disconnect` is answered too.
        try:
            return self._events.get(timeout=_LAST_REQUESTS)
        except queue.Empty:
            return None

    def _read(self) -> None:
        reader = Reader(self._source)
        while True:
            event: _Event
            try:
                event = reader.message()
            except ProtocolError as error:
                event = error
            except (OSError, ValueError):
                event = None
            self._events.put(event)
            if event is None:
                return

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("type") in ("response", "event"):
            return
        command, arguments = message.get("command"), message.get("arguments")

        answered = False

        def reply(answer: dict[str, Any] | DporError | None) -> None:
            nonlocal answered
            if not answered:
                answered = True
                self._reply(message, answer)
            elif isinstance(answer, DporError):
                # What goes wrong after the answer has no other place.
                print(f"dpor-lsp: debug adapter: {answer}", file=sys.stderr, flush=True)

        if message.get("type") != "request" or not isinstance(command, str):
            reply(DporError(Code.BAD_OPTION, 'a request has the type "request" and a command'))
            return
        try:
            serve_request(self._session, command, arguments, reply)
        except ClientGoneError:
            raise
        except Exception as error:
            reply(_internal(error))

    def _reply(self, request: dict[str, Any], answer: dict[str, Any] | DporError | None) -> None:
        fields: dict[str, Any] = {
            "type": "response",
            "request_seq": number if type(number := request.get("seq")) is int else 0,
            "command": command if isinstance(command := request.get("command"), str) else "",
            "success": not isinstance(answer, DporError),
        }
        if isinstance(answer, DporError):
            text = str(answer)
            fields["message"] = text
            fields["body"] = {
                "error": {"id": int(answer.code.value.removeprefix("DPOR")), "format": text, "showUser": True}
            }
        elif answer is not None:
            fields["body"] = answer
        self._writer.send(**fields)

    def _send_event(self, name: str, body: dict[str, Any]) -> None:
        self._writer.send(type="event", event=name, body=body)

    # Loading a trace, in a thread of its own so that requests are answered meanwhile

    def _begin(self, launch: Launch, finish: Callable[[TraceDocument | DporError], None]) -> None:
        self._cancellation = Cancellation()
        cancellation = self._cancellation

        def run() -> None:
            loaded: TraceDocument | DporError
            try:
                loaded = load(launch, cancellation, lambda text: self._tell(text))
            except DporError as error:
                loaded = error
            except Exception as error:
                loaded = _internal(error)
            self._events.put(lambda: self._finish(finish, loaded))

        if self._session.reports_progress:
            self._progresses += 1
            self._progress = f"load-{self._progresses}"
            self._send_event(
                "progressStart",
                {"progressId": self._progress, "title": f"Replay {launch.target}", "cancellable": True},
            )
        self._loader = threading.Thread(target=run)
        self._loader.start()

    def _tell(self, text: str) -> None:
        def send() -> None:
            if self._progress is not None:
                self._send_event("progressUpdate", {"progressId": self._progress, "message": text})

        self._events.put(send)

    def _finish(
        self, finish: Callable[[TraceDocument | DporError], None], loaded: TraceDocument | DporError
    ) -> None:
        if self._progress is not None:
            self._send_event("progressEnd", {"progressId": self._progress})
            self._progress = None
        try:
            finish(loaded)
        except ClientGoneError:
            raise
        except Exception as error:
            finish(_internal(error))

    def _cancel(self) -> None:
        self._cancellation.cancel()


def _internal(error: Exception) -> DporError:
    return DporError(
        Code.INTERNAL_ERROR,
        f"{type(error).__name__}: {error}",
        "this is a bug in dpor-lsp: please report it",
    )
