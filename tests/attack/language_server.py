"""Requests and notifications of the protocol, well-typed and ill-typed, to one server.

Bad is
- a request without an answer within PATIENCE seconds, or with an internal error (-32603),
- an error that the server logs as one of its own, a message that is none of the protocol,
- the end of the server,
- an innocent document whose verdict is not right afterwards.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "server" / "test_language_server"))

from lsp_editor import Editor, RequestError
from lsp_models import COUNTER
from lsprotocol import types

from attack.drawn_values import Values

PATIENCE = 20.0
INTERNAL_ERROR = -32603
# How many messages come between two looks at the innocent document.
BETWEEN = 25
# They end the conversation, or begin it.
_LIFE = frozenset({"initialize", "initialized", "shutdown", "exit"})
_COMMANDS = (
    "checkModel",
    "checkFile",
    "checkWorkspace",
    "checkWith",
    "cancel",
    "showSchedule",
    "pinTest",
    "ignore",
    "replay",
    "replayStep",
    "trust",
    "unknown",
)
_OWN_REQUESTS = ("dpor/models", "dpor/trace", "dpor/traceView", "dpor/unknown")


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Send `count` messages; returns what was bad."""
    path = folder / "counter.py"
    path.write_text(COUNTER)
    editor = Editor(folder)
    try:
        editor.initialize()
        return _Session(editor, path, random.Random(seed)).run(count)
    finally:
        editor.stop()


class _Session:
    """One server that is sent messages."""

    def __init__(self, editor: Editor, path: Path, drawn: random.Random) -> None:
        self._editor = editor
        self._path = path
        self._drawn = drawn
        self._values = Values(drawn, vars(types), (path.as_uri(), path.parent.as_uri()))
        self._methods = sorted(
            method
            for method, (message, *_) in types.METHOD_TO_TYPES.items()
            if method not in _LIFE and types.message_direction(method) != "serverToClient" and message
        )

    def run(self, count: int) -> list[str]:
        """Send so many messages."""
        bad: list[str] = []
        for number in range(count):
            what, params = self._message()
            fault = self._send(what, params)
            if (fault is None and number % BETWEEN == BETWEEN - 1) or number == count - 1:
                fault = fault or self._is_ill()
            if fault is not None:
                bad.append(f"language-server {number}: {fault} after {what} {str(params)[:500]!a}")
            if self._editor.ended:
                bad.append(f"language-server {number}: the server has ended")
                break
        return bad

    def _message(self) -> tuple[str, Any]:
        if self._drawn.random() < 0.2:
            arguments = [self._path.as_uri(), "two_adders", self._drawn.choice((0, 1, {}, None, "x"))]
            method = "workspace/executeCommand"
            name = f"dpor.server.{self._drawn.choice(_COMMANDS)}"
            params: Any = {"command": name, "arguments": arguments[: self._drawn.randrange(4)]}
        elif self._drawn.random() < 0.1:
            method = self._drawn.choice(_OWN_REQUESTS)
            params = {"uri": self._path.as_uri(), "model": "two_adders"}
        else:
            method = self._drawn.choice(self._methods)
            kind = _params_of(method)
            params = None if kind is None else self._values.of(kind)
        if self._drawn.random() < 0.3:
            params = self._values.spoilt(params)
        return method, params

    def _send(self, method: str, params: Any) -> str | None:
        if method in _NOTIFICATIONS:
            self._editor.notify(method, params)
            return None
        try:
            self._editor.request(method, params, PATIENCE)
        except RequestError as error:
            return f"an internal error ({error})" if error.code == INTERNAL_ERROR else None
        except (AssertionError, KeyError):
            return f"no answer within {PATIENCE:.0f} s"
        return None

    def _is_ill(self) -> str | None:
        """What is wrong with the innocent document, which is opened, checked and closed."""
        logged = [
            params["message"]
            for method, params in self._editor.received
            if method == "window/logMessage"
            and (
                "DPOR501" in params["message"]
                or "DPOR113" in params["message"]
                or "Traceback" in params["message"]
            )
        ]
        self._editor.received.clear()
        if logged:
            return f"an error of its own in the log: {logged[0][:800]!a}"
        try:
            # A command may have said that the folder is not trusted.
            self._editor.command("trust", True)
            uri = self._editor.open(self._path, COUNTER)
            self._editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}}, PATIENCE)
            self._editor.command("checkFile", uri)
            self._editor.state(uri, "two_adders", "violated")
            self._editor.states.clear()
            self._editor.close(uri)
        except (AssertionError, RequestError, KeyError) as error:
            return f"the innocent document is not served ({error!r})"[:1500]
        return None


_NOTIFICATIONS = frozenset(
    method for method, (_, response, *_) in types.METHOD_TO_TYPES.items() if response is None
)


def _params_of(method: str) -> Any:
    return types.METHOD_TO_TYPES[method][2]
