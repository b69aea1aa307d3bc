"""Commands do what they say: through the editor, with words for what they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lsp_editor import Editor, RequestError
from lsp_models import BANK, COUNTER

Write = Callable[[str, str], Path]
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}


@pytest.fixture
def checked(editor: Editor, write: Write) -> str:
    uri = editor.open(write("bank.py", BANK))
    editor.state(uri, "opposite_transfers", "violated")
    return uri


def run_pytest(folder: Path, file: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_the_schedule_is_shown_as_a_document(editor: Editor, checked: str) -> None:
    answer = editor.command("showSchedule", checked, "opposite_transfers", 0)
    assert "bank.py:14" in answer["text"]
    assert "main.0 → Account#2.lock → main.1 → Account#1.lock → main.0" in answer["text"]
    assert "dpor-lsp --replay bank.py::opposite_transfers" in answer["text"]
    (shown,) = editor.shown
    assert shown["uri"] == answer["uri"]
    file = Path(answer["uri"].removeprefix("file://"))
    assert file.read_text() == answer["text"]
    assert file.stat().st_mode & 0o222 == 0
    assert editor.command("showSchedule", checked, "opposite_transfers")["uri"] == answer["uri"]


def test_a_pinned_counterexample_fails_until_the_bug_is_fixed(
    editor: Editor, checked: str, project: Path
) -> None:
    answer = editor.command("pinTest", checked, "opposite_transfers", 0)
    file = project / "test_bank_schedules.py"
    assert answer == {"uri": file.as_uri(), "name": "test_opposite_transfers_deadlock"}
    text = file.read_text()
    assert "import dpor\nfrom bank import opposite_transfers\n" in text
    failed = run_pytest(project, file.name)
    assert failed.returncode == 1
    assert "DPOR203: deadlock" in failed.stdout
    editor.save(checked)
    fixed = BANK.replace("with source.lock:", "with MUTEX:").replace(
        "\n\ndef transfer", "\nMUTEX = threading.RLock()\n\n\ndef transfer"
    )
    (project / "bank.py").write_text(fixed.replace("with target.lock:", "with MUTEX:"))
    passed = run_pytest(project, file.name)
    assert passed.returncode == 0, passed.stdout


def test_a_counterexample_is_pinned_once(editor: Editor, checked: str, project: Path) -> None:
    editor.command("pinTest", checked, "opposite_transfers")
    text = (project / "test_bank_schedules.py").read_text()
    assert editor.command("pinTest", checked, "opposite_transfers")["name"] is None
    assert (project / "test_bank_schedules.py").read_text() == text


def test_a_model_in_a_test_file_gets_its_test_there(editor: Editor, write: Write) -> None:
    uri = editor.open(write("test_counter.py", COUNTER))
    editor.state(uri, "two_adders", "violated")
    editor.command("pinTest", uri, "two_adders")
    text = editor.texts[uri]
    assert text.startswith(COUNTER)
    assert "def test_two_adders_assertion() -> None:\n" in text
    assert text.count("import dpor") == 1
    editor.state(uri, "two_adders", "stale", "violated")


def test_ignoring_a_model_is_visible_and_can_be_undone(editor: Editor, checked: str) -> None:
    editor.command("ignore", checked, "opposite_transfers", "known, see issue 7")
    state = editor.state(checked, "opposite_transfers", "ignored")
    assert state["message"] == "ignored: known, see issue 7"
    assert "# dpor: ignore: known, see issue 7\n@dpor.model\n" in editor.texts[checked]
    editor.wait(lambda: editor.diagnostics[checked] == [])
    assert [title for _, title in editor.lenses(checked)] == ["ignored: known, see issue 7", "stop ignoring"]
    assert [item["title"] for item in editor.actions(checked, 19)] == ["Stop ignoring opposite_transfers"]
    editor.command("ignore", checked, "opposite_transfers", None)
    assert editor.texts[checked] == BANK
    editor.state(checked, "opposite_transfers", "violated")


def test_ignoring_without_a_reason_asks_for_one_at_its_place(editor: Editor, checked: str) -> None:
    editor.command("ignore", checked, "opposite_transfers", "")
    (shown,) = editor.shown
    start, end = shown["selection"]["start"], shown["selection"]["end"]
    line = editor.texts[checked].splitlines()[start["line"]]
    assert line[start["character"] : end["character"]] == "say here why"


def test_a_counterexample_is_walked_with_its_values_at_the_ends_of_lines(
    editor: Editor, checked: str
) -> None:
    first = editor.command("replay", checked, "opposite_transfers", 0)
    assert first["text"] == "9. main.0 acquires Account#1.lock"
    assert editor.shown[-1]["selection"]["start"] == {"line": 12, "character": 4}

    def hints() -> list[tuple[int, int, str]]:
        params = {"textDocument": {"uri": checked}, "range": WHOLE}
        found = editor.request("textDocument/inlayHint", params)
        return [(item["position"]["line"], item["position"]["character"], item["label"]) for item in found]

    assert hints() == [(12, 21, "9. main.0: acquires Account#1.lock")]
    assert "step 1 of 2: next" in [title for _, title in editor.lenses(checked)]
    second = editor.command("replayStep", checked, "opposite_transfers", 1)
    assert second["text"] == "13. main.1 acquires Account#2.lock"
    assert hints() == [(12, 21, "13. main.1: acquires Account#2.lock")]
    params = {
        "textDocument": {"uri": checked},
        "range": WHOLE,
        "context": {"frameId": 1, "stoppedLocation": WHOLE},
    }
    (value,) = editor.request("textDocument/inlineValue", params)
    assert value["text"] == "13. main.1: acquires Account#2.lock"
    assert editor.command("replayStep", checked, "opposite_transfers", -1) == first
    editor.command("replayStep", checked, "opposite_transfers", 0)
    assert hints() == []


def test_a_recorded_trace_and_its_page_are_given(editor: Editor, checked: str) -> None:
    params = {"uri": checked, "model": "opposite_transfers", "violation": 0}
    path = Path(editor.request("dpor/trace", params)["path"])
    document = json.loads(path.read_text())
    assert document["failure"]["code"] == "DPOR203"
    assert editor.request("dpor/trace", params)["path"] == str(path)
    html = editor.request("dpor/traceView", params)["html"]
    assert html.lstrip().lower().startswith("<!doctype html>")
    assert "opposite_transfers" in html


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("checkModel", ["opposite_transfer"], "did you mean 'opposite_transfers'"),
        ("checkWith", ["opposite_transfers", {"algoritm": "source"}], "no option 'algoritm': did you mean"),
        ("checkWith", ["opposite_transfers", {"max_executions": -1}], "max_executions does not accept -1"),
        ("checkWith", ["opposite_transfers"], "takes \\[uri, model, {option: value}\\]"),
        ("showSchedule", ["opposite_transfers", 7], "has no counterexample to show: violated: deadlock"),
        ("replayStep", ["opposite_transfers", 1], "no counterexample to walk"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    editor: Editor, checked: str, command: str, arguments: list[object], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        editor.command(command, checked, *arguments)
