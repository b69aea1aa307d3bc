"""Conversations with the debug adapter: requests in any order and of any type, and traces that were edited.

The requests are those that an editor would send about the trace, and all that the protocol's schema allows. Each case
is a process that is sent everything at once. Bad is
- a message that the protocol's schema does not allow, or whose number does not follow the one before,
- a request without an answer, an answer that is no success and has no message, or an internal error as its code,
- a launch in the right order that is refused, if neither the conversation nor its trace was spoilt,
- a traceback, an exit code other than 0 and 1, no end within PATIENCE seconds after the input has ended.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attack.debug_protocol import DebugProtocol
from attack.drawn_values import ODD, Values
from dpor.checking import check_model
from dpor.results import CheckRequest, ReplayRequest
from dpor.tracing import trace_model
from dpor_lsp.trace.storage import save_trace

PATIENCE = 20.0
MESSAGES = 25
INTERNAL_ERRORS = (0, 501)
MODEL = """
import dpor

class Cell:
    def __init__(self):
        self.value = 0

@dpor.model
def model():
    cell = Cell()
    def add():
        seen = cell.value
        cell.value = seen + 1
    for thread in [dpor.spawn(add) for _ in range(2)]:
        thread.join()
    assert cell.value == 2
"""
MOVES = ("next", "stepIn", "stepOut", "stepBack", "continue", "reverseContinue", "pause")
OTHERS = (
    "threads",
    "modules",
    "loadedSources",
    "terminate",
    "restart",
    "configurationDone",
    "initialize",
    "launch",
    "attach",
    "unknown",
    "",
)
# After these the replay has ended, or never begins.
ENDING = frozenset({"initialize", "launch", "attach", "restart", "terminate", "disconnect", "cancel"})
# Those of threads, frames, variables and lines that there may be.
_NUMBERS = (0, 1, 2, 3, 16, 17)


def attack(seed: int, count: int, folder: Path) -> list[str]:
    """Try `count` conversations; returns the bad ones."""
    (folder / "model.py").write_text(MODEL)
    result = check_model(CheckRequest("model.py", "model", str(folder)))
    schedule = result.violations[0].schedule
    save_trace(trace_model(ReplayRequest("model.py", "model", str(folder), schedule)), folder / "good.json")
    protocol = DebugProtocol()
    bad: list[str] = []
    for number in range(count):
        place = folder / str(number)
        place.mkdir()
        case = _Case(folder, place, random.Random(f"{seed}-{number}"), protocol)
        bad += [f"debug-adapter, seed {seed}, case {number}: {what}" for what in case.run()]
        shutil.rmtree(place)
    return bad


class _Case:
    """One conversation."""

    def __init__(self, folder: Path, place: Path, drawn: random.Random, protocol: DebugProtocol) -> None:
        self._protocol = protocol
        self._folder = folder
        self._place = place
        self._drawn = drawn
        self._values = Values(drawn, {}, ())
        self._spoilt = False

    def run(self) -> Iterator[str]:
        """What was bad of it."""
        requests = self._requests()
        data = b"".join(map(_frame, requests))
        try:
            end = subprocess.run(
                [sys.executable, "-m", "dpor_lsp", "--debug-adapter"],
                input=data,
                capture_output=True,
                timeout=PATIENCE,
                cwd=self._place,
                check=False,
            )
        except subprocess.TimeoutExpired:
            yield f"no end within {PATIENCE:.0f} s: {_shown(requests)}"
            return
        if b"Traceback (most" in end.stderr or end.returncode not in (0, 1):
            yield f"exit code {end.returncode}, {end.stderr[-800:]!a}: {_shown(requests)}"
            return
        said = list(_messages(end.stdout))
        for number, message in enumerate(said, start=1):
            fault = self._protocol.fault(message)
            if fault is not None or message["seq"] != number:
                yield f"{fault or 'a wrong number'} in {str(message)[:300]!a}, message {number}: {_shown(requests)}"
        answers = {one["request_seq"]: one for one in said if one["type"] == "response"}
        for request in requests:
            fault = self._fault(request, answers.get(request["seq"]))
            if fault is not None:
                yield f"{fault} to {str(request)[:300]!a} in {_shown(requests)}"

    def _fault(self, request: dict[str, Any], answer: dict[str, Any] | None) -> str | None:
        if answer is None:
            return "no answer"
        if answer["success"]:
            return None
        if self._spoilt is False and request["command"] in ("launch", "configurationDone"):
            return f"a refusal ({answer.get('message')})"
        code = (answer.get("body") or {}).get("error", {}).get("id")
        if not answer.get("message") or not isinstance(code, int) or code in INTERNAL_ERRORS:
            return f"an answer without a code of its own ({str(answer)[:300]!a})"
        return None

    # What is sent

    def _requests(self) -> list[dict[str, Any]]:
        launch = {"trace": self._trace(), "start": self._drawn.choice(("first", "failure", "matters"))}
        said: list[tuple[str, Any]] = [
            ("initialize", {"adapterID": "dpor", "linesStartAt1": True}),
            ("launch", launch),
            ("configurationDone", {}),
            ("threads", None),
        ]
        for _ in range(MESSAGES):
            said.append(self._any_request())
        if self._drawn.random() < 0.5:
            self._spoilt = True
            for _ in range(self._drawn.randint(1, 6)):
                index = self._drawn.randrange(len(said))
                said[index] = (said[index][0], self._values.spoilt(said[index][1]))
            if self._drawn.random() < 0.3:
                self._drawn.shuffle(said)
        said.append(("disconnect", {}))
        return [
            {"seq": number, "type": "request", "command": command, "arguments": arguments}
            for number, (command, arguments) in enumerate(said, start=1)
        ]

    def _any_request(self) -> tuple[str, Any]:
        if self._drawn.random() < 0.4:
            return self._allowed_request()
        number = self._drawn.choice((*_NUMBERS, 1000, -1, 2**40))
        source = {"path": str(self._folder / self._drawn.choice(("model.py", "none.py")))}
        known: tuple[tuple[str, Any], ...] = (
            (self._drawn.choice(MOVES), {"threadId": number}),
            ("stackTrace", {"threadId": number, "startFrame": 0, "levels": number}),
            ("scopes", {"frameId": number}),
            ("variables", {"variablesReference": number}),
            (
                "evaluate",
                {"expression": self._drawn.choice(("cell", "cell.value", "", "(" * 500)), "frameId": number},
            ),
            ("exceptionInfo", {"threadId": number}),
            ("source", {"source": source, "sourceReference": 0}),
            ("setBreakpoints", {"source": source, "breakpoints": [{"line": number}]}),
            ("setExceptionBreakpoints", {"filters": []}),
            ("gotoTargets", {"source": source, "line": number}),
            ("goto", {"threadId": number, "targetId": number}),
            ("breakpointLocations", {"source": source, "line": number}),
            ("dataBreakpointInfo", {"variablesReference": number, "name": "value"}),
            ("dpor/step", {"step": number}),
            (self._drawn.choice(OTHERS), self._drawn.choice(ODD)),
        )
        command, arguments = self._drawn.choice(known)
        if command in OTHERS:
            # It may end the replay, or be refused.
            self._spoilt = True
        return command, arguments

    def _allowed_request(self) -> tuple[str, Any]:
        """Any request that the schema has."""
        command = self._drawn.choice(self._protocol.commands)
        if command in ENDING:
            self._spoilt = True
        return command, self._protocol.arguments(command, self._drawn, _NUMBERS)

    def _trace(self) -> str:
        good = self._folder / "good.json"
        if self._drawn.random() < 0.5:
            return str(good)
        self._spoilt = True
        edited = self._place / "edited.json"
        if self._drawn.random() < 0.2:
            text = good.read_text()
            edited.write_text(text[: self._drawn.randrange(len(text))])
            return str(edited)
        document = json.loads(good.read_text())
        for _ in range(self._drawn.randint(1, 4)):
            document = self._values.spoilt(document)
        edited.write_text(json.dumps(document))
        return str(edited)


def _frame(message: dict[str, Any]) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def _messages(data: bytes) -> Iterator[dict[str, Any]]:
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(head.rpartition(b":")[2])
        yield json.loads(rest[:length])
        data = rest[length:]


def _shown(requests: list[dict[str, Any]]) -> str:
    return repr([(one["command"], str(one["arguments"])[:60]) for one in requests][:6])
