"""Files of the user that are no regular files, are too large or cannot be read cost nobody any time."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from dpor.codes import Code
from dpor.counterexample.syntax import Sources
from dpor.discovery import find_model_files, find_models
from dpor.errors import DporError
from dpor.reading import LARGEST_SOURCE, read_file, read_source, read_text

Make = Callable[[Path], object]


def bind(path: Path) -> None:
    # A path of a socket is short.
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(LARGEST_SOURCE + 1)


IRREGULAR: list[tuple[str, Make, str]] = [
    ("fifo", os.mkfifo, "it is a named pipe, not a regular file"),
    ("zero", lambda path: path.symlink_to("/dev/zero"), "it is a device, not a regular file"),
    ("terminal", lambda path: path.symlink_to("/dev/ptmx"), "it is a device, not a regular file"),
    ("socket", bind, "it is a socket, not a regular file"),
    ("folder", Path.mkdir, "it is a folder, not a regular file"),
    ("large", sparse, "it has more than 16 MiB"),
]
irregular = pytest.mark.parametrize(
    ("make", "reason"), [item[1:] for item in IRREGULAR], ids=[item[0] for item in IRREGULAR]
)


@irregular
def test_what_is_no_file_of_source_is_refused_with_a_code(tmp_path: Path, make: Make, reason: str) -> None:
    path = tmp_path / "x.py"
    make(path)
    with pytest.raises(DporError) as caught:
        find_models(path, tmp_path)
    assert caught.value.code is Code.NOT_FOUND
    assert caught.value.message.endswith(f"x.py cannot be read: {reason}")
    assert caught.value.fix


@irregular
def test_what_is_no_file_of_source_costs_a_walk_nothing_else(tmp_path: Path, make: Make, reason: str) -> None:
    make(tmp_path / "a.py")
    model = tmp_path / "b.py"
    model.write_text("import dpor\n\n@dpor.model\ndef small():\n    pass\n")
    told: list[DporError] = []
    assert find_model_files([tmp_path], told.append) == [model]
    if not (tmp_path / "a.py").is_dir():
        (error,) = told
        assert error.message == f"{tmp_path / 'a.py'} cannot be read: {reason}"


def test_a_link_to_nowhere_is_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / ".#a.py").symlink_to("user@host.1234")
    told: list[DporError] = []
    assert find_model_files([tmp_path], told.append) == []
    assert not told


def test_a_file_without_a_size_is_read_to_its_end() -> None:
    path = Path("/proc/self/status")
    assert b"Pid:" in read_file(path)
    with pytest.raises(OSError, match="it has more than 0 MiB"):
        read_file(path, 10)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused_with_a_code(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.touch(0)
    with pytest.raises(DporError) as caught:
        read_source(path, "x.py")
    assert caught.value.code is Code.NOT_FOUND
    assert caught.value.fix == "check its permissions"


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    path = tmp_path / "x.py"
    path.write_text("x = 1\n")
    read_file(path)
    with pytest.raises(OSError, match="it has more than"):
        read_file(Path("/proc/self/status"), 10)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_text_is_read_in_its_encoding_with_its_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    for content, text in (
        (b"# coding: latin-1\r\nx = '\xe9'\r", "# coding: latin-1\r\nx = 'é'\r"),
        (b"\xef\xbb\xbfx = 1\r\n", "x = 1\r\n"),
        ("x = '🦀\u2028'".encode(), "x = '🦀\u2028'"),
    ):
        path.write_bytes(content)
        assert read_text(path) == text


@irregular
def test_source_that_has_become_something_else_has_no_lines(tmp_path: Path, make: Make, reason: str) -> None:
    make(tmp_path / "x.py")
    sources = Sources(tmp_path)
    assert sources.line("x.py", 1) == ""
    assert sources.tree("x.py") is not None
