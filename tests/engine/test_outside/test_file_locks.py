"""`fcntl.flock`: what threads find of locks on files."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from dpor.results import ModelResult, Verdict, ViolationKind

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has flock")

Check = Callable[..., ModelResult]

# Two threads add 1 to a number in two steps, after a statement that may lock the file.
_COUNT = """
numbers = [0]
def add():
    file = opened()
    {}
    numbers[0] = numbers[0] + 1
    os.close(file)
use(add, add)
assert numbers == [2]
"""


ALGORITHMS = ["optimal", "source", "parsimonious", "graph", "concolic", "unfolding", "exhaustive"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_update_is_lost_without_a_lock_and_not_under_one(check_locks: Check, algorithm: str) -> None:
    for lock, verdict in {
        "pass": Verdict.VIOLATED,
        "flock(file, LOCK_SH)": Verdict.VIOLATED,
        "flock(file, LOCK_EX)": Verdict.VERIFIED,
        "fcntl.flock(file, fcntl.LOCK_EX)": Verdict.VERIFIED,
    }.items():
        assert check_locks(_COUNT.format(lock), algorithm=algorithm).verdict is verdict, lock


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
def test_a_lock_orders_what_is_in_store_buffers(check_locks: Check, memory_model: str) -> None:
    result = check_locks(_COUNT.format("flock(file, LOCK_EX)"), memory_model=memory_model)
    assert result.verdict is Verdict.VERIFIED


def test_a_lock_keeps_accesses_from_being_data_races(check_locks: Check) -> None:
    assert check_locks(_COUNT.format("flock(file, LOCK_EX)"), races="error").verdict is Verdict.VERIFIED
    assert check_locks(_COUNT.format("pass"), races="error").verdict is Verdict.VIOLATED


def test_only_the_order_in_which_threads_take_the_lock_is_explored(check_locks: Check) -> None:
    assert check_locks(_COUNT.format("flock(file, LOCK_EX)")).executions == 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_who_does_not_wait_takes_the_lock_or_does_not(check_locks: Check, algorithm: str) -> None:
    body = """
taken = []
def attempt():
    file = opened()
    taken.append(tries(file, LOCK_EX))
    os.close(file)
use(attempt, attempt)
assert {}
"""
    assert check_locks(body.format("True in taken"), algorithm=algorithm).verdict is Verdict.VERIFIED
    assert check_locks(body.format("False in taken"), algorithm=algorithm).verdict is Verdict.VIOLATED
    assert check_locks(body.format("False not in taken"), algorithm=algorithm).verdict is Verdict.VIOLATED


_TOGETHER = """
inside, most = [0], [0]
def run(kind):
    file = opened()
    flock(file, kind)
    inside[0] += 1
    most[0] = max(most[0], inside[0])
    inside[0] -= 1
    flock(file, LOCK_UN)
use(lambda: run({}), lambda: run({}))
assert most == [1]
"""


def test_those_who_share_hold_the_lock_together_and_nobody_beside_one_alone(check_locks: Check) -> None:
    for kinds, verdict in {
        ("LOCK_SH", "LOCK_SH"): Verdict.VIOLATED,
        ("LOCK_SH", "LOCK_EX"): Verdict.VERIFIED,
        ("LOCK_EX", "LOCK_SH"): Verdict.VERIFIED,
        ("LOCK_EX", "LOCK_EX"): Verdict.VERIFIED,
    }.items():
        assert check_locks(_TOGETHER.format(*kinds)).verdict is verdict, kinds


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_second_open_file_of_one_thread_waits_for_ever(check_locks: Check, algorithm: str) -> None:
    result = check_locks("flock(opened(), LOCK_EX)\nflock(opened(), LOCK_EX)", algorithm=algorithm)
    assert result.verdict is Verdict.VIOLATED
    assert result.violations[0].kind is ViolationKind.DEADLOCK


def test_opposite_orders_of_locks_are_a_deadlock_that_names_files_and_holders(check_locks: Check) -> None:
    body = """
os.close(os.open("b", os.O_CREAT | os.O_RDWR))
def both(*names):
    files = [os.open(name, os.O_RDWR) for name in names]
    for file in files:
        flock(file, LOCK_EX)
    for file in files:
        os.close(file)
use(lambda: both("a", "b"), lambda: both("b", "a"))
"""
    violation = check_locks(body).violations[0]
    assert violation.kind is ViolationKind.DEADLOCK
    assert {wait.waits_for for wait in violation.waiting} >= {"main.0", "main.1"}
    assert {wait.target for wait in violation.waiting} >= {"flock('a')", "flock('b')"}
    assert violation.schedule is not None


# What gives up the lock that `file` holds.
RELEASES = {
    "unlock": "flock(file, LOCK_UN)",
    "close": "os.close(file)",
    "closerange": "os.closerange(file, file + 1)",
    "replaced": "os.dup2(os.open('b', os.O_CREAT | os.O_RDWR), file)",
    "file object": "os.fdopen(file).close()",
    "with": "with os.fdopen(file):\n        pass",
    "end of a file object": "os.fdopen(file)",
    "last copy": "copy = os.dup(file)\n    os.close(file)\n    os.close(copy)",
    "unlock a copy": "flock(os.dup(file), LOCK_UN)",
}


@pytest.mark.parametrize("way", RELEASES)
def test_a_lock_is_given_up(check_locks: Check, way: str) -> None:
    body = f"""
def run():
    file = opened()
    flock(file, LOCK_EX)
    {RELEASES[way]}
