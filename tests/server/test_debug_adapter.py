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

import pytest

from dpor.checking import check_model
from dpor.counterexample.trace_document import TraceDocument
from dpor.results import CheckRequest, ReplayRequest
from dpor.tracing import trace_model
from dpor_lsp.debug_adapter.framing import ProtocolError, Writer, read_message
from dpor_lsp.debug_adapter.recalling import recall, recall_variable
from dpor_lsp.debug_adapter.sources import Sources
from dpor_lsp.debug_adapter.timeline import Access, Breakpoints, Timeline, Watch, place_of

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
    assert [read_message(stream), read_message(stream), read_message(stream)] == [
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
        read_message(io.BytesIO(data))


def test_a_message_that_is_cut_off_is_the_end() -> None:
    assert read_message(io.BytesIO(frame({"seq": 1})[:-1])) is None


def test_what_is_written_can_be_read() -> None:
    stream = io.BytesIO()
    writer = Writer(stream)
    writer.send(type="event", event="stopped")
    writer.send(type="event", event="output", body={"output": "←"})
    stream.seek(0)
    assert read_message(stream) == {"seq": 1, "type": "event", "event": "stopped"}
    assert read_message(stream) == {"seq": 2, "type": "event", "event": "output", "body": {"output": "←"}}


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
    assert recall_variable(timeline, "bank.main.balance", timeline.end, local) == "Account#1.balance"
    assert recall(timeline, "bank.main", timeline.end, local) == "Account#1"
    assert recall(timeline, "bank", timeline.end, local) == "Bank#1"
    for nothing in ("bank.other", "bank.main()", "1 + 1", "", "bank.", "..", "bank.main.balance.real"):
        assert recall(timeline, nothing, timeline.end, local) is None


def test_sources_are_found_by_path_and_by_uri(document: TraceDocument, tmp_path: Path) -> None:
    sources = Sources(document, uris=True)
    path = tmp_path / "bank.py"
    assert sources.name({"path": str(path)}) == "bank.py"
    assert sources.name({"path": path.as_uri()}) == "bank.py"
    assert sources.name({"path": str(tmp_path / "other.py")}) is None
    assert sources.describe("bank.py") == {"name": "bank.py", "path": path.as_uri()}
    path.unlink()
    assert Sources(document).changed == ("bank.py",)
