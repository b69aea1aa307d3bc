"""A server's beginning and end: nothing outlives its client, and nothing is done while there is nothing to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from lsp_editor import CAPABILITIES, Editor
from lsp_models import COUNTER, ENDLESS
from lsp_processes import family, gone

Write = Callable[[str, str], Path]
Launch = Callable[..., Editor]

# Two seconds are promised; a machine that runs other tests at the same time is given more.
SOON = 6.0


def test_a_shutdown_ends_the_server_and_its_workers(editor: Editor, write: Write) -> None:
    uri = editor.open(write("endless.py", ENDLESS))
    editor.state(uri, "many_schedules", "checking")
    processes = family(editor)
    assert editor.shutdown() == 0
    assert gone(processes, SOON)


def test_an_exit_without_shutdown_is_a_failure(editor: Editor) -> None:
    editor.notify("exit", None)
    assert editor.process.wait(SOON) == 1


def test_a_killed_server_leaves_no_worker(editor: Editor, write: Write) -> None:
    uri = editor.open(write("endless.py", ENDLESS))
    editor.state(uri, "many_schedules", "checking")
    processes = family(editor)
    editor.process.kill()
    assert gone(processes, SOON)


def test_an_idle_server_uses_no_processor_time(editor: Editor, write: Write) -> None:
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")

    def used() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in family(editor))

    # The workers that are to wait for the next check may still be starting.
    before, now = -1.0, used()
    for _ in range(20):
        if now == before:
            break
        time.sleep(0.5)
        before, now = now, used()
    time.sleep(1)
    assert used() == now


def test_the_settings_of_a_client_that_tells_them_are_asked_for(launch: Launch, write: Write) -> None:
    editor = launch()
    editor.configuration = {"algorithm": "source"}
    workspace = {**CAPABILITIES["workspace"], "configuration": True}
    editor.initialize({**CAPABILITIES, "workspace": workspace})
    editor.wait(lambda: [method for method, _ in editor.received if method == "workspace/configuration"])
    uri = editor.open(write("counter.py", COUNTER))
    editor.wait(
        lambda: (
            (item := editor.states.get(uri, {}).get("two_adders"))
            and (item["algorithm"], item["state"]) == ("source", "violated")
        )
    )
    editor.configuration = {"checkOn": "manual"}
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    # The verdict is one of other options now, and nobody has asked for another.
    editor.state(uri, "two_adders", "stale")


def test_settings_may_be_the_initialization_options_themselves(launch: Launch, write: Write) -> None:
    editor = launch()
    editor.initialize(checkOn="manual")
    editor.state(editor.open(write("counter.py", COUNTER)), "two_adders", "unchecked")


def test_changes_of_files_are_asked_for(editor: Editor) -> None:
    (params,) = editor.wait(
        lambda: [params for method, params in editor.received if method == "client/registerCapability"]
    )
    (registration,) = params["registrations"]
    assert registration["method"] == "workspace/didChangeWatchedFiles"
    patterns = [item["globPattern"] for item in registration["registerOptions"]["watchers"]]
    assert patterns == ["**/*.py", "**/pyproject.toml"]


def test_a_message_that_is_none_does_not_end_the_server(editor: Editor, write: Write) -> None:
    editor._outgoing.put(
        b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 5}}'
    )
    editor._outgoing.put(b"no json")
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")


@pytest.mark.long
def test_memory_stays_flat(editor: Editor, write: Write) -> None:
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
    server = psutil.Process(editor.process.pid)

    def check(number: int) -> None:
        editor.edit(uri, editor.texts[uri].splitlines()[0], f"import dpor  # {number}")
        editor.state(uri, "two_adders", "stale")
        editor.save(uri)
        editor.wait(
            lambda: (
                editor.states[uri]["two_adders"]["state"] == "violated"
                and editor.diagnostics[uri]
                and not editor.diagnostics[uri][0]["data"]["stale"]
            )
        )

    for number in range(8):
        check(number)
    before = server.memory_info().rss
    for number in range(8, 28):
        check(number)
    assert server.memory_info().rss - before < 4 << 20
    assert server.num_threads() < 30


@pytest.mark.skipif(sys.platform == "win32", reason="no such call there")
def test_the_command_line_loads_nothing_of_the_server(project: Path, write: Write) -> None:
    write("counter.py", COUNTER)
    code = (
        "import sys, json; from dpor_lsp.cli.command_line import main; "
        "main(['--check', 'counter.py', '--format', 'json', '--output', 'x.json']); "
        "print(json.dumps(sorted({'pygls', 'lsprotocol'} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == []


@pytest.mark.skipif(os.name != "posix", reason="reads the modules of another process")
def test_the_engine_loads_nothing_of_the_server() -> None:
    code = (
        "import sys, dpor, dpor.checking, dpor.counterexample.replay; "
        "print('pygls' in sys.modules, 'dpor_lsp' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False False\n"
