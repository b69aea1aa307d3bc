"""pygls's protocol, strict where it is not: every request is answered, and nothing runs outside of its stage.

pygls drops a message that it cannot structure, without an answer; answers requests before `initialize` and takes a
second one; and says nothing to a request after `shutdown`.
"""

from __future__ import annotations

import enum
import json
import uuid
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, cast
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcInternalError, JsonRpcInvalidParams
from pygls.protocol import JsonRPCProtocol, LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

from dpor_lsp.language_server.documents import is_address
from dpor_lsp.language_server.wire.text_documents import LineWorkspace, with_lines

_LONGEST_REASON = 300


class Stage(enum.Enum):
    """How far client and server have come with each other."""

    NEW = "new"
    INITIALIZING = "initializing"
    """`initialize` has been taken, and `initialized` has not come yet."""
    READY = "ready"
    ENDING = "ending"
    """`shutdown` was asked for."""


# What a client may send besides in each stage. Responses, `exit` and what begins with `$/` are always taken.
_TAKEN: dict[Stage, frozenset[str]] = {
    Stage.NEW: frozenset({types.INITIALIZE}),
    Stage.INITIALIZING: frozenset({types.INITIALIZED, types.SHUTDOWN}),
    Stage.ENDING: frozenset(),
}


# pygls keeps notebooks for every server, and fails at a change to one that is not open. This server has none.
_NOT_SERVED = (
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)
_ADDRESSES = frozenset({"uri", "rootUri", "scopeUri", "baseUri", "targetUri", "oldUri", "newUri"})
"""The fields of parameters that hold addresses."""


