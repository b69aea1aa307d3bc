"""The page of a trace, and the command that writes it; how it behaves is tested in a browser, in tests/editor."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ReplayRequest
from dpor.tracing import trace_model
from dpor_lsp.cli.command_line import main
from dpor_lsp.trace_view import render

MODEL = """
    import dpor

    @dpor.model
    def model():
        text = "</script><script>alert('{{data}}')</script><!--"
        assert not text
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "target.py").write_text(textwrap.dedent(MODEL))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def page_of(folder: Path) -> str:
    result = check_model(CheckRequest("target.py", "model", str(folder)))
    return render(
        trace_model(ReplayRequest("target.py", "model", str(folder), result.violations[0].schedule))
    )


def test_nothing_in_a_model_can_end_the_data_of_the_page(folder: Path) -> None:
    page = page_of(folder)
    (data,) = re.findall(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    assert "alert('{{data}}')" in json.loads(data)["sources"]["target.py"]
    assert "<" not in data
    assert page.count("<script") == 2


def test_every_page_has_a_nonce_of_its_own_and_loads_nothing(folder: Path) -> None:
    nonces = [
        set(re.findall(r"nonce[-=]\"?([\w-]{16,})", page)) for page in (page_of(folder), page_of(folder))
    ]
    assert [len(found) for found in nonces] == [1, 1]
    assert nonces[0] != nonces[1]
    assert not re.search(r"https?://|src=|@import|url\(", page_of(folder))


def test_replay_writes_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--replay", "target.py::model", "--html", "page.html", "--no-cache"]) == 1
    assert re.fullmatch(r"target.py::model: \d+ steps written to page.html\n", capsys.readouterr().out)
    assert (folder / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--check", "--html", "page.html"], "--html goes with --replay PATH::MODEL alone"),
        (["--replay", "target.py", "--html", "a", "--format", "json"], "--html goes with --replay"),
        (["--replay", "target.py", "--html", "none/page.html"], "--html cannot write none/page.html"),
        (["--debug-adapter", "target.py"], "--debug-adapter takes no paths"),
        (["--debug-adapter", "--check"], "exclude each other"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "DPOR105" in error
    assert message in error
