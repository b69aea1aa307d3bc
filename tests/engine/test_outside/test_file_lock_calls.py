"""`fcntl.flock`: single calls, files of the user, and what is refused."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import file_locking
import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, Verdict, ViolationKind

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has flock")

Check = Callable[..., ModelResult]

# Calls in one thread, whose results are compared with CPython's.
SINGLE = {
    "twice": "tries(one, LOCK_EX), tries(one, LOCK_EX), tries(two, LOCK_EX)",
    "shared": "tries(one, LOCK_SH), tries(two, LOCK_SH), tries(two, LOCK_EX), tries(one, LOCK_EX)",
    "lost by a change in vain": "tries(one, LOCK_SH), tries(two, LOCK_SH), tries(one, LOCK_EX), tries(two, LOCK_EX)",
    "made weaker": "tries(one, LOCK_EX), tries(one, LOCK_SH), tries(two, LOCK_SH)",
    "unlocked": "tries(one, LOCK_EX), flock(one, LOCK_UN), flock(one, LOCK_UN), tries(two, LOCK_EX)",
    "copy": "tries(one, LOCK_EX), tries(os.dup(one), LOCK_EX), tries(two, LOCK_EX)",
    "unlock without waiting": "tries(one, LOCK_EX), flock(one, LOCK_UN | LOCK_NB), tries(two, LOCK_EX)",
    "error": "flock(one, LOCK_EX), told(two, LOCK_EX | LOCK_NB)",
    "closed": "os.close(one), told(one, LOCK_EX)",
    "closed file": "told(closed(), LOCK_EX)",
    "never open": "told(999, LOCK_UN), told(-1, LOCK_UN), told(2**40, LOCK_UN), told(-1, 'x'), told(999, 0)",
    "no descriptor": "told('a', LOCK_EX), told(None, LOCK_EX), told(Has('x'), LOCK_EX), told(Has(-1), LOCK_EX)",
    "no method": "told(Without(), LOCK_EX)",
    "has one": "told(Has(one), LOCK_EX), tries(two, LOCK_EX), told(open('a'), LOCK_UN)",
    "no operation": "[told(one, kind) for kind in (0, 3, 4, 9, 10, 2**40, 'x', 2.0, None)]",
    "arguments": "told(one), told(), told(one, 2, 3), told(one, operation=2), told(one, 2, nothing=0)",
}
_SINGLE = """
def told(*arguments, **named):
    try:
        return flock(*arguments, **named)
    except Exception as error:
        return type(error).__name__, error.args
class Has:
    def __init__(self, number): self.number = number
    def fileno(self): return self.number
class Without:
    fileno = None
def closed():
    file = open("a")
    file.close()
    return file
one, two = opened(), opened()
found = ({})
"""


@pytest.mark.parametrize("calls", SINGLE)
def test_single_calls_do_what_they_do_without_a_check(check_locks: Check, tmp_path: Path, calls: str) -> None:
    body = _SINGLE.format(SINGLE[calls])
    text = file_locking.PROGRAM.split("@dpor.model")[0].replace("import dpor", "")
    here = os.getcwd()
    script = tmp_path / "plain.py"
    script.write_text(text + body)
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a").touch()
    os.chdir(folder)
    try:
        found = runpy.run_path(str(script))["found"]
    finally:
        os.chdir(here)
    result = check_locks(f"{body}\nassert found == {found!r}, found")
    assert result.verdict is Verdict.VERIFIED, result.violations


def test_locks_of_the_user_are_neither_taken_nor_seen(check_locks: Check, tmp_path: Path) -> None:
    import fcntl

    mine = tmp_path / "mine"
    mine.touch()
    for flags in ("os.O_RDONLY", "os.O_RDWR"):
        with mine.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            result = check_locks(f"assert tries(os.open({str(mine)!r}, {flags}), LOCK_EX)")
            assert result.verdict is Verdict.VERIFIED
    script = f"import fcntl; fcntl.flock(open({str(mine)!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    result = check_locks(f"flock(os.open({str(mine)!r}, os.O_RDONLY), LOCK_EX)")
    assert result.verdict is Verdict.VERIFIED
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_lock_outlives_that_the_users_file_is_copied(check_locks: Check, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("x")
    body = f"""
