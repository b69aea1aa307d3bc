"""Recorded traces: what they hold is what happened, and what is kept is only shown if it can be trusted."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.trace_document import LaneKind, RecordedStep, TraceDocument
from dpor.discovery import find_models
from dpor.errors import DporError
from dpor.results import CheckRequest, ReplayRequest, ViolationKind
from dpor.tracing import trace_model
from dpor_lsp.trace import find_or_record, load_trace, record_trace, save_trace, trace_of_json, trace_to_json

Request = Callable[[str], ReplayRequest]


@pytest.fixture
def request_for(tmp_path: Path) -> Request:
    """Write a file with one model, check it, and ask for its counterexample."""

    def make(code: str) -> ReplayRequest:
        file = tmp_path / "target.py"
        file.write_text(textwrap.dedent(code))
        result = check_model(CheckRequest("target.py", "model", str(tmp_path)))
        return ReplayRequest("target.py", "model", str(tmp_path), result.violations[0].schedule)

    return make


LOST_UPDATE = """
    import dpor

    class Counter:
        def __init__(self):
            self.value = 0

        def increment(self):
            seen = self.value
            self.value = seen + 1

    @dpor.model
    def model():
        counter = Counter()
        dpor.spawn(counter.increment)
        dpor.spawn(counter.increment)
        dpor.join_all()
        assert counter.value == 2
"""


def changes(document: TraceDocument, variable: str) -> list[tuple[int, str | None, str | None]]:
    return [
        (step.index, change.before, change.after)
        for step in document.steps
        for change in step.changes
        if change.variable == variable
    ]


def states(document: TraceDocument, variable: str) -> list[str | None]:
    return [after for _, _, after in changes(document, variable)]


def failing(document: TraceDocument) -> RecordedStep:
    assert document.failure is not None
    return document.steps[document.failure.step - 1]


def local_names(step: RecordedStep) -> dict[str, str]:
    return {item.name: item.value for item in step.frames[0].locals}


def test_every_write_tells_the_value_before_and_after(request_for: Request) -> None:
    document = trace_model(request_for(LOST_UPDATE))
    assert [(before, after) for _, before, after in changes(document, "Counter#1.value")] == [
        (None, "0"),
        ("0", "1"),
        ("1", "1"),
    ]
    (variable,) = [item for item in document.variables if item.name == "Counter#1.value"]
    assert variable.threads == ("main", "main.0", "main.1")
    assert variable.initial is None
    assert variable.shared


def test_locals_are_those_of_the_acting_thread_at_the_step(request_for: Request) -> None:
    document = trace_model(request_for(LOST_UPDATE))
    writes = [step for step in document.steps if step.operation == "store" and step.thread != "main"]
    assert [local_names(step) for step in writes] == [{"self": "Counter#1", "seen": "0"}] * 2
    assert [step.frames[0].function for step in writes] == ["Counter.increment"] * 2


def test_the_last_step_is_the_failure_at_its_expression(request_for: Request) -> None:
    document = trace_model(request_for(LOST_UPDATE))
    step = failing(document)
    assert document.failure is not None
    assert (step, step.phrase) == (document.steps[-1], "assertion failed: counter.value == 2")
    assert document.failure.kind is ViolationKind.ASSERTION
    assert step.location is not None
    assert (step.location.line, step.location.column, step.location.end_column) == (18, 12, 30)
    assert local_names(step)["counter"] == "Counter#1"


def test_names_and_phrases_are_those_of_the_text_report(request_for: Request) -> None:
    from dpor.counterexample.phrases import describe_operation
    from dpor.counterexample.replay import replay_model

    request = request_for(LOST_UPDATE)
    report = replay_model(request)
    document = trace_model(request)
    assert [step.phrase for step in document.steps[:-1]] == [
        describe_operation(step) for step in report.trace
    ]
    assert [step.matters for step in document.steps[:-1]] == [step.matters for step in report.trace]


def test_containers_show_their_content_after_each_change(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import dpor

            class Shop:
                def __init__(self):
                    self.sold = {"tea": 0}
                    self.log = []

            def sell(shop):
                shop.sold["tea"] += 1
                shop.log.append("tea")

            @dpor.model
            def model():
                shop = Shop()
                dpor.spawn(sell, shop)
                dpor.join_all()
                assert shop.sold["tea"] == 2
        """)
    )
    assert states(document, "Shop#1.sold") == ["{'tea': 0}", "{'tea': 1}"]
    assert states(document, "Shop#1.log") == ["[]", "['tea']"]


