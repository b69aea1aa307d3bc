"""What a process has written is read to its end, and no further."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

import pytest

from dpor_lsp.checking.pipes import Mark, MarkedPipe


def read(pipe: MarkedPipe) -> list[bytes | Mark]:
    """All that the pipe gives, pieces joined."""
    joined: list[bytes | Mark] = []
    for piece in pipe.pieces():
        if joined and isinstance(piece, bytes) and isinstance(joined[-1], bytes):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def test_all_that_was_written_before_the_end_is_read_while_another_end_stays_open() -> None:
    pipe = MarkedPipe()
    other = os.dup(pipe.write_end)
    os.write(other, b"before")
    pipe.end()
    pipe.end()
    os.write(other, b"after")
    assert read(pipe) == [b"before", Mark.ENDED]
    os.close(other)


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 1000])
@pytest.mark.parametrize("drawn", [0, 254], ids=["lowest", "highest"])
def test_a_mark_comes_between_what_was_written_before_and_after(
    size: int, drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpor_lsp.checking.pipes.READ_SIZE", size)
    monkeypatch.setattr("dpor_lsp.checking.pipes.secrets.randbelow", lambda _: drawn)
    pipe = MarkedPipe()
    pipe.ask()
    os.write(pipe.write_end, b"one\0\0")
    pipe.ask()
    pipe.ask()
    os.write(pipe.write_end, b"two")
    pipe.end()
    pipe.ask()
    assert read(pipe) == [Mark.ASKED, b"one\0\0", Mark.ASKED, Mark.ASKED, b"two", Mark.ENDED]


def test_a_piece_is_not_kept_back() -> None:
    pipe = MarkedPipe()
    pieces = pipe.pieces()
    for text in (b"{}\n", b"ends with a zero: \0."):
        os.write(pipe.write_end, text)
        assert next(pieces) == text
    pipe.end()
    assert list(pieces) == [Mark.ENDED]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Windows always keep a writer waiting")
def test_a_full_pipe_that_was_made_non_blocking_still_ends() -> None:
    pipe = MarkedPipe()
    os.set_blocking(pipe.write_end, False)
    written = 0
    try:
        while True:
            written += os.write(pipe.write_end, b"x" * 4096)
    except BlockingIOError:
        pass
    ending = threading.Thread(target=pipe.end)
    ending.start()
    first, *others = read(pipe)
    ending.join()
    assert isinstance(first, bytes)
    assert (len(first), others) == (written, [Mark.ENDED])


def test_the_end_of_a_pipe_that_nobody_reads_any_more_is_no_error() -> None:
    pipe = MarkedPipe()
    os.write(pipe.write_end, b"x")
    with contextlib.closing(pipe.pieces()) as pieces:
        next(pieces)
    pipe.end()
