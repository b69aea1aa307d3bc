"""The live display on a terminal, and its absence elsewhere."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from dpor.results import Progress
from dpor_lsp.checking.check_target import CheckTarget, Limits
from dpor_lsp.checking.scheduler import Job, Progressed, Started
from dpor_lsp.cli.display import LateDisplay
from dpor_lsp.cli.progress import describe

MakeTarget = Callable[..., CheckTarget]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown_after(
    seconds: float, stream: io.StringIO, target: CheckTarget, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    job = Job(target, Limits())
    with LateDisplay() as display:
        display.observe(Started(job))
        display.observe(Progressed(job, Progress(12000, 0, 0, 5, seconds, 0.25)))
        display.pause()
    return stream.getvalue()


def test_a_slow_check_shows_a_line(make_target: MakeTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "m.py::model" in shown_after(2.0, Terminal(), make_target(), monkeypatch)


def test_a_quick_check_shows_nothing(make_target: MakeTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown_after(0.1, Terminal(), make_target(), monkeypatch) == ""


def test_nothing_is_shown_where_there_is_no_terminal(
    make_target: MakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown_after(2.0, io.StringIO(), make_target(), monkeypatch) == ""


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (None, "starting"),
        (Progress(9000, 3000, 0, 5, 2.0, 0.25), "12,000 executions, 6,000 a second, 25%, about 6.00 s left"),
        (Progress(10, 0, 0, 5, 1.0, 0.0), "10 executions, 10 a second"),
        (Progress(10, 0, 0, 5, 60.0, 1e-9), "10 executions, 0 a second, 0%, about days left"),
    ],
)
def test_progress_in_words(progress: Progress | None, text: str) -> None:
    assert describe(progress) == text