def test_a_container_inside_another_changes_both(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import dpor

            board = [[0, 0], [0, 0]]

            def move(row):
                board[row][0] = 5

            @dpor.model
            def model():
                dpor.spawn(move, 1)
                dpor.join_all()
                assert board[1][0] == 0
        """)
    )
    assert changes(document, "board")[-1][1:] == ("[[0, 0], [0, 0]]", "[[0, 0], [5, 0]]")
    assert changes(document, "board[1]")[-1][1:] == ("[0, 0]", "[5, 0]")


def test_a_global_is_state_with_the_value_of_its_module(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import dpor

            total = 7

            def work():
                global total
                total = 8

            @dpor.model
            def model():
                dpor.spawn(work)
                dpor.join_all()
                assert total == 7
        """)
    )
    (variable,) = [item for item in document.variables if item.name == "total"]
    assert variable.threads == ("main", "main.0")
    assert [(before, after) for _, before, after in changes(document, "total")] == [("7", "8")]


def test_variables_of_inner_functions_and_atomics_are_state(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import dpor

            @dpor.model
            def model():
                count = 0
                flag = dpor.Atomic(1)

                def work():
                    nonlocal count
                    count += 1
                    flag.compare_exchange(1, 2)
                    flag.fetch_add(3)

                dpor.spawn(work)
                dpor.join_all()
                assert count == 0
        """)
    )
    assert states(document, "count") == ["0", "1"]
    assert [(before, after) for _, before, after in changes(document, "flag")] == [("1", "2"), ("2", "5")]
    assert local_names(failing(document))["count"] == "1"


def test_no_code_of_the_model_runs_to_show_a_value(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import dpor

            class Odd:
                def __repr__(self):
                    raise RuntimeError("must not be asked")

                def __eq__(self, other):
                    raise RuntimeError("must not be asked")

                __hash__ = None

            class Box:
                pass

            @dpor.model
            def model():
                odd = Odd()
                box = Box()
                box.content = [odd, {"odd": odd}]
                assert False
        """)
    )
    assert states(document, "Box#1.content") == ["[Odd#1, {'odd': Odd#1}]"]
    assert local_names(failing(document)) == {"odd": "Odd#1", "box": "Box#1"}


DEADLOCK = """
    import threading
    import dpor

    def both(first, second):
        with first:
            with second:
                pass

    @dpor.model
    def model():
        left, right = threading.Lock(), threading.Lock()
        dpor.spawn(both, left, right)
        dpor.spawn(both, right, left)
        dpor.join_all()
"""


def test_a_deadlock_says_who_holds_and_who_waits_and_where(request_for: Request) -> None:
    document = trace_model(request_for(DEADLOCK))
    held = {item.resource: (item.owners, item.waiting) for item in failing(document).holdings}
    assert held == {
        "left": (("main.0",), ("main.1",)),
        "right": (("main.1",), ("main.0",)),
        "main.0": (("main.0",), ("main",)),
    }
    for_ever = {wait.thread: wait for wait in document.waits if wait.until is None}
    assert {thread: wait.phrase for thread, wait in for_ever.items()} == {
        "main": "waits for the end of main.0",
        "main.0": "waits for right, held by main.1",
        "main.1": "waits for left, held by main.0",
    }
    assert {thread: wait.frames[0].location.line for thread, wait in for_ever.items()} == {
        "main": 15,
        "main.0": 7,
        "main.1": 7,
    }


