"""Calls on descriptors that another thread closes, and on numbers that the system gives again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpor.errors import DporError
from dpor.results import AssumptionKind, Verdict

Check = Callable[..., Any]

OPEN = 'global FILE\n    FILE = os.open("a", os.O_RDWR)'
BEFORE = "FILE = 0\n"
# What a call gives before and after the descriptor has been closed.
CALLS: dict[str, tuple[Any, Any]] = {
    "os.write(FILE, b'x')": (1, "OSError"),
    "os.read(FILE, 3)": (b"one", "OSError"),
    "os.pread(FILE, 1, 0)": (b"o", "OSError"),
    "os.lseek(FILE, 0, os.SEEK_END)": (3, "OSError"),
    "os.fstat(FILE).st_size": (3, "OSError"),
    "os.stat(FILE).st_size": (3, "OSError"),
    "os.statvfs(FILE) is None": (False, "OSError"),
    "os.ftruncate(FILE, 1)": (None, "OSError"),
    "os.truncate(FILE, 1)": (None, "OSError"),
    "os.chmod(FILE, 0o600)": (None, "OSError"),
    "os.fsync(FILE)": (None, "OSError"),
    "os.isatty(FILE)": (False, False),
    "os.get_inheritable(FILE)": (False, "OSError"),
    "os.dup(FILE) is None": (False, "OSError"),
    "os.dup2(FILE, 200)": (200, "OSError"),
    "os.close(FILE)": (None, "OSError"),
    "os.listdir(FILE)": ("NotADirectoryError", "OSError"),
    "os.fdopen(FILE, closefd=False).read()": ("one", "OSError"),
    "os.sendfile(FILE, FILE, 0, 1)": (1, "OSError"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_fails_once_another_thread_has_closed_the_descriptor(check: Check, call: str) -> None:
    found, _ = check(call, "os.close(FILE)", "None", before=BEFORE, begin=OPEN)
    assert {first for (first, _), _ in found} == set(CALLS[call])


@pytest.mark.parametrize(
    "call", ["os.mkdir('made', dir_fd=FOLDER)", "os.rename('c', 'd', src_dir_fd=FOLDER)"]
)
def test_a_path_relative_to_a_folder_fails_once_that_is_closed(check: Check, call: str) -> None:
    begin = 'global FOLDER\n    FOLDER = os.open("sub", os.O_RDONLY)'
    found, _ = check(call, "os.close(FOLDER)", "None", before="FOLDER = 0", begin=begin)
    assert {first for (first, _), _ in found} == {None, "OSError"}


def test_a_file_object_fails_once_its_descriptor_is_closed(check: Check) -> None:
    begin = f'{OPEN}\n    global STREAM\n    STREAM = os.fdopen(FILE, "wb", buffering=0)'
    found, _ = check(
        'STREAM.write(b"x")', "os.close(FILE)", "None", before=f"{BEFORE}STREAM = None", begin=begin
    )
    assert {first for (first, _), _ in found} == {1, "OSError"}


def test_a_number_that_is_used_after_it_was_closed_may_be_another_file(check: Check) -> None:
    stale = "os.close(FILE)\nreturn os.write(FILE, b'stale')"
    found, _ = check(stale, 'os.open("b", os.O_WRONLY) and None', 'read("b")', before=BEFORE, begin=OPEN)
    assert {(first, content) for (first, _), content in found} == {("OSError", "two"), (5, "stale")}


def test_a_number_that_is_closed_twice_may_be_another_file(check: Check) -> None:
    twice = "os.close(FILE)\nos.close(FILE)"
    other = 'number = os.open("b", os.O_WRONLY)\nreturn os.write(number, b"x")'
    found, _ = check(twice, other, "None", before=BEFORE, begin=OPEN)
    assert {results for results, _ in found} == {("OSError", 1), (None, 1), (None, "OSError")}


@pytest.mark.parametrize(
    ("call", "error"),
    {
        "os.unlink(FILE)": "TypeError",
        "os.mkdir(FILE)": "TypeError",
        "os.replace(FILE, 'c')": "TypeError",
        "os.open(FILE, os.O_RDONLY)": "TypeError",
        "os.close(-1)": "OSError",
        "open(-1)": "ValueError",
        "os.sendfile(out_fd=FILE, in_fd=999, offset=0, count=1)": "OSError",
    }.items(),
)
def test_a_number_that_is_no_path_or_file_raises_as_the_system_does(
    check: Check, call: str, error: str
) -> None:
    found, _ = check(call, "None", 'os.path.exists("a")', before=BEFORE, begin=OPEN)
    assert {(first, exists) for (first, _), exists in found} == {(error, True)}


@pytest.mark.parametrize("call", ["os.chmod(FILE, 0)", "os.statvfs(FILE)", "os.stat(FILE)"])
def test_an_error_names_the_number_that_was_given(check: Check, call: str) -> None:
    name = f"os.close(FILE)\ntry:\n    {call}\nexcept OSError as error:\n    return error.filename in (FILE, None)"
    found, _ = check(name, "None", "None", before=BEFORE, begin=OPEN)
    assert {first for (first, _), _ in found} == {True}


def test_a_folder_that_was_removed_is_not_listed_by_its_descriptor(check: Check) -> None:
    begin = 'global FOLDER\n    FOLDER = os.open("empty", os.O_RDONLY)'
    with pytest.raises(DporError, match="after it has been removed"):
        check(
            'os.rmdir("empty")\nos.mkdir("empty")\nreturn os.listdir(FOLDER)',
            "None",
            "None",
            "FOLDER = 0",
            begin,
        )


def test_threads_that_open_and_close_files_of_their_own_are_one_class(check: Check) -> None:
    own = 'number = os.open("{}", os.O_RDONLY)\nos.read(number, 1)\nos.close(number)'
    _, result = check(own.format("a"), own.format("b"), "None")
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 1


def test_a_read_only_descriptor_changes_no_file_of_the_user(check: Check, folder: Path) -> None:
    # The fixture compares what the folder is before and after.
    change = 'number = os.open("a", os.O_RDONLY)\nos.fchmod(number, 0o600)\nreturn os.fstat(number).st_mode & 0o777'
    found, _ = check(change, "None", "None")
    assert {first for (first, _), _ in found} == {0o600}
    assert (folder / "a").stat().st_mode & 0o777 != 0o600


def test_a_folder_that_was_renamed_is_found_by_its_descriptor(check: Check) -> None:
    begin = 'global FOLDER\n    FOLDER = os.open("sub", os.O_RDONLY)'
    found, _ = check(
        "tuple(os.listdir(FOLDER))", 'os.rename("sub", "moved")', "None", before="FOLDER = 0", begin=begin
    )
    assert {first for (first, _), _ in found} == {("c",)}


SHOWN = {
    "fileno": "NUMBERS.append(open('own' + MADE, 'w').fileno())",
    "os.open": "NUMBERS.append(os.open('own' + MADE, os.O_CREAT | os.O_RDWR))",
    "os.dup": "NUMBERS.append(os.dup(FILE))",
}


@pytest.mark.parametrize("function", SHOWN)
def test_a_number_that_rests_on_the_order_of_opening_is_an_assumption(check: Check, function: str) -> None:
    first, second = (SHOWN[function].replace("MADE", repr(name)) for name in "ab")
    _, result = check(first, second, "None", before=f"{BEFORE}NUMBERS = []\n", begin=OPEN)
    told = [one.subject for one in result.assumptions if one.kind is AssumptionKind.DRAWN_NUMBER]
    assert told == [function]


@pytest.mark.parametrize(
    "call",
    [
        "open('own' + MADE, 'w').close()",
        "tempfile.TemporaryFile().close()",
        "os.close(tempfile.mkstemp()[0]) if MADE == 'a' else None",
    ],
)
def test_a_number_that_is_kept_or_does_not_depend_on_others_is_none(check: Check, call: str) -> None:
    first, second = (call.replace("MADE", repr(name)) for name in "ab")
    _, result = check(first, second, "None", before="import tempfile\n")
    assert AssumptionKind.DRAWN_NUMBER not in {one.kind for one in result.assumptions}