use(run, run)
"""
    assert check_locks(body).verdict is Verdict.VERIFIED


def test_a_lock_is_held_as_long_as_a_copy_of_the_descriptor_is_open(check_locks: Check) -> None:
    result = check_locks(
        "file = opened()\nflock(file, LOCK_EX)\nos.dup(file)\nos.close(file)\nflock(opened(), LOCK_EX)"
    )
    assert result.violations[0].kind is ViolationKind.DEADLOCK


def test_a_lock_is_given_up_when_a_file_object_cannot_be_made(check_locks: Check) -> None:
    body = """
file = opened()
flock(file, LOCK_EX)
try:
    os.fdopen(file, encoding="none such")
except LookupError:
    assert tries(opened(), LOCK_EX)
"""
    assert check_locks(body).verdict is Verdict.VERIFIED


def test_threads_with_one_open_file_do_not_exclude_each_other(check_locks: Check) -> None:
    body = """
numbers, file = [0], opened()
def add():
    {}
    flock(own, LOCK_EX)
    numbers[0] = numbers[0] + 1
use(add, add)
assert numbers == [2]
"""
    for own in ("own = file", "own = os.dup(file)"):
        assert check_locks(body.format(own)).verdict is Verdict.VIOLATED


def test_who_waits_goes_on_when_another_thread_takes_the_lock_for_the_same_open_file(
    check_locks: Check,
) -> None:
    body = """
file, other = opened(), opened()
flock(other, LOCK_EX)
use(lambda: flock(file, LOCK_EX), lambda: flock(file, LOCK_EX), lambda: flock(other, LOCK_UN))
assert not tries(other, LOCK_SH)
"""
    assert check_locks(body).verdict is Verdict.VERIFIED


def test_another_thread_may_come_between_when_a_lock_is_changed(check_locks: Check) -> None:
    body = """
file, found = opened(), []
flock(file, LOCK_SH)
def change():
    flock(file, LOCK_EX)
    found.append("changed")
def other():
    number = opened()
    flock(number, LOCK_EX)
    found.append("other")
    os.close(number)
def unlock():
    change()
    flock(file, LOCK_UN)
use(unlock, other)
assert found != {!r}
"""
    assert check_locks(body.format(["other", "changed"])).verdict is Verdict.VIOLATED
    assert check_locks(body.format(["changed", "other"])).verdict is Verdict.VIOLATED
    assert check_locks(body.format(["changed"])).verdict is Verdict.VERIFIED


def test_two_who_share_and_both_want_it_alone_do_not_wait_for_each_other(check_locks: Check) -> None:
    body = """
def run():
    file = opened()
    flock(file, LOCK_SH)
    flock(file, LOCK_EX)
    os.close(file)
use(run, run)
"""
    assert check_locks(body).verdict is Verdict.VERIFIED


def test_a_lock_is_that_of_the_file_and_not_of_its_name(check_locks: Check) -> None:
    renamed = 'file = opened()\nflock(file, LOCK_EX)\nos.rename("a", "b")\nother = os.open("b", os.O_RDWR)\n'
    linked = 'file = opened()\nflock(file, LOCK_EX)\nos.link("a", "b")\nother = os.open("b", os.O_RDWR)\n'
    removed = 'file = opened()\nflock(file, LOCK_EX)\nos.unlink("a")\nother = os.open("a", os.O_CREAT | os.O_RDWR)\n'
    for before, free in ((renamed, False), (linked, False), (removed, True)):
        assert check_locks(f"{before}assert tries(other, LOCK_EX) is {free}").verdict is Verdict.VERIFIED, (
            before
        )
    moved = renamed + 'another = os.open("a", os.O_CREAT | os.O_RDWR)\nassert tries(another, LOCK_EX)'
    assert check_locks(moved).verdict is Verdict.VERIFIED


def test_a_file_that_is_removed_while_it_is_locked_protects_nothing(check_locks: Check) -> None:
    body = """
inside = [0]
def run():
    file = os.open("lock", os.O_CREAT | os.O_RDWR)
    flock(file, LOCK_EX)
    assert inside[0] == 0
    inside[0] = 1
    inside[0] = 0
    {}
    os.close(file)
use(run, run)
"""
    assert check_locks(body.format("pass")).verdict is Verdict.VERIFIED
    removing = body.format('os.unlink("lock")').replace("use(run, run)", "use(run, run, run)")
    assert check_locks(removing).verdict is Verdict.VIOLATED


def test_a_folder_can_be_locked(check_locks: Check) -> None:
    body = """
os.mkdir("sub")
first, second = (os.open("sub", os.O_RDONLY) for _ in range(2))
flock(first, LOCK_EX)
assert not tries(second, LOCK_SH)
os.close(os.open("sub/x", os.O_CREAT | os.O_RDWR))
assert not tries(os.open("sub", os.O_RDONLY), LOCK_SH)
"""
    assert check_locks(body).verdict is Verdict.VERIFIED


def test_a_lock_that_a_thread_has_given_up_for_another_is_nobodys_in_reports(check_locks: Check) -> None:
    body = """
one, two = opened(), opened()
flock(one, LOCK_EX)
use(lambda: flock(one, LOCK_UN))
def take():
    flock(two, LOCK_EX)
use(take)
flock(one, LOCK_EX)
"""
    violation = check_locks(body).violations[0]
    assert [(wait.target, wait.waits_for, wait.held) for wait in violation.waiting] == [
        ("flock('a')", "main.1", ())
    ]
