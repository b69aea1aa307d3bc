"""The debug adapter without an editor: the framing, and moving through a trace.

What clients see is tested with VS Code's own test client, in tests/editor.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.counterexample.trace_document import TraceDocument
from dpor.results import CheckRequest, ReplayRequest
from dpor.tracing import trace_model
from dpor_lsp.debug_adapter.evaluation import recorded_value, variable_of
from dpor_lsp.debug_adapter.framing import ProtocolError, Reader, Writer
from dpor_lsp.debug_adapter.sources import Sources
from dpor_lsp.debug_adapter.timeline import Access, Breakpoints, Timeline, Watch, place_of
from dpor_lsp.trace import trace_to_json

BANK = """
    import dpor

    class Account:
        def __init__(self):
            self.balance = 0

    class Bank:
        def __init__(self):
            self.main = Account()

        def deposit(self, amount):
            self.main.balance += amount

    @dpor.model
    def model():
        bank = Bank()
        dpor.spawn(bank.deposit, 1)
        dpor.spawn(bank.deposit, 2)
        dpor.join_all()
        assert bank.main.balance == 3
"""


@pytest.fixture
def document(tmp_path: Path) -> TraceDocument:
    (tmp_path / "bank.py").write_text(textwrap.dedent(BANK))
    result = check_model(CheckRequest("bank.py", "model", str(tmp_path)))
    return trace_model(ReplayRequest("bank.py", "model", str(tmp_path), result.violations[0].schedule))


@pytest.fixture
def timeline(document: TraceDocument) -> Timeline:
    return Timeline(document)


def frame(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def test_messages_are_read_one_after_the_other_until_the_end() -> None:
    stream = io.BytesIO(frame({"seq": 1}) + frame({"seq": 2, "text": "→"}))
    reader = Reader(stream)
    assert [reader.message(), reader.message(), reader.message()] == [
        {"seq": 1},
        {"seq": 2, "text": "→"},
        None,
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: x\r\n\r\n",
        b"Nothing: 1\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 3\r\n\r\n{{{",
        b"Content-Length: 2\r\n\r\n[]",
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Reader(io.BytesIO(data)).message()


def test_a_message_that_is_cut_off_is_the_end() -> None:
    assert Reader(io.BytesIO(frame({"seq": 1})[:-1])).message() is None


def test_what_is_written_can_be_read() -> None:
    stream = io.BytesIO()
    writer = Writer(stream)
    writer.send(type="event", event="stopped")
    writer.send(type="event", event="output", body={"output": "←"})
    stream.seek(0)
    reader = Reader(stream)
    assert reader.message() == {"seq": 1, "type": "event", "event": "stopped"}
    assert reader.message() == {"seq": 2, "type": "event", "event": "output", "body": {"output": "←"}}


@pytest.mark.parametrize(("data", "status"), [(b"", 0), (b"Content-Length: no\r\n\r\n", 2)])
def test_the_process_ends_with_its_client(data: bytes, status: int) -> None:
    end = subprocess.run(
        [sys.executable, "-m", "dpor_lsp", "--debug-adapter"], input=data, capture_output=True, timeout=60
    )
    assert end.returncode == status
    assert end.stdout == b""


def test_stepping_forward_and_back_visits_the_same_lines(timeline: Timeline) -> None:
    there = [timeline.first("first")]
    while there[-1] < timeline.end:
        there.append(timeline.by_line(there[-1], 1))
    back = [there[-1]]
    while back[-1] > there[0]:
        back.append(timeline.by_line(back[-1], -1))
    assert back == there[::-1]


def test_values_are_those_after_the_step(timeline: Timeline) -> None:
    for step in timeline.steps:
        for change in step.changes:
            assert timeline.value(change.variable, step.index) == change.after
            assert timeline.value(change.variable, step.index - 1) == change.before


def test_a_line_breakpoint_stops_once_for_each_visit(timeline: Timeline) -> None:
    line = next(
        place.line
        for step in timeline.steps
        if step.thread == "main.0" and (place := place_of(step)) is not None
    )
    stops: list[int] = []
    breakpoints = Breakpoints(lines={"bank.py": {line: 1}})
    stop = timeline.run(1, 1, breakpoints)
    while stop.reason == "breakpoint":
        stops.append(stop.position)
        stop = timeline.run(stop.position, 1, breakpoints)
    assert stops == timeline.steps_on("bank.py", line)
    assert len({timeline.step(index).thread for index in stops}) == 2
    assert stop.reason == "exception"


def test_going_back_to_a_write_finds_the_last_one(timeline: Timeline) -> None:
    watch = Breakpoints(watches={1: Watch("Account#1.balance")})
    found: list[int] = []
    stop = timeline.run(timeline.end, -1, watch)
    while stop.reason == "data breakpoint":
        found.append(stop.position)
        stop = timeline.run(stop.position, -1, watch)
    written = [
        step.index
        for step in timeline.steps
        if any(change.variable == "Account#1.balance" for change in step.changes)
    ]
    assert found == written[::-1]
    reads = timeline.run(1, 1, Breakpoints(watches={1: Watch("Account#1.balance", Access.READ)}))
    assert "balance" in timeline.step(reads.position).reads[0]


def test_an_expression_is_followed_through_recorded_values(timeline: Timeline) -> None:
    local = {"bank": "Bank#1"}
    assert variable_of(timeline, "bank.main.balance", timeline.end, local) == "Account#1.balance"
    assert recorded_value(timeline, "bank.main", timeline.end, local) == "Account#1"
    assert recorded_value(timeline, "bank", timeline.end, local) == "Bank#1"
    for nothing in ("bank.other", "bank.main()", "1 + 1", "", "bank.", "..", "bank.main.balance.real"):
        assert recorded_value(timeline, nothing, timeline.end, local) is None


def test_sources_are_found_by_path_and_by_uri(document: TraceDocument, tmp_path: Path) -> None:
    sources = Sources(document, uris=True)
    path = tmp_path / "bank.py"
    assert sources.name({"path": str(path)}) == "bank.py"
    assert sources.name({"path": path.as_uri()}) == "bank.py"
    assert sources.name({"path": str(tmp_path / "other.py")}) is None
    assert sources.describe("bank.py") == {"name": "bank.py", "path": path.as_uri()}
    path.unlink()
    assert Sources(document).changed == ("bank.py",)


class Talk:
    """All that an adapter answers to these requests, which come in at once."""

    def __init__(self, folder: Path, *requests: object, junk: bytes = b"") -> None:
        data = junk + b"".join(frame(request) for request in requests)
        self.end = subprocess.run(
            [sys.executable, "-m", "dpor_lsp", "--debug-adapter"],
            input=data,
            capture_output=True,
            timeout=60,
            cwd=folder,
        )
        reader = Reader(io.BytesIO(self.end.stdout))
        self.answers: dict[int, dict[str, Any]] = {}
        while (message := reader.message()) is not None:
            if message["type"] == "response":
                self.answers[message["request_seq"]] = message

    def refused(self, number: int) -> str:
        """The message of a refusal, which has a code that is not that of an internal error."""
        answer = self.answers[number]
        assert answer["success"] is False
        assert answer["body"]["error"]["id"] not in (0, 501)
        return answer["message"]


def ask(number: int, command: object, arguments: object = None) -> dict[str, Any]:
    return {"seq": number, "type": "request", "command": command, "arguments": arguments}


HELLO = ask(1, "initialize", {})


def test_requests_out_of_their_stage_are_answered(tmp_path: Path) -> None:
    talk = Talk(
        tmp_path, ask(2, "threads"), HELLO, ask(3, "initialize"), ask(4, "disconnect"), ask(5, "threads")
    )
    assert "before initialize" in talk.refused(2)
    assert talk.answers[1]["success"]
    assert "before" in talk.refused(3)
    assert talk.answers[4]["success"]
    assert "after disconnect" in talk.refused(5)
    assert talk.end.returncode == 0


def test_what_is_no_frame_costs_no_message_after_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, HELLO, ask(2, "disconnect"), junk=b"Content-Length: 99999999999999999999\r\n\r\n{}")
    assert talk.answers[1]["success"]
    assert (talk.end.returncode, b"99999999" in talk.end.stderr) == (0, True)


WRONG: list[tuple[object, object]] = [
    ("stackTrace", []),
    ("stackTrace", {"threadId": "1"}),
    ("setBreakpoints", {"source": 3, "lines": [1]}),
    ("setBreakpoints", {"source": {"path": "x"}, "lines": 5}),
    ("setBreakpoints", {"source": {"path": "x"}, "breakpoints": [{"line": True}]}),
    ("setExceptionBreakpoints", {"filters": 3}),
    ("setExceptionBreakpoints", {}),
    ("setDataBreakpoints", {"breakpoints": [1]}),
    ("evaluate", {"expression": ["x"]}),
    ("evaluate", {}),
    ("no such request \ud800", {}),
    (None, {}),
    (["next"], {}),
]


@pytest.mark.parametrize(("command", "arguments"), WRONG)
def test_a_request_with_wrong_arguments_is_refused(
    tmp_path: Path, command: object, arguments: object
) -> None:
    talk = Talk(tmp_path, HELLO, ask(2, command, arguments), ask(3, "cancel"))
    assert talk.refused(2)
    assert talk.answers[3]["success"]


@pytest.mark.parametrize("name", ["trace", "model", "cwd"])
@pytest.mark.parametrize(
    "value", ["a" * 5000, "a/" * 5000, "a\0b", "\ud800", 3, ["x"]], ids=lambda v: repr(v)[:9]
)
def test_a_launch_of_what_can_be_no_file_is_refused(tmp_path: Path, name: str, value: object) -> None:
    given = {"model": "x.py::m", name: value} if name == "cwd" else {name: value}
    talk = Talk(tmp_path, HELLO, ask(2, "launch", given), ask(3, "cancel"))
    assert talk.refused(2)
    assert talk.answers[3]["success"]
    assert b"Traceback" not in talk.end.stderr


@pytest.mark.parametrize("text", ["\0", "\ud800", "/a\0b", "x" * 5000])
def test_a_trace_with_any_text_is_shown(tmp_path: Path, document: TraceDocument, text: str) -> None:
    data = trace_to_json(document)
    data["sources"] = {text: text, **data["sources"]}
    data["threads"][0]["name"] = text
    data["root"] = data["root"] + text
    (tmp_path / "trace.json").write_text(json.dumps(data))
    talk = Talk(
        tmp_path,
        HELLO,
        ask(2, "launch", {"trace": "trace.json"}),
        ask(3, "cancel"),
    )
    assert talk.answers[2]["success"]
    assert b"Traceback" not in talk.end.stderr
