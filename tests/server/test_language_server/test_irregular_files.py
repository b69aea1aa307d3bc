"""A workspace with files that are none: the server never waits for one, and says once that it has skipped it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor
from lsp_models import COUNTER

Write = Callable[[str, str], Path]
Make = Callable[[Path], object]
IRREGULAR: dict[str, Make] = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}
irregular = pytest.mark.parametrize(("what", "make"), IRREGULAR.items(), ids=["fifo", "zero"])


def skips(editor: Editor) -> list[str]:
    return [
        params["message"]
        for method, params in editor.received
        if method == "window/logMessage" and "skipped" in params["message"]
    ]


@irregular
@pytest.mark.parametrize("trusted", [True, False])
def test_the_workspace_is_listed_without_what_is_no_file(
    launch: Callable[..., Editor], write: Write, project: Path, what: str, make: Make, trusted: bool
) -> None:
    make(project / "a.py")
    uri = write("counter.py", COUNTER).as_uri()
    editor = launch()
    editor.initialize(trusted=trusted)
    for _ in range(2):
        models: list[dict[str, Any]] = editor.request("dpor/models", {})["models"]
        assert [item["uri"] for item in models] == [uri]
    (skip,) = skips(editor)
    assert (
        skip == f"DPOR103: {project / 'a.py'} cannot be read: it is {what}, not a regular file; it is skipped"
    )
    assert editor.shutdown() == 0


def test_a_file_that_becomes_a_pipe_takes_nothing_with_it(
    editor: Editor, write: Write, project: Path
) -> None:
    uri = editor.open(write("counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
    (project / "counter.py").unlink()
    os.mkfifo(project / "counter.py")
    os.mkfifo(project / "other.py")
    changes = [{"uri": path.as_uri(), "type": 2} for path in (project / "counter.py", project / "other.py")]
    editor.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    editor.request(
        "textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 15, "character": 5}}
    )
    editor.command("showSchedule", uri, "two_adders")
    editor.edit(uri, "self.value += 1", "self.value += 2")
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    editor.state(uri, "two_adders", "violated", "error")
    editor.close(uri)
    fine = editor.open(write("fine.py", COUNTER.replace("two_adders", "more")))
    editor.state(fine, "more", "violated")
    assert editor.shutdown() == 0


@irregular
def test_settings_that_are_no_file_are_said_at_the_model(
    editor: Editor, write: Write, project: Path, what: str, make: Make
) -> None:
    (project / "pyproject.toml").unlink()
    make(project / "pyproject.toml")
    uri = editor.open(write("counter.py", COUNTER))
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert found["code"] == "DPOR103"
    assert f"pyproject.toml cannot be read: it is {what}, not a regular file" in found["message"]
