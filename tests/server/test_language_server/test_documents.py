"""Documents with every character at which something may take a line to end are edited as the protocol says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import Workspace

from dpor_lsp.language_server import editing
from dpor_lsp.language_server.analysis import outline
from dpor_lsp.language_server.instrumenting import instrument_edit
from dpor_lsp.language_server.positions import Encoding, edit_of
from dpor_lsp.language_server.wire.text_documents import with_lines

ENCODINGS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
CHARACTERS = (
    "a",
    "b",
    "é",
    "🦀",
    "\n",
    "\r",
    "\r\n",
    "\f",
    "\v",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
)
texts = st.lists(st.sampled_from(CHARACTERS), max_size=12).map("".join)
encodings = st.sampled_from(sorted(ENCODINGS))


class Oracle:
    """A document as code units of an encoding: positions are found by walking over its units one by one."""

    def __init__(self, text: str, encoding: str) -> None:
        self.codec, self.width = ENCODINGS[encoding]
        self.data = text.encode(self.codec)

    def unit(self, index: int) -> bytes:
        return self.data[index * self.width : (index + 1) * self.width]

    def index(self, line: int, character: int) -> int:
        feed, back = ("\n".encode(self.codec), "\r".encode(self.codec))
        count, index = len(self.data) // self.width, 0
        for _ in range(line):
            while index < count and self.unit(index) not in (feed, back):
                index += 1
            if index == count:
                return count
            index += 2 if self.unit(index) == back and self.unit(index + 1) == feed else 1
        for _ in range(character):
            if index == count or self.unit(index) in (feed, back):
                break
            index += 1
        return index

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        first, last = (self.index(*place) * self.width for place in (start, end))
        self.data = self.data[:first] + text.encode(self.codec) + self.data[last:]

    @property
    def text(self) -> str:
        return self.data.decode(self.codec)

    def positions(self) -> list[tuple[int, int]]:
        """Every place between two characters, some past the end of their lines and one past the end of the text."""
        places: list[tuple[int, int]] = []
        line = character = 0
        text = self.text
        for index, letter in enumerate(text):
            inside = letter == "\n" and text[index - 1 : index] == "\r"
            if not inside:
                places.append((line, character))
            if letter in "\r\n":
                places.append((line, character + 3))
            if letter == "\n" or (letter == "\r" and text[index + 1 : index + 2] != "\n"):
                line, character = line + 1, 0
            elif letter != "\r":
                character += len(letter.encode(self.codec)) // self.width
        return [*places, (line, character), (line, character + 3), (line + 2, 1)]


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(
        types.Range(types.Position(*start), types.Position(*end)), text
    )


@given(st.data(), texts, encodings)
def test_edits_make_of_a_document_what_they_make_of_its_code_units(
    data: st.DataObject, text: str, encoding: str
) -> None:
    workspace = with_lines(Workspace(None, position_encoding=encoding))
    workspace.put_text_document(types.TextDocumentItem("file:///m.py", "python", 1, text))
    oracle = Oracle(text, encoding)
    for version in range(data.draw(st.integers(1, 5))):
        places = oracle.positions()
        start, end = sorted((data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))))
        new = data.draw(texts)
        document = workspace.get_text_document("file:///m.py")
        before = oracle.data[: oracle.index(*start) * oracle.width].decode(oracle.codec)
        assert document.offset_at_position(types.Position(*start)) == len(before)
        identifier = types.VersionedTextDocumentIdentifier(version + 2, "file:///m.py")
        workspace.update_text_document(identifier, change(start, end, new))
        oracle.replace(start, end, new)
        assert document.source == oracle.text


def test_a_document_that_is_not_open_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("x = 1\n")
    assert with_lines(Workspace(None)).get_text_document(path.as_uri()).source == ""


@given(texts, texts, encodings)
def test_the_edit_between_two_texts_makes_one_of_the_other(before: str, after: str, encoding: str) -> None:
    workspace_edit = editing.replace_all("file:///m.py", before, after, Encoding(encoding))
    assert workspace_edit.changes is not None
    (edit,) = workspace_edit.changes["file:///m.py"]
    oracle = Oracle(before, encoding)
    start, end = edit.range.start, edit.range.end
    oracle.replace((start.line, start.character), (end.line, end.character), edit.new_text)
    assert oracle.text == after


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_places_below_an_edit_move_by_the_lines_that_it_adds(end: str) -> None:
    edit = edit_of(change((1, 0), (1, 0), f"a\f\u2028{end}b{end}"), Encoding())
    assert edit is not None
    assert edit.move(1, 4, sticky=False) == (3, 4)
    assert edit.move(5, 4, sticky=False) == (7, 4)


@pytest.mark.parametrize("inside", [*CHARACTERS[7:], "🦀"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_edits_of_a_model_are_made_at_its_place_and_keep_the_ends_of_lines(
    tmp_path: Path, inside: str, end: str
) -> None:
    text = (
        f'import dpor{end}{end}note = "{inside}"  # {inside}{end}{end}@dpor.model{end}def m():{end}    pass'
    )
    path = tmp_path / "m.py"
    (model,) = outline(path, tmp_path, text).models
    assert (model.first, model.info.line, model.last) == (5, 6, 7)

    def applied(text: str, edit: types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit) -> str:
        assert isinstance(edit, types.TextEdit)
        oracle = Oracle(text, "utf-16")
        start, stop = edit.range.start, edit.range.end
        oracle.replace((start.line, start.character), (stop.line, stop.character), edit.new_text)
        return oracle.text

    found, _ = editing.ignore("file:///m.py", text, model, "reason", Encoding())
    assert found.changes is not None
    ignored = applied(text, found.changes["file:///m.py"][0])
    assert ignored == text.replace("@dpor", f"# dpor: ignore: reason{end}@dpor")
    (now,) = outline(path, tmp_path, ignored).models
    assert now.ignored == "reason"
    stopped = editing.stop_ignoring("file:///m.py", ignored, now, Encoding())
    assert stopped is not None
    assert stopped.changes is not None
    assert applied(ignored, stopped.changes["file:///m.py"][0]) == text
    instrumented = instrument_edit(text, model, "package", Encoding())
    assert instrumented is not None
    assert applied(text, instrumented) == text.replace("@dpor.model", '@dpor.model(instrument=("package",))')