file = os.open({str(mine)!r}, os.O_RDONLY)
flock(file, LOCK_EX)
other = os.open({str(mine)!r}, os.O_RDWR)
os.write(other, b"y")
assert not tries(other, LOCK_SH)
assert tries(file, LOCK_EX)
"""
    assert check_locks(body).verdict is Verdict.VERIFIED


REFUSED = {
    "fcntl.lockf(opened(), LOCK_EX)": "locks a file (fcntl.lockf)",
    "flock(0, LOCK_EX)": "locks a file that the model has not opened",
    "flock(opened(), LOCK_EX | 32)": "in a way that is not modelled",
    "dpor.wait_until(lambda: tries(opened(), LOCK_EX))": "in a predicate of wait_until",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_not_modelled_is_refused(check_locks: Check, call: str) -> None:
    with pytest.raises(DporError) as caught:
        check_locks(call)
    assert caught.value.code is Code.UNCONTROLLED
    assert REFUSED[call] in str(caught.value)


def test_a_file_of_the_user_with_several_names_is_refused(check_locks: Check, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.touch()
    os.link(mine, tmp_path / "other")
    with pytest.raises(DporError, match="several names"):
        check_locks(f"flock(os.open({str(mine)!r}, os.O_RDONLY), LOCK_EX)")


_CLOSING = """
one, two = opened(), opened()
flock({}, LOCK_EX)
def lock():
    try:
        flock(one, {})
    except OSError:
        pass
def close():
    os.close(one)
    flock(two, LOCK_EX)
use(lock, close)
"""


@pytest.mark.parametrize("held", ["one", "two"])
@pytest.mark.parametrize("operation", ["LOCK_EX", "LOCK_EX | LOCK_NB", "LOCK_UN"])
def test_a_file_that_is_closed_while_a_thread_locks_it_is_refused(
    check_locks: Check, held: str, operation: str
) -> None:
    with pytest.raises(DporError, match="closes a file while another thread locks it"):
        check_locks(_CLOSING.format(held, operation))


def test_a_file_object_that_ends_while_a_thread_locks_its_descriptor_is_refused(check_locks: Check) -> None:
    body = """
files = [open("a")]
number = files[0].fileno()
def lock():
    try:
        flock(number, LOCK_EX)
    except OSError:
        pass
use(lock, files.clear)
"""
    with pytest.raises(DporError, match="closes a file while another thread locks it"):
        check_locks(body)


def test_a_thread_that_locks_a_copy_may_be_left_alone(check_locks: Check) -> None:
    body = """
one = opened()
copy = os.dup(one)
use(lambda: flock(copy, LOCK_EX), lambda: os.close(one))
assert not tries(opened(), LOCK_SH)
"""
    assert check_locks(body).verdict is Verdict.VERIFIED


def test_locks_that_modules_take_and_give_up_while_they_are_imported_are_gone(
    check_locks: Check, tmp_path: Path
) -> None:
    (tmp_path / "once.py").write_text(
        "import fcntl\nwith open(__file__) as file:\n    fcntl.flock(file, fcntl.LOCK_EX)\n"
    )
    file = tmp_path / "once.py"
    assert (
        check_locks(f"import once\nflock(os.open({str(file)!r}, os.O_RDONLY), LOCK_EX)").verdict
        is Verdict.VERIFIED
    )


def test_a_lock_that_a_module_keeps_is_held_in_each_execution(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    (tmp_path / "kept.py").write_text(
        f"import fcntl, dpor\nKEPT = open({str(lock)!r})\nfcntl.flock(KEPT, fcntl.LOCK_EX)\n"
        f"@dpor.model\ndef model():\n    fcntl.flock(open({str(lock)!r}), fcntl.LOCK_EX)\n"
    )
    result = check_model(CheckRequest("kept.py", "model", str(tmp_path)))
    assert [violation.kind for violation in result.violations] == [ViolationKind.DEADLOCK]
