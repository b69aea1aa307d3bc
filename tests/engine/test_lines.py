"""Lines of source are those of Python's tokenizer."""

from __future__ import annotations

import ast
import linecache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpor._kernel import Host
from dpor.discovery import find_models
from dpor.instrument.import_hook import Instrumentation
from dpor.lines import line_end, split_lines, with_line_ends

INSIDE = ("\f", "\v", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
"""What ends a line for `str.splitlines` alone."""
ENDS = ("\n", "\r\n", "\r")
texts = st.text(st.sampled_from(("\n", "\r", "a", "é", "🦀", *INSIDE)), max_size=30)


@given(texts)
def test_lines_with_their_ends_are_the_text(text: str) -> None:
    lines = split_lines(text, keepends=True)
    assert "".join(lines) == text
    assert [line.rstrip("\r\n") for line in lines] == split_lines(text)
    assert split_lines(text) == [line.decode() for line in text.encode().splitlines()]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("inside", INSIDE)
def test_the_tokenizer_counts_the_same_lines(inside: str, end: str) -> None:
    text = end.join((f'first = """{inside}"""  # {inside}', "second = 2", f'third = "{inside}"', ""))
    lines = split_lines(text)
    for statement in ast.parse(text).body:
        assert isinstance(statement, ast.Assign)
        assert isinstance(statement.targets[0], ast.Name)
        assert lines[statement.lineno - 1].startswith(statement.targets[0].id)


@pytest.mark.parametrize("end", ENDS)
def test_a_text_keeps_the_end_of_its_first_line(end: str) -> None:
    assert line_end(f"\x85a{end}b\n") == end
    assert with_line_ends("a\r\nb\rc\n\n", end) == f"a{end}b{end}c{end}{end}"
    assert line_end("a\u2028b") == "\n"


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("inside", INSIDE)
def test_a_model_below_such_a_character_is_found_at_its_place(tmp_path: Path, inside: str, end: str) -> None:
    text = f'import dpor\n\nnote = "{inside}"  # {inside}\n\n@dpor.model\ndef small():\n    pass\n'.replace(
        "\n", end
    )
    path = tmp_path / "small.py"
    path.write_bytes(text.encode())
    for source in (text, None):
        (model,) = find_models(path, tmp_path, source)
        assert (model.line, model.column, model.end_column) == (6, 5, 10)


@pytest.mark.parametrize("inside", INSIDE)
def test_lines_of_an_edited_text_are_shown_at_their_numbers(tmp_path: Path, inside: str) -> None:
    path = tmp_path / "edited.py"
    text = f'first = "{inside}"\nsecond = 2\n'
    instrumentation = Instrumentation(tmp_path, (), Host(), {path: text})
    try:
        instrumentation.code("edited", str(path))
        assert linecache.getline(str(path), 2) == "second = 2\n"
    finally:
        instrumentation.uninstall()
