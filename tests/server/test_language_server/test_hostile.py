"""Messages that no good client sends: each costs its own answer, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import CAPABILITIES, Editor, RequestError
from lsp_models import COUNTER, ENDLESS
from lsp_processes import family, gone, running_workers
from pygls.exceptions import JsonRpcInvalidParams

Write = Callable[[str, str], Path]
Launch = Callable[..., Editor]

SOON = 10.0
INTERNAL_ERROR, CANCELLED = -32603, -32800
ADDRESSES = [
    "",
    "x",
    "file:",
    "file://[",
    "file://",
    "file:x.py",
    "file://elsewhere/x.py",
    "untitled:Untitled-1",
    "https://example.org/x.py",
    "file:///x%00.py",
    "file:///x\x00.py",
    "file:///\ud800.py",
    "file:///%ff%fe%.py",
    "file:///" + "x" * 5000 + ".py",
    "file:///" + "x/" * 5000 + ".py",
]


def document_requests(uri: str) -> list[tuple[str, dict[str, Any]]]:
    document = {"textDocument": {"uri": uri}}
    here = {"line": 0, "character": 0}
    place = {"start": here, "end": here}
    at = {**document, "position": here}
    return [
        ("textDocument/codeLens", document),
        ("textDocument/documentSymbol", document),
        ("textDocument/hover", at),
        ("textDocument/completion", at),
        ("textDocument/signatureHelp", at),
        ("textDocument/codeAction", {**document, "range": place, "context": {"diagnostics": []}}),
        ("textDocument/inlayHint", {**document, "range": place}),
        (
            "textDocument/inlineValue",
            {**document, "range": place, "context": {"frameId": 1, "stoppedLocation": place}},
        ),
        ("dpor/trace", {"uri": uri, "model": "m"}),
        ("dpor/traceView", {"uri": uri, "model": "m"}),
        *(
            ("workspace/executeCommand", {"command": f"dpor.server.{name}", "arguments": [uri, "m"]})
            for name in ("checkModel", "checkFile", "cancel", "showSchedule", "pinTest", "ignore", "replay")
        ),
    ]


def refusal(editor: Editor, number: int) -> int | None:
    """The code of the error that a request is answered with; None if it is served."""
    try:
        editor.answer(number)
    except RequestError as error:
        return error.code
    return None


def internal_errors(editor: Editor) -> list[str]:
    """What the server has logged of errors of its own."""
    return [
        params["message"]
        for method, params in editor.received
        if method == "window/logMessage"
        and ("DPOR501" in params["message"] or "Traceback" in params["message"] or params["type"] == 1)
    ]


def is_well(editor: Editor, write: Write) -> None:
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
    assert internal_errors(editor) == []


@pytest.mark.parametrize("uri", ADDRESSES, ids=[repr(uri)[:24] for uri in ADDRESSES])
def test_an_address_that_is_no_files_costs_its_own_answer(editor: Editor, write: Write, uri: str) -> None:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": COUNTER}
    editor.notify("textDocument/didOpen", {"textDocument": item})
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "pass"}]}
    editor.notify("textDocument/didChange", change)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 1}]})
    folders = {"event": {"added": [{"uri": uri, "name": "x"}], "removed": []}}
    editor.notify("workspace/didChangeWorkspaceFolders", folders)
    numbers = [editor.ask(method, params) for method, params in document_requests(uri)]
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    for number in numbers:
        assert refusal(editor, number) != INTERNAL_ERROR
    is_well(editor, write)


@pytest.mark.parametrize("uri", ["file://[", "file:///\ud800", "file:///x%00", "untitled:x"])
def test_a_root_that_is_no_folder_is_answered(launch: Launch, uri: str) -> None:
    editor = launch()
    params: dict[str, Any] = {"processId": None, "rootUri": uri, "capabilities": {}}
    refused = refusal(editor, editor.ask("initialize", params))
    assert refused in (None, JsonRpcInvalidParams.CODE)
    if refused is not None:
        editor.initialize()


def test_what_is_said_of_a_document_that_is_not_open_is_left_aside(editor: Editor, write: Write) -> None:
    uri = write("counter.py", COUNTER).as_uri()
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "import nothing"}]}
    editor.notify("textDocument/didChange", change)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    is_well(editor, write)


def test_a_close_of_a_document_that_is_not_open_leaves_its_check_running(
    editor: Editor, write: Write
) -> None:
    uri = write("endless.py", ENDLESS).as_uri()
    editor.command("checkModel", uri, "many_schedules")
    editor.state(uri, "many_schedules", "checking")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    editor.request("dpor/models", None)
    assert editor.states[uri]["many_schedules"]["state"] == "checking"


def test_a_document_that_is_opened_twice_has_the_later_text(editor: Editor, write: Write) -> None:
    path = write("counter.py", COUNTER)
    uri = editor.open(path)
    editor.state(uri, "two_adders", "violated")
    editor.open(path, COUNTER.replace("two_adders", "later"))
    editor.state(uri, "later", "violated", "unchecked", "stale")
    assert internal_errors(editor) == []


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32603, "message": "no"}},
        {"error": 3},
        {"result": None},
        {"result": "text"},
        {"result": {"dpor": {}}},
        {"result": [3]},
        {"result": []},
        {},
        None,
    ],
    ids=repr,
)
def test_whatever_the_client_answers_about_its_configuration_the_server_goes_on(
    launch: Launch, write: Write, answer: dict[str, Any] | None
) -> None:
    editor = launch()
    take = editor._take

    def answering(message: dict[str, Any]) -> None:
        if message.get("method") in ("workspace/configuration", "client/registerCapability"):
            editor.received.append((message["method"], message["params"]))
            if answer is not None:
                editor._send({"id": message["id"], **answer})
        else:
            take(message)

    editor._take = answering
    editor.initialize({**CAPABILITIES, "workspace": {**CAPABILITIES["workspace"], "configuration": True}})
    editor.wait(lambda: "workspace/configuration" in [method for method, _ in editor.received])
    is_well(editor, write)


def test_an_answer_to_nothing_does_not_take_the_place_of_a_requests(editor: Editor, write: Write) -> None:
    number = editor.ask("workspace/symbol", {"query": ""})
    editor._send({"id": number, "result": "not from the server"})
    editor._send({"id": "unknown", "error": {"code": 1, "message": "x"}})
    assert editor.answer(number) == []
    is_well(editor, write)


def test_a_cancel_is_safe_at_any_time(editor: Editor, write: Write) -> None:
    for number in ("unknown", 0, -1, 1 << 30):
        editor.notify("$/cancelRequest", {"id": number})
    asked = editor.ask("workspace/symbol", {"query": ""})
    for _ in range(3):
        editor.notify("$/cancelRequest", {"id": asked})
    assert refusal(editor, asked) in (None, CANCELLED)
    for token in ("unknown", 7, "dpor-1"):
        editor.notify("window/workDoneProgress/cancel", {"token": token})
    is_well(editor, write)


def test_a_cancel_right_after_the_wish_for_a_check_calls_it_off(launch: Launch, write: Write) -> None:
    editor = launch()
    editor.initialize(checkOn="manual")
    uri = editor.open(write("endless.py", ENDLESS))
    editor.state(uri, "many_schedules", "unchecked")
    where = {"arguments": [uri, "many_schedules"]}
    numbers = [
        editor.ask("workspace/executeCommand", {"command": f"dpor.server.{name}", **where})
        for name in ("checkModel", "cancel")
    ]
    for number in numbers:
        editor.answer(number)
    editor.state(uri, "many_schedules", "unchecked", "incomplete")
    editor.request("dpor/models", None)
    assert running_workers(editor) == []
    # It is not called off for good.
    editor.command("checkModel", uri, "many_schedules")
    editor.state(uri, "many_schedules", "checking")


def test_a_shutdown_is_answered_while_commands_wait(editor: Editor, write: Write) -> None:
    uri = write("counter.py", COUNTER).as_uri()
    for _ in range(5):
        editor.ask("workspace/executeCommand", {"command": "dpor.server.checkFile", "arguments": [uri]})
    assert editor.shutdown() == 0


@pytest.mark.parametrize("number", [1 << 31, 1 << 80, 0, -1, -(1 << 40)])
def test_a_process_that_can_be_none_is_not_waited_for(launch: Launch, write: Write, number: int) -> None:
    editor = launch()
    params = {"processId": number, "rootUri": editor.folder.as_uri(), "capabilities": CAPABILITIES}
    assert "capabilities" in editor.request("initialize", params)
    editor.notify("initialized", {})
    is_well(editor, write)
    assert editor.process.stdin is not None
    processes = family(editor)
    editor.process.stdin.close()
    assert gone(processes, SOON)


@pytest.mark.skipif(os.name == "nt", reason="the system does not tell")
def test_a_client_that_stops_reading_ends_an_idle_server_and_its_workers(
    editor: Editor, write: Write
) -> None:
    uri = editor.open(write("endless.py", ENDLESS))
    editor.state(uri, "many_schedules", "checking")
    processes = family(editor)
    assert editor.process.stdout is not None
    # The pipe's end is closed, and the test's own thread finds the end of a file.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, editor.process.stdout.fileno())
    os.close(nothing)
    assert gone(processes, SOON)


HOSTILE = '''\
import dpor


@dpor.model
def shown(a="![x](https://example.org/i.png)", b="`` ![x](https://example.org/j.png) [run](command:x) ``"):
    """<img src=x> ![x](https://example.org/k.png) [run](command:workbench.action) https://example.org & `code`"""
'''


def test_a_hover_shows_texts_of_an_untrusted_folder_as_they_are(launch: Launch, write: Write) -> None:
    from markdown_it import MarkdownIt

    editor = launch()
    editor.initialize(trusted=False)
    uri = editor.open(write("shown.py", HOSTILE))
    params = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 5}}
    hover = editor.request("textDocument/hover", params)
    page = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(hover["contents"]["value"])
    assert "<img" not in page
    assert "<a " not in page
    # In code and escaped, all of it is still there to read.
    assert "[run](command:x)" in page
    assert "&lt;img src=x&gt;" in page


@pytest.mark.parametrize("number", [[], {}, None, 1.5, True])
def test_a_cancel_of_what_can_be_no_request_is_left_aside(
    editor: Editor, write: Write, number: object
) -> None:
    editor.notify("$/cancelRequest", {"id": number})
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
