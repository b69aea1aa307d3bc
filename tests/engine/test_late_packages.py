"""Packages that nobody looks into, imported by an execution: their bodies run once, unseen, and that is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.errors import DporError
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

PACKAGE = """
import threading

LOCK = threading.{lock}()
CONDITION = threading.Condition()
EVENT = threading.Event()
EVENT.set()
SLOTS = threading.Semaphore(2)
with SLOTS:
    pass

def locked(work):
    with LOCK:
        return work()

def notified(work):
    with CONDITION:
        CONDITION.notify_all()
        return work()
"""
LATE = """
import threading
import dpor

names = []
guard = threading.Lock()

def register(name):
    names.append(name)

def register_guarded(name):
    with guard:
        names.append(name)

@dpor.model
def model():
    {before}
    counts = [0]
    def bump():
        counts[0] += 1
    def first():
        {first}
    def second():
        {second}
    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts[0] == {expected}
"""


class Project:
    """A model, and a package that it imports while it runs, under a name that no other test has imported."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.package = f"package_imported_late_{folder.name}".replace("-", "_")
        self.model = f"model_of_{self.package}"
        self._installed = installed
        self._folder = folder / "project"
        self._folder.mkdir()

    def install(self, text: str = "", lock: str = "Lock") -> None:
        """Write the package: its locks, and what else its body does."""
        module = f"{PACKAGE.format(lock=lock)}\n{text.format(p=self.package, m=self.model)}\n"
        (self._installed / f"{self.package}.py").write_text(module, encoding="utf-8")

    def check(self, first: str, second: str = "", expected: int = 2, before: str = "pass") -> ModelResult:
        """Check a model whose threads do `first` and `second` (`first` unless given); {p} is the package."""
        text = LATE.format(
            first=first.format(p=self.package),
            second=(second or first).format(p=self.package),
            before=before.format(p=self.package),
            expected=expected,
        )
        file = self._folder / f"{self.model}.py"
        file.write_text(text, encoding="utf-8")
        return check_model(CheckRequest(str(file), "model", str(self._folder)))


@pytest.fixture
def project(tmp_path: Path, installed: Path) -> Project:
    return Project(tmp_path, installed)


def unseen(result: ModelResult) -> list[str]:
    return [one.subject for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE]


@pytest.mark.parametrize("lock", ["Lock", "RLock"])
@pytest.mark.parametrize("work", ["{p}.locked(bump)", "{p}.notified(bump)", "with {p}.LOCK: bump()"])
def test_its_locks_exclude(project: Project, lock: str, work: str) -> None:
    project.install(lock=lock)
    result = project.check(work, before="import {p}")
    assert result.verdict is Verdict.VERIFIED, result.violations
    assert result.executions > 1
    assert unseen(result) == [project.package]


@pytest.mark.parametrize("lock", ["Lock", "RLock"])
def test_they_protect_nothing_else(project: Project, lock: str) -> None:
    project.install(lock=lock)
    result = project.check("{p}.locked(lambda: None); bump()", before="import {p}")
    assert result.verdict is Verdict.VIOLATED


def test_a_lock_that_a_thread_keeps_is_a_deadlock(project: Project) -> None:
    project.install()
    result = project.check("{p}.LOCK.acquire()", before="import {p}", expected=0)
    assert [violation.code.value for violation in result.violations] == ["DPOR203"]


def test_a_lock_that_its_body_uses_is_free(project: Project) -> None:
    project.install("locked(lambda: None)\nnotified(lambda: None)")
    result = project.check("{p}.locked(bump)", before="import {p}")
    assert result.verdict is Verdict.VERIFIED, result.violations


def test_what_it_does_beside_other_threads_is_named(project: Project) -> None:
    project.install("import {m}\n{m}.register('{p}')")
    result = project.check("import {p}", "bump() if '{p}' not in names else None", expected=0)
    assert unseen(result)[:1] == [project.package]


def test_it_may_not_use_what_threads_of_the_model_wait_for(project: Project) -> None:
    project.install("import {m}\n{m}.register_guarded('{p}')")
    with pytest.raises(DporError, match="synchronisation primitive in the import of a package") as error:
        project.check("import {p}", "with guard: bump()", expected=1)
    assert project.package in str(error.value.fix)


def test_it_may_not_start_threads(project: Project) -> None:
    project.install("threading.Thread(target=print).start()")
    with pytest.raises(DporError, match="starts a thread in the import of a package") as error:
        project.check("bump()", before="import {p}")
    assert project.package in str(error.value.fix)


@pytest.mark.parametrize("work", ["{p}.EVENT.wait()", "{p}.SLOTS.acquire()"])
def test_what_its_events_and_semaphores_say_is_refused_until_it_is_looked_into(
    project: Project, work: str
) -> None:
    project.install()
    with pytest.raises(DporError, match="DPOR107") as error:
        project.check(work, before="import {p}", expected=0)
    assert project.package in str(error.value.fix)
