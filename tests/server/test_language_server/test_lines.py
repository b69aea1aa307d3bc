"""Features find their places in files with any ends of lines, and with characters at which only strings are split."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor, lines_of
from lsp_models import COUNTER

from dpor.results import Violation
from dpor_lsp.language_server import pinning

Write = Callable[[str, str], Path]
INSIDE = "\f\v\x1c\x1d\x1e\x85\u2028\u2029"
NOTE = f'NOTE = "{INSIDE}"  # {INSIDE}\n'
LINE = 2 + 17
"""The line (from 0) of the assertion in MODEL."""
MODEL = COUNTER.replace("import dpor\n", f"import dpor\n{NOTE}\f\n").replace(
    "    assert counter.value == 2", f'    note = "{INSIDE}🦀"; assert counter.value == 2'
)
ends = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])


def ends_of(text: str) -> set[str]:
    return set(re.findall(r"\r\n|\n|\r", text))


@pytest.fixture
def place(project: Path, end: str) -> Path:
    path = project / "counter.py"
    path.write_bytes(MODEL.rstrip("\n").replace("\n", end).encode())
    return path


@ends
def test_every_feature_finds_its_place(editor: Editor, place: Path) -> None:
    uri = editor.open(place)
    lines = [line.rstrip("\r\n") for line in lines_of(editor.texts[uri])]
    first = lines.index("@dpor.model")
    editor.state(uri, "two_adders", "violated")
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    column = len(lines[LINE].partition("counter.value")[0]) + 1
    assert found["range"] == {
        "start": {"line": LINE, "character": column},
        "end": {"line": LINE, "character": column + len("counter.value == 2")},
    }
    body = lines.index("        self.value += 1")
    assert {item["location"]["range"]["start"]["line"] for item in found["relatedInformation"]} == {
        body,
        LINE,
    }
    assert {line for line, _ in editor.lenses(uri)} == {first + 1}
    document = {"textDocument": {"uri": uri}}
    hover = editor.request(
        "textDocument/hover", {**document, "position": {"line": first + 1, "character": 6}}
    )
    assert hover["range"]["start"] == {"line": first + 1, "character": 4}
    (symbol,) = editor.request("textDocument/documentSymbol", document)
    assert symbol["selectionRange"]["start"] == {"line": first + 1, "character": 4}
    assert symbol["range"]["end"]["line"] == LINE
    assert any(item["title"].startswith("Pin") for item in editor.actions(uri, LINE, column))
    shown = editor.command("showSchedule", uri, "two_adders", 0)["text"]
    assert shown.startswith(f"counter.py:{LINE + 1}: ")
    assert "self.value += 1" in shown
    editor.command("replay", uri, "two_adders", 0)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 1000, "character": 0}}
    hints = editor.request("textDocument/inlayHint", {**document, "range": whole})
    assert {(item["position"]["line"], item["position"]["character"]) for item in hints} == {
        (body, len(lines[body]))
    }
    values = editor.request(
        "textDocument/inlineValue",
        {**document, "range": whole, "context": {"frameId": 1, "stoppedLocation": whole}},
    )
    assert {item["range"]["start"]["line"] for item in values} == {body}


@ends
def test_what_is_checked_after_edits_is_what_is_shown(editor: Editor, place: Path) -> None:
    uri = editor.open(place)
    editor.state(uri, "two_adders", "violated")
    editor.edit(uri, "counter.value == 2", "counter.value in (1, 2)")
    editor.edit(uri, INSIDE, f"{INSIDE}🦀{INSIDE}")
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    editor.state(uri, "two_adders", "verified")
    editor.edit(uri, "counter.value in (1, 2)", "counter.value == 2")
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    editor.state(uri, "two_adders", "violated")
    (found,) = editor.wait(lambda: editor.diagnostics.get(uri))
    assert found["range"]["start"]["line"] == LINE


@ends
def test_options_are_completed_below_such_characters(editor: Editor, write: Write, end: str) -> None:
    text = f"import dpor\n{NOTE}\n@dpor.model(mem)\ndef m():\n    pass".replace("\n", end)
    uri = editor.open(write("options.py", ""), text)
    answer: Any = editor.request(
        "textDocument/completion",
        {"textDocument": {"uri": uri}, "position": {"line": 3, "character": len("@dpor.model(mem")}},
    )
    items = answer["items"] if isinstance(answer, dict) else answer
    assert "memory_model=" in [item["label"] for item in items]


@ends
@pytest.mark.parametrize("opened", [True, False])
def test_pin_and_ignore_leave_the_rest_of_a_file_as_it_is(
    editor: Editor, project: Path, end: str, opened: bool
) -> None:
    path = project / "test_counter.py"
    text = MODEL.rstrip("\n").replace("\n", end)
    path.write_bytes(text.encode())
    uri = editor.open(path)
    editor.state(uri, "two_adders", "violated")
    if not opened:
        editor.close(uri)
        editor.state(uri, "two_adders", "violated")

    def now() -> str:
        return editor.texts[uri] if opened else path.read_bytes().decode()

    name = editor.command("pinTest", uri, "two_adders", 0)["name"]
    pinned = editor.wait(lambda: name in now() and now())
    assert pinned.startswith(text + 3 * end)
    assert ends_of(pinned) == {end}
    ast.parse(pinned)
    line = lines_of(pinned).index(f"def {name}() -> None:{end}")
    assert editor.shown[-1]["selection"]["start"] == {"line": line, "character": 0}
    editor.command("ignore", uri, "two_adders", "known")
    ignored = editor.wait(lambda: "known" in now() and now())
    assert ignored == pinned.replace("@dpor.model", f"# dpor: ignore: known{end}@dpor.model")


@ends
@pytest.mark.parametrize("character", INSIDE)
@pytest.mark.parametrize(
    "head", ["", '"""Tests."""', "import os", "# coding: utf-8", "#!/usr/bin/python\n# tests"]
)
def test_a_pinned_test_adds_lines_and_changes_none(
    violation: Violation, end: str, character: str, head: str
) -> None:
    before = f'{head}\nnote = "{character}"  # {character}\n\n'.lstrip("\n").replace("\n", end)
    pin = pinning.pin(Path("/p/m.py"), "model", violation, before)
    assert ends_of(pin.after) == {end}
    left = iter(lines_of(pin.after))
    assert all(line in left for line in lines_of(before.rstrip("\r\n") + end))
    (test,) = (node for node in ast.parse(pin.after).body if isinstance(node, ast.FunctionDef))
    assert test.lineno == pin.line + 1
    if head.startswith("#"):
        assert pin.after.startswith(head.replace("\n", end))


@pytest.mark.parametrize("character", [*INSIDE, "\r", "\0", "\ud800", "\\"])
def test_a_message_with_any_character_makes_a_valid_test(violation: Violation, character: str) -> None:
    told = Violation(**{**vars(violation), "message": f'a{character}b"""c'})
    pin = pinning.pin(Path("/p/m.py"), "model", told, None)
    (test,) = (node for node in ast.parse(pin.after).body if isinstance(node, ast.FunctionDef))
    assert ast.get_docstring(test) == f"{told.code.value}: a{character}b'''c"
    assert ends_of(pin.after) == {"\n"}
