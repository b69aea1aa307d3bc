"""What the server promises in figures: how fast it lets go, and that nothing piles up however much happens at once.

The exact figures are rows of `benchmarks/editor.py`; a machine that runs other tests at the same time is given more.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lsp_editor import Editor
from lsp_models import COUNTER, ENDLESS
from lsp_processes import Held, family, gone, held, running_workers

Write = Callable[[str, str], Path]
Launch = Callable[..., Editor]

AT_ONCE = 1.0
"""Seconds instead of the 200 ms that are promised for a check that is called off."""
SOON = 6.0
"""Seconds instead of the 2 s that are promised for the end of everything."""
SLACK = 6
"""Threads and descriptors that a server may take in use for the first time while a test runs."""
FINE = "import dpor\n\n\n@dpor.model\ndef small():\n    pass\n"


@pytest.fixture
def busy(editor: Editor, write: Write) -> str:
    """A file of which one model is being checked, and has been for some executions."""
    uri = editor.open(write("endless.py", ENDLESS))
    editor.state(uri, "small", "verified")
    editor.wait(lambda: editor.states[uri]["many_schedules"]["executions"] > 0)
    return uri


def superseded_by_an_edit(editor: Editor, uri: str) -> None:
    editor.edit(uri, "range(5)", "range(4)")


def superseded_by_another_check(editor: Editor, uri: str) -> None:
    options = {"max_executions": 10}
    arguments = [uri, "many_schedules", options]
    editor.ask("workspace/executeCommand", {"command": "dpor.server.checkWith", "arguments": arguments})


def cancelled_by_the_lens(editor: Editor, uri: str) -> None:
    editor.ask(
        "workspace/executeCommand", {"command": "dpor.server.cancel", "arguments": [uri, "many_schedules"]}
    )


def cancelled_in_the_progress(editor: Editor, uri: str) -> None:
    tokens = editor.wait(
        lambda: [
            params["token"]
            for method, params in editor.received
            if method == "$/progress" and params["value"]["kind"] == "begin"
        ]
    )
    editor.notify("window/workDoneProgress/cancel", {"token": tokens[-1]})


def closed(editor: Editor, uri: str) -> None:
    editor.close(uri)


def taken_away(editor: Editor, uri: str) -> None:
    editor.edit(uri, "@dpor.model\ndef many", "def many")


@pytest.mark.parametrize(
    "stop",
    [
        superseded_by_an_edit,
        superseded_by_another_check,
        cancelled_by_the_lens,
        cancelled_in_the_progress,
        closed,
        taken_away,
    ],
)
def test_a_check_that_nobody_wants_any_more_stops_at_once(
    editor: Editor, busy: str, stop: Callable[[Editor, str], None]
) -> None:
    workers = running_workers(editor)
    assert workers
    if stop is cancelled_in_the_progress:
        editor.wait(lambda: "$/progress" in [method for method, _ in editor.received])
    started = time.monotonic()
    stop(editor, busy)
    assert gone(workers, SOON)
    assert time.monotonic() - started < AT_ONCE


def end_of_input(editor: Editor) -> None:
    assert editor.process.stdin is not None
    editor.process.stdin.close()


def exit_without_shutdown(editor: Editor) -> None:
    editor.notify("exit", None)


@pytest.mark.parametrize("end", [end_of_input, exit_without_shutdown])
def test_the_end_of_the_connection_ends_the_server_and_what_it_runs(
    editor: Editor, busy: str, end: Callable[[Editor], None]
) -> None:
    processes = family(editor)
    assert running_workers(editor)
    end(editor)
    assert gone(processes, SOON)


@pytest.fixture
def client() -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for the editor's own."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_the_death_of_the_client_ends_the_server_and_what_it_runs_though_the_pipes_stay_open(
    launch: Launch, write: Write, project: Path, client: subprocess.Popen[bytes]
) -> None:
    editor = launch()
    editor.request("initialize", {"processId": client.pid, "rootUri": project.as_uri(), "capabilities": {}})
    editor.notify("initialized", {})
    uri = editor.open(write("endless.py", ENDLESS))
    editor.state(uri, "many_schedules", "checking")
    processes = family(editor)
    client.kill()
    client.wait()
    assert gone(processes, SOON)


def assert_nothing_leaks(before: Held, after: Held) -> None:
    assert after.processes == before.processes
    assert after.threads <= before.threads + SLACK
    assert after.descriptors <= before.descriptors + SLACK


def test_a_thousand_edits_in_ten_seconds_end_with_the_state_of_the_last_text(
    launch: Launch, write: Write
) -> None:
    editor = launch()
    editor.initialize(settings={"checkOn": "type"})
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
    before = held(editor)
    started = time.monotonic()
    text = "== 2"
    for number in range(1000):
        # Every tenth edit is followed by a pause that is long enough for a check to begin.
        following = f"<= {number + 3}" if number % 2 else f"== {number + 3}"
        editor.edit(uri, text, following)
        text = following
        wanted = started + number * 0.01
        if number % 100 == 99:
            editor.wait(lambda: editor.states[uri]["two_adders"]["state"] != "stale")
        elif (left := wanted - time.monotonic()) > 0:
            time.sleep(left)
    editor.edit(uri, text, "<= 2")
    version = editor.versions[uri]
    editor.state(uri, "two_adders", "verified")
    editor.wait(lambda: editor.diagnostics.get(uri, []) == [])
    last = [params for method, params in editor.received if method == "dpor/status" and params["uri"] == uri][
        -1
    ]
    assert last["version"] == version
    assert_nothing_leaks(before, held(editor))
    assert editor.states[uri]["two_adders"]["state"] == "verified"


@pytest.mark.parametrize("files", [20, pytest.param(100, marks=pytest.mark.long)])
def test_many_files_at_once_all_get_their_verdict(editor: Editor, write: Write, files: int) -> None:
    first = editor.open(write("first.py", FINE))
    editor.state(first, "small", "verified")
    before = held(editor)
    uris = [
        editor.open(write(f"m{number}.py", COUNTER if number % 10 == 0 else FINE)) for number in range(files)
    ]
    for number, uri in enumerate(uris):
        name, state = ("two_adders", "violated") if number % 10 == 0 else ("small", "verified")
        editor.state(uri, name, state)
    assert [len(editor.diagnostics.get(uri, [])) for uri in uris] == [
        1 if number % 10 == 0 else 0 for number in range(files)
    ]
    for uri in uris:
        editor.close(uri)
    assert_nothing_leaks(before, held(editor))


def test_workers_that_are_killed_again_and_again_cost_one_result_each(
    editor: Editor, busy: str, write: Write
) -> None:
    # Nobody but the system kills like this, so it is taken for what the system does when memory runs out.
    uri = busy
    editor.command("cancel", uri, "many_schedules")
    editor.state(uri, "many_schedules", "incomplete")
    before = held(editor)
    for _ in range(5):
        editor.command("checkModel", uri, "many_schedules")
        editor.state(uri, "many_schedules", "checking")
        workers = editor.wait(lambda: running_workers(editor))
        os.kill(workers[0].pid, signal.SIGKILL)
        editor.state(uri, "many_schedules", "error")
        assert editor.states[uri]["small"]["state"] == "verified"
        (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
        assert found["code"] == "DPOR112"
        assert "was killed" in found["message"]
    editor.edit(uri, "range(5)", "range(1)")
    editor.save(uri)
    editor.state(uri, "many_schedules", "verified")
    editor.wait(lambda: editor.diagnostics[uri] == [])
    assert_nothing_leaks(before, held(editor))


def test_spare_workers_that_are_killed_cost_nothing(editor: Editor, write: Write) -> None:
    first = editor.open(write("first.py", FINE))
    editor.state(first, "small", "verified")
    before = held(editor)
    _, *spare = family(editor)
    for process in spare:
        process.kill()
    assert gone(spare, SOON)
    second = editor.open(write("counter.py", COUNTER))
    editor.state(second, "two_adders", "violated")
    assert_nothing_leaks(before, held(editor))
