"""Packages that nobody looks into keep locks: each execution finds those free that they made when imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

PACKAGE = """
import functools
import threading

LOCK = threading.{lock}()
CONDITION = threading.Condition()
EVENT = threading.Event()

def locked(work):
    with LOCK:
        return work()

def notified(work):
    with CONDITION:
        CONDITION.notify_all()
        return work()

class Counter:
    def __init__(self):
        self.lock = threading.{lock}()
        self.count = 0

    def add(self):
        with self.lock:
            self.count += 1
            return self.count

COUNTERS = {{}}

def counter(name):
    return COUNTERS.setdefault(name, Counter())

class Settings:
    @functools.cached_property
    def limit(self):
        return 3

def limit():
    return Settings().limit
"""
MODEL = """
import threading
import dpor
import {package}
{made}

@dpor.model{options}
def model():
    counts = [0]
    def bump():
        counts[0] += 1
    def work():
        {work}
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts[0] == {expected}
"""


def check(
    tmp_path: Path,
    installed: Path,
    work: str,
    expected: int = 2,
    lock: str = "Lock",
    options: str = "",
    made: str = "",
) -> ModelResult:
    package = f"package_with_locks_{tmp_path.name}".replace("-", "_")
    (installed / f"{package}.py").write_text(PACKAGE.format(lock=lock), encoding="utf-8")
    folder = tmp_path / "project"
    folder.mkdir()
    file = folder / "model.py"
    text = MODEL.format(
        package=package,
        work=work.format(p=package),
        expected=expected,
        options=options.format(p=package),
        made=made.format(p=package),
    )
    file.write_text(text, encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder)))


@pytest.mark.parametrize("lock", ["Lock", "RLock"])
def test_a_lock_of_a_package_excludes(tmp_path: Path, installed: Path, lock: str) -> None:
    result = check(tmp_path, installed, "{p}.locked(bump)", lock=lock)
    assert result.verdict is Verdict.VERIFIED
    assert AssumptionKind.UNSEEN_CODE in {assumption.kind for assumption in result.assumptions}


def test_code_outside_of_it_is_not_protected(tmp_path: Path, installed: Path) -> None:
    assert check(tmp_path, installed, "{p}.locked(lambda: None); bump()").verdict is Verdict.VIOLATED


def test_a_lock_that_the_model_takes_itself_is_the_package_s(tmp_path: Path, installed: Path) -> None:
    result = check(tmp_path, installed, "with {p}.LOCK: bump()")
    assert result.verdict is Verdict.VERIFIED
    assert AssumptionKind.UNSEEN_CODE in {assumption.kind for assumption in result.assumptions}


def test_a_condition_of_a_package_has_no_waiters_at_first(tmp_path: Path, installed: Path) -> None:
    assert check(tmp_path, installed, "{p}.notified(bump)").verdict is Verdict.VERIFIED


def test_a_lock_that_is_never_given_back_is_a_deadlock_in_each_execution(
    tmp_path: Path, installed: Path
) -> None:
    result = check(tmp_path, installed, "{p}.LOCK.acquire()", expected=0)
    assert [violation.code.value for violation in result.violations] == ["DPOR203"]


def test_a_cached_property_of_a_package_can_be_used(tmp_path: Path, installed: Path) -> None:
    work = "counts[0] = {p}.limit() - 1"
    assert check(tmp_path, installed, work).verdict is Verdict.VERIFIED


def test_what_a_package_keeps_in_an_event_is_refused_until_it_is_looked_into(
    tmp_path: Path, installed: Path
) -> None:
    work = "bump() if not {p}.EVENT.is_set() else None"
    with pytest.raises(DporError, match="DPOR107"):
        check(tmp_path, installed, work)


def test_it_is_an_object_of_the_model_where_the_package_is_looked_into(
    tmp_path: Path, installed: Path
) -> None:
    work = "{p}.locked(bump); {p}.EVENT.set()"
    result = check(tmp_path, installed, work, options="(instrument=('{p}',))")
    assert result.verdict is Verdict.VERIFIED
    assert AssumptionKind.UNSEEN_CODE not in {assumption.kind for assumption in result.assumptions}


@pytest.mark.parametrize("lock", ["Lock", "RLock", "Condition"])
def test_what_a_package_makes_for_a_module_of_the_model_is_made_anew(
    tmp_path: Path, installed: Path, lock: str
) -> None:
    work = "with GUARD: counts[0] += COUNTER.add()"
    made = "COUNTER = {p}.Counter()\nGUARD = threading.Lock()"
    # The first adds 1 and the second 2, in each execution.
    result = check(tmp_path, installed, work, 3, lock, made=made)
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions > 1


def test_what_a_package_keeps_that_it_has_made_for_the_model_is_refused(
    tmp_path: Path, installed: Path
) -> None:
    work = "with GUARD: counts[0] += COUNTER.add()"
    made = "COUNTER = {p}.counter('model')\nGUARD = threading.Lock()"
    with pytest.raises(DporError, match="DPOR107"):
        check(tmp_path, installed, work, 3, made=made)