def test_waiting_for_a_notification_is_told_from_waiting_for_the_lock(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import threading
            import dpor

            def consume(ready):
                with ready:
                    ready.wait()

            @dpor.model
            def model():
                ready = threading.Condition()
                dpor.spawn(consume, ready)
                with ready:
                    ready.notify()
                dpor.join_all()
        """)
    )
    waiting = [wait.phrase for wait in document.waits if wait.thread == "main.0" and wait.until is None]
    assert waiting == ["waits to be notified on ready"]
    resources = {item.resource for item in failing(document).holdings}
    assert "ready (notification)" in resources


def test_asyncio_tasks_have_lanes_and_their_steps_matter(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import asyncio
            import dpor

            stock = 1

            async def take():
                global stock
                if stock > 0:
                    await asyncio.sleep(0)
                    stock -= 1

            async def both():
                await asyncio.gather(take(), take())

            @dpor.model
            def model():
                asyncio.run(both())
                assert stock >= 0
        """)
    )
    tasks = [lane for lane in document.threads if lane.kind is LaneKind.TASK]
    assert {lane.name for lane in tasks} >= {"take"}
    assert {lane.parent for lane in tasks} == {"main"}
    written = dict.fromkeys(index for index, _, _ in changes(document, "stock"))
    writers = [document.steps[index - 1] for index in written]
    assert {step.thread for step in writers} == {lane.id for lane in tasks}
    assert all(step.matters for step in writers)


def test_a_trace_of_changed_code_ends_where_it_diverges(request_for: Request, tmp_path: Path) -> None:
    request = request_for(LOST_UPDATE)
    code = (tmp_path / "target.py").read_text()
    (tmp_path / "target.py").write_text(code.replace("seen = self.value", "seen = 0"))
    document = trace_model(request)
    assert document.changed
    assert document.failure is None
    assert document.divergence is not None
    assert "the schedule has" in document.divergence


def test_a_worker_records_the_same_and_keeps_what_the_model_printed(request_for: Request) -> None:
    request = request_for(LOST_UPDATE.replace("counter = Counter()", "counter = Counter(); print('hello')"))
    document = record_trace(request)
    assert document.output == "hello\n"
    assert [step.phrase for step in document.steps] == [step.phrase for step in trace_model(request).steps]


def test_a_worker_says_in_a_code_what_keeps_it_from_recording(request_for: Request) -> None:
    request = request_for(LOST_UPDATE)
    garbled = ReplayRequest(request.file, request.model, request.root, "dpor1:nonsense")
    with pytest.raises(DporError) as caught:
        record_trace(garbled)
    assert caught.value.code is Code.BAD_SCHEDULE


def test_a_kept_trace_is_used_until_the_code_changes(request_for: Request, tmp_path: Path) -> None:
    request = request_for(LOST_UPDATE)
    path = find_or_record(request, tmp_path / ".dpor_cache")
    stamp = path.stat().st_mtime_ns
    assert find_or_record(request, tmp_path / ".dpor_cache") == path
    assert path.stat().st_mtime_ns == stamp
    file = tmp_path / "target.py"
    file.write_text(file.read_text() + "\n# a comment\n")
    assert find_or_record(request, tmp_path / ".dpor_cache") == path
    assert load_trace(path).sources["target.py"].endswith("# a comment\n")


