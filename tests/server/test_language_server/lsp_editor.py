"""An editor that speaks LSP over a real connection, and says what the server has told it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from lsprotocol import converters, types

PATIENCE = 30.0
_CONVERTER = converters.get_converter()

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "inlineValue": {"refreshSupport": True},
        "diagnostics": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True}},
}


class RequestError(Exception):
    """The server refused a request."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Editor:
    """A client of a server process; everything it receives is kept, and checked against the protocol."""

    def __init__(self, folder: Path, words: Sequence[str] = (), command: Sequence[str] | None = None) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            list(command or [sys.executable, "-m", "dpor_lsp", *words]),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._connect(self.process.stdout, self.process.stdin)

    def _connect(self, reader: IO[bytes], writer: IO[bytes]) -> None:
        self._writer = writer
        self._numbers = iter(range(1, 1 << 30))
        self._changed = threading.Condition()
        self._answers: dict[Any, dict[str, Any]] = {}
        self._methods: dict[Any, str] = {}
        self.received: list[tuple[str, Any]] = []
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.published: list[dict[str, Any]] = []
        self.states: dict[str, dict[str, dict[str, Any]]] = {}
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.shown: list[dict[str, Any]] = []
        self.configuration: Any = None
        self.ended = False
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(reader,), daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()

    # The wire

    def _send(self, message: dict[str, Any]) -> None:
        self._outgoing.put(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def _write(self) -> None:
        """Send what is to be sent, in a thread of its own: whoever reads must never wait for whoever writes."""
        with contextlib.suppress(OSError, ValueError):
            while True:
                body = self._outgoing.get()
                self._writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self._writer.flush()

    def _read(self, reader: IO[bytes]) -> None:
        while True:
            length = 0
            while (line := reader.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not line:
                break
            message = json.loads(reader.read(length))
            with self._changed:
                self._take(message)
                self._changed.notify_all()
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answers[message["id"]] = message
            return
        method, params = message["method"], message.get("params")
        self.received.append((method, params))
        if method == "textDocument/publishDiagnostics":
            _CONVERTER.structure(params, types.PublishDiagnosticsParams)
            self.diagnostics[params["uri"]] = params["diagnostics"]
            self.published.append(params)
        elif method == "dpor/status":
            self.states[params["uri"]] = {item["name"]: item for item in params["models"]}
        if "id" in message:
            self._send({"id": message["id"], "result": self._answer(method, params)})

    def _answer(self, method: str, params: Any) -> Any:
        if method == "workspace/configuration":
            return [self.configuration]
        if method == "window/showDocument":
            self.shown.append(params)
            return {"success": True}
        if method == "workspace/applyEdit":
            return {"applied": self._apply(params["edit"])}
        return None

    def _apply(self, edit: dict[str, Any]) -> bool:
        changes = dict(edit.get("changes") or {})
        for item in edit.get("documentChanges") or []:
            if "kind" not in item:
                changes[item["textDocument"]["uri"]] = item["edits"]
        for uri, edits in changes.items():
            text = self.texts.get(uri)
            if text is None:
                path = Path(uri.removeprefix("file://"))
                text = path.read_bytes().decode() if path.exists() else ""
            for one in sorted(edits, key=lambda item: item["range"]["start"]["line"], reverse=True):
                text = spliced(text, one["range"], one["newText"])
            if uri in self.texts:
                # The reader must not wait for itself: the change goes out like the user's own.
                self._change_whole(uri, text)
            else:
                Path(uri.removeprefix("file://")).write_bytes(text.encode())
        return True

    # Waiting

    def wait(
        self, condition: Callable[[], Any], what: str = "what the test waits for", seconds: float = PATIENCE
    ) -> Any:
        """Return the value of `condition` as soon as it is true, looking again after each message."""
        end = time.monotonic() + seconds
        with self._changed:
            while not (value := condition()):
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    last = [item for item in self.received if item[0] != "$/progress"][-4:]
                    raise AssertionError(f"{what} did not come: {self.states}\n{self.diagnostics}\n{last}")
            return value

    def state(self, uri: str, model: str, *states: str) -> dict[str, Any]:
        """Wait until a model is in one of these states."""

        def look() -> dict[str, Any] | None:
            item = self.states.get(uri, {}).get(model)
            return item if item is not None and item["state"] in states else None

        found: dict[str, Any] = self.wait(look, f"{model} {' or '.join(states)}")
        return found

    # What an editor does

    def request(self, method: str, params: Any, seconds: float = PATIENCE) -> Any:
        """Send a request and return its result; raises RequestError if it is refused."""
        return self.answer(self.ask(method, params), seconds)

    def ask(self, method: str, params: Any) -> int:
        """Send a request; its number is for `answer`."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        return number

    def answer(self, number: int, seconds: float = PATIENCE) -> Any:
        """Wait for the answer to a request."""
        self.wait(lambda: number in self._answers or self.ended, f"the answer to request {number}", seconds)
        message = self._answers.pop(number)
        if "error" in message:
            raise RequestError(message["error"])
        return message["result"]

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def initialize(self, capabilities: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": self.folder.as_uri(),
                "workspaceFolders": [{"uri": self.folder.as_uri(), "name": "project"}],
                "capabilities": CAPABILITIES if capabilities is None else capabilities,
                "initializationOptions": options,
            },
        )
        _CONVERTER.structure(result, types.InitializeResult)
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        self.texts[uri] = path.read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        document = {"uri": uri, "languageId": "python", "version": 1, "text": self.texts[uri]}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def edit(self, uri: str, old: str, new: str) -> None:
        """Replace the first occurrence of `old`, as an edit of that range."""
        text = self.texts[uri]
        index = text.index(old)
        place = {"start": position(text, index), "end": position(text, index + len(old))}
        self.texts[uri] = text[:index] + new + text[index + len(old) :]
        self._changed_to(uri, {"range": place, "text": new})

    def _change_whole(self, uri: str, text: str) -> None:
        self.texts[uri] = text
        self._changed_to(uri, {"text": text})

    def _changed_to(self, uri: str, change: dict[str, Any]) -> None:
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def save(self, uri: str) -> None:
        Path(uri.removeprefix("file://")).write_bytes(self.texts[uri].encode())
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def close(self, uri: str) -> None:
        del self.texts[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def command(self, name: str, *arguments: Any) -> Any:
        return self.request(
            "workspace/executeCommand", {"command": f"dpor.server.{name}", "arguments": list(arguments)}
        )

    def actions(self, uri: str, line: int, character: int = 0) -> list[dict[str, Any]]:
        here = {"line": line, "character": character}
        params = {
            "textDocument": {"uri": uri},
            "range": {"start": here, "end": here},
            "context": {"diagnostics": []},
        }
        return self.request("textDocument/codeAction", params)

    def lenses(self, uri: str) -> list[tuple[int, str]]:
        found = self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return [(item["range"]["start"]["line"], item["command"]["title"]) for item in found]

    def shutdown(self) -> int:
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(PATIENCE)

    def stop(self) -> None:
        """End the server, however it fares."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def lines_of(text: str) -> list[str]:
    """The lines of a document with their ends, as the protocol has them; the last has none and may be empty."""
    pieces = re.split(r"(\r\n|\n|\r)", text)
    return ["".join(pieces[index : index + 2]) for index in range(0, len(pieces), 2)]


def position(text: str, index: int) -> dict[str, int]:
    lines = lines_of(text[:index])
    return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}


def spliced(text: str, place: dict[str, Any], new: str) -> str:
    start, end = (offset(text, place[end]) for end in ("start", "end"))
    return text[:start] + new + text[end:]


def offset(text: str, place: dict[str, int]) -> int:
    lines = lines_of(text)
    before = "".join(lines[: place["line"]])
    line = lines[place["line"]] if place["line"] < len(lines) else ""
    return len(before) + len(line.encode("utf-16-le")[: 2 * place["character"]].decode("utf-16-le"))
