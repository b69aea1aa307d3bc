"""pygls's protocol, strict where it is not: every request is answered, and nothing runs outside of its stage.

pygls drops a message that it cannot structure, without an answer; answers requests before `initialize` and takes a
second one; and says nothing to a request after `shutdown`.
"""

from __future__ import annotations

import enum
import json
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.protocol import JsonRPCProtocol, LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

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


class Protocol(LanguageServerProtocol):
    """The protocol of one client. `receive` takes what comes in; what pygls does with messages begins behind it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._stage = Stage.NEW

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
        self.handle_message(call)

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
        return self._converter.structure(message, kind)

    def _refuse_parameters(self, number: int | str | None, method: str, error: Exception) -> None:
        text = f"the parameters of {method} are wrong: {_reason(error)}"
        if number is None:
            self._server.report_server_error(JsonRpcInvalidParams(text), JsonRpcInvalidParams)
        else:
            self.refuse(number, types.ErrorCodes.InvalidParams, text)

    def _receive_response(self, number: int | str, message: dict[str, Any]) -> None:
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


def _reason(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."