def test_a_document_survives_being_written_and_read(request_for: Request, tmp_path: Path) -> None:
    document = trace_model(request_for(DEADLOCK))
    save_trace(document, tmp_path / "kept" / "trace.json")
    assert load_trace(tmp_path / "kept" / "trace.json") == document
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["trace.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is not a recorded trace"),
        ('{"version": 99, "steps": []}', "is a trace of version 99, and this dpor-lsp reads version 1"),
        ('{"version": 1, "steps": [{}]}', "is a damaged trace"),
        ("\0\1", "is not valid JSON"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_in_words(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(DporError, match=message) as caught:
        load_trace(path)
    assert caught.value.code is Code.BAD_TRACE


def test_a_missing_trace_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DporError, match="there is no trace file") as caught:
        load_trace(tmp_path / "none.json")
    assert caught.value.code is Code.NOT_FOUND


def edit_threads(data: dict[str, Any]) -> None:
    data["threads"].pop()


def edit_index(data: dict[str, Any]) -> None:
    data["steps"][2]["index"] = 9


def edit_failure(data: dict[str, Any]) -> None:
    data["failure"]["step"] = 1000


@pytest.mark.parametrize("edit", [edit_threads, edit_index, edit_failure])
def test_a_document_that_contradicts_itself_is_refused(
    request_for: Request, edit: Callable[[dict[str, Any]], None]
) -> None:
    data = json.loads(json.dumps(trace_to_json(trace_model(request_for(LOST_UPDATE)))))
    edit(data)
    with pytest.raises(DporError) as caught:
        trace_of_json(data, "it")
    assert caught.value.code is Code.BAD_TRACE


EXAMPLES = Path(__file__).parents[2] / "examples"
VIOLATED = [
    f"{path.name}::{info.name}"
    for path in sorted(EXAMPLES.glob("*.py"))
    for info in find_models(path, EXAMPLES)
    # A thread reads its own store buffer before what all see, so its reads are not of the shared state.
    if info.options.get("expect") == "violated" and info.options.get("memory_model", "sc") == "sc"
]


@pytest.mark.parametrize("model", VIOLATED)
def test_what_an_example_reads_is_what_its_state_is_said_to_be(model: str) -> None:
    file, _, name = model.partition("::")
    result = check_model(CheckRequest(file, name, str(EXAMPLES)))
    document = trace_model(ReplayRequest(file, name, str(EXAMPLES), result.violations[0].schedule))
    assert document.divergence is None
    assert failing(document) == document.steps[-1]
    state = {variable.name: variable.initial for variable in document.variables}
    read = 0
    for step in document.steps:
        for change in step.changes:
            assert change.written, step
            assert change.before == state[change.variable], step
            state[change.variable] = change.after
        # What is loaded can also be the atomic itself, whose content is the state.
        shown = step.value is not None and "…" not in step.value and step.value != "<Atomic>"
        if step.operation in ("load", "atomic-load") and step.target in state and shown:
            assert step.value == state[step.target], step
            read += 1
    assert read or document.failure is not None
    owners = {lane.id for lane in document.threads}
    for step in document.steps:
        for holding in step.holdings:
            assert {*holding.owners, *holding.waiting} <= owners


def test_a_loop_for_ever_is_shown_where_it_loops(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import dpor

            class Flag:
                up = False

            def wait(flag):
                while not flag.up:
                    pass

            @dpor.model
            def model():
                flag = Flag()
                dpor.spawn(wait, flag)
                dpor.join_all()
        """)
    )
    step = failing(document)
    assert (step.operation, step.thread) == ("livelock", "main.0")
    assert step.location is not None
    assert step.location.line == 8
    assert [wait.phrase for wait in document.waits if wait.thread == "main.0"] == ["goes round in a loop"]


def test_a_buffered_store_changes_state_when_it_leaves_the_buffer(request_for: Request) -> None:
    document = trace_model(
        request_for("""
            import dpor

            class Flags:
                def __init__(self):
                    self.left = self.right = 0
                    self.seen = {}

            def raise_left(flags):
                flags.left = 1
                flags.seen["left"] = flags.right

            def raise_right(flags):
                flags.right = 1
                flags.seen["right"] = flags.left

            @dpor.model(memory_model="tso")
            def model():
                flags = Flags()
                dpor.spawn(raise_left, flags)
                dpor.spawn(raise_right, flags)
                dpor.join_all()
                assert flags.seen["left"] or flags.seen["right"]
        """)
    )
    for name in ("Flags#1.left", "Flags#1.right"):
        (written,) = [step for step in document.steps if step.target == name and step.phrase.endswith("← 1")][
            -1:
        ]
        assert written.operation == "flush"
        assert [(change.before, change.after) for change in written.changes] == [("0", "1")]
    buffers = [step for step in document.steps if step.operation == "buffer"]
    assert buffers
    assert not any(step.changes for step in buffers)