class Protocol(LanguageServerProtocol):
    """The protocol of one client. `receive` takes what comes in; what pygls does with messages begins behind it."""

    def __init__(self, *arguments: Any) -> None:
        # The numbers of requests to the client: pygls keeps those to the server in the same place.
        self._asked: set[int | str] = set()
        super().__init__(*arguments)
        self._stage = Stage.NEW
        served = cast("dict[str, Any]", self.fm.builtin_features)  # pyright: ignore[reportUnknownMemberType]
        for method in _NOT_SERVED:
            served.pop(method, None)

    @property
    def workspace(self) -> LineWorkspace:
        """The open documents. Raises RuntimeError before `initialize`."""
        made = super().workspace
        # pygls makes its own when it is initialized, and asks here whenever it needs it.
        if not isinstance(made, LineWorkspace):
            self._workspace = made = with_lines(made)
        return made

    def receive(self, body: bytes) -> None:
        """Take a message. A request is answered whatever it is; what is wrong otherwise is an error of number null.

        Raises nothing for a message, however it is made.
        """
        try:
            data: object = json.loads(body)
        except (ValueError, RecursionError) as error:
            self.refuse(None, types.ErrorCodes.ParseError, f"the message is no JSON: {_reason(error)}")
            return
        if not isinstance(data, dict):
            self.refuse(None, types.ErrorCodes.InvalidRequest, "a message is one JSON object")
            return
        message = cast("dict[str, Any]", data)
        number = message.get("id")
        if "id" in message and (not isinstance(number, int | str) or isinstance(number, bool)):
            if "method" in message or number is not None:
                self.refuse(
                    None, types.ErrorCodes.InvalidRequest, "the id of a message is a string or an integer"
                )
            return
        if message.get("jsonrpc") != JsonRPCProtocol.VERSION:
            self.refuse(number, types.ErrorCodes.InvalidRequest, 'a message says "jsonrpc": "2.0"')
        elif "method" in message:
            self._receive_call(number, message)
        elif number is not None:
            self._receive_response(number, message)

    def refuse(
        self, number: int | str | None, code: types.ErrorCodes | types.LSPErrorCodes, text: str
    ) -> None:
        """Answer a request, or tell of a message without a number, that it is not taken."""
        # Not pygls's class, which leaves out a number that is null.
        error = {"code": int(code), "message": text}
        self._send_data({"jsonrpc": JsonRPCProtocol.VERSION, "id": number, "error": error})

    def _receive_call(self, number: int | str | None, message: dict[str, Any]) -> None:
        method = message["method"]
        if not isinstance(method, str):
            self.refuse(number, types.ErrorCodes.InvalidRequest, "the method of a message is a string")
            return
        if not self._takes(method):
            if number is not None:
                self._refuse_by_stage(number, method)
            return
        try:
            call = self._structured(number, method, message)
        # Whatever a converter raises, it is the message that is wrong.
        except Exception as error:
            self._refuse_parameters(number, method, error)
            return
        if method == types.INITIALIZE:
            self._stage = Stage.INITIALIZING
        elif method == types.INITIALIZED:
            self._stage = Stage.READY
        elif method == types.SHUTDOWN:
            self._stage = Stage.ENDING
        if number is not None and number in self._asked:
            # pygls would take it for the server's own request.
            self.refuse(number, types.ErrorCodes.InvalidRequest, "the server has a request of this id")
            return
        try:
            self.handle_message(call)
        # What pygls itself raises must not end the server.
        except Exception as error:
            self._server.report_server_error(error, JsonRpcInternalError)
            if number is not None:
                self.refuse(number, types.ErrorCodes.InternalError, f"{method} failed: {_reason(error)}")

    def is_open(self, uri: str) -> bool:
        """True if the client has opened a document at this address, and has not closed it."""
        return unquote(uri) in self.workspace.text_documents

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Change a document, if it is open."""
        if self._require_open(types.TEXT_DOCUMENT_DID_CHANGE, params.text_document.uri):
            yield from super().lsp_text_document__did_change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(
        self, params: types.DidCloseTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Close a document, if it is open."""
        if self._require_open(types.TEXT_DOCUMENT_DID_CLOSE, params.text_document.uri):
            yield from super().lsp_text_document__did_close(params)

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *arguments: Any) -> Generator[Any, Any, None]:
        """End all requests but this one; pygls fails when the end of one takes it out of what it goes through."""
        for number, future in list(self._request_futures.items()):
            if number != self.msg_id:
                future.cancel()
        yield from super().lsp_shutdown(*arguments)  # pyright: ignore[reportUnknownMemberType]

    def _require_open(self, method: str, uri: str) -> bool:
        if self.is_open(uri):
            return True
        text = f"{method} names a document that is not open: {_cut(uri)}"
        self._server.report_server_error(JsonRpcInvalidParams(text), JsonRpcInvalidParams)
        return False

    def _takes(self, method: str) -> bool:
        if method == types.EXIT or method.startswith("$/"):
            return True
        if self._stage is Stage.READY:
            return method not in (types.INITIALIZE, types.INITIALIZED)
        return method in _TAKEN[self._stage]

    def _refuse_by_stage(self, number: int | str, method: str) -> None:
        if self._stage is Stage.ENDING:
            self.refuse(number, types.ErrorCodes.InvalidRequest, f"{method} came after shutdown")
        elif method == types.INITIALIZE:
            self.refuse(number, types.ErrorCodes.InvalidRequest, "initialize was sent before")
        else:
            missing = types.INITIALIZE if self._stage is Stage.NEW else types.INITIALIZED
            self.refuse(number, types.ErrorCodes.ServerNotInitialized, f"{method} came before {missing}")

    def _structured(self, number: int | str | None, method: str, message: dict[str, Any]) -> Any:
        kind: Any = self.get_message_type(method)
        if kind is None:
            kind = JsonRPCNotification if number is None else JsonRPCRequestMessage
            message.setdefault("params", None)
        elif hasattr(kind, "__attrs_attrs__") and (number is None) is ("id" in _fields(kind)):
            raise ValueError("a request has an id" if number is None else "a notification has no id")
        wrong = _wrong_address(message.get("params"))
        if wrong is not None:
            raise ValueError(f"{wrong!r} is no address")
        return self._converter.structure(message, kind)

    def _refuse_parameters(self, number: int | str | None, method: str, error: Exception) -> None:
        text = f"the parameters of {method} are wrong: {_reason(error)}"
        if number is None:
            self._server.report_server_error(JsonRpcInvalidParams(text), JsonRpcInvalidParams)
        else:
            self.refuse(number, types.ErrorCodes.InvalidParams, text)

    def send_request(
        self, method: str, params: Any = None, callback: Any = None, msg_id: Any = None
    ) -> Future[Any]:
        """Ask the client something."""
        number = str(uuid.uuid4()) if msg_id is None else msg_id
        self._asked.add(number)
        future = super().send_request(method, params, callback, number)
        future.add_done_callback(lambda _: self._asked.discard(number))
        return future

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        # A client cancels its own requests only.
        if msg_id not in self._asked:
            super()._handle_cancel_notification(msg_id)

    def _receive_response(self, number: int | str, message: dict[str, Any]) -> None:
        if number not in self._asked:
            return
        self._asked.discard(number)
        try:
            response: Any = self.structure_message(message)
        except Exception as error:
            # Whoever has asked learns that there is no answer.
            wrong = types.ResponseError(
                int(types.ErrorCodes.InvalidParams), f"a wrong answer: {_reason(error)}"
            )
            self._handle_response(number, None, wrong)
        else:
            self.handle_message(response)

    def _execute_handler(self, msg_id: Any, *args: Any, **kwargs: Any) -> None:
        super()._execute_handler(msg_id, *args, **kwargs)
        # pygls keeps the futures of handlers that have ended.
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))


def _fields(kind: Any) -> frozenset[str]:
    return frozenset(field.name for field in kind.__attrs_attrs__)


def _wrong_address(params: object) -> str | None:
    """An address among parameters that is none, wherever it is; None if there is no such."""
    waiting = [params]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            for name, value in cast("dict[str, object]", found).items():
                if name in _ADDRESSES and isinstance(value, str) and not is_address(value):
                    return _cut(value)
                if isinstance(value, dict | list):
                    waiting.append(cast("object", value))
        elif isinstance(found, list):
            waiting.extend(cast("list[object]", found))
    return None


def _reason(error: BaseException) -> str:
    return _cut(str(error) or type(error).__name__)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
