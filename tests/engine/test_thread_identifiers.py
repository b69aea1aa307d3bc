"""A system gives the identifier of a thread that has ended to another one; a thread can be started by two at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

HEADER = """
import threading
import dpor

told = []

def tell():
    told.append(threading.get_ident())

def tell_native():
    told.append(threading.get_native_id())

def nothing():
    pass

def run(*functions):
    for function in functions:
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()
    return thread
"""
REUSED = {
    "get_ident": "run(tell, tell)",
    "get_native_id": "run(tell_native, tell_native)",
    "the attribute of a thread": "told.append(run(nothing).ident or run(nothing).ident)\n    run(nothing).ident",
    "the native identifier of a thread": "run(nothing).native_id, run(nothing).native_id",
}
APART = {
    "one thread": "run(tell)",
    "one that waits for the other": "threading.get_ident()\n    run(tell)",
    "the library alone": "import logging\n    run(logging.getLogger, logging.getLogger)",
}


def check(tmp_path: Path, body: str) -> ModelResult:
    (tmp_path / "model.py").write_text(f"{HEADER}\n@dpor.model\ndef model():\n    {body}\n")
    return check_model(CheckRequest("model.py", "model", str(tmp_path)))


@pytest.mark.parametrize("name", REUSED)
def test_identifiers_of_threads_that_do_not_overlap_are_an_assumption(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, REUSED[name])
    assert result.verdict is Verdict.VERIFIED
    assert {(one.kind, one.subject) for one in result.assumptions} == {
        (AssumptionKind.OBJECT_END, "threading.get_ident")
    }


@pytest.mark.parametrize("name", APART)
def test_identifiers_of_threads_that_overlap_assume_nothing(tmp_path: Path, name: str) -> None:
    assert not check(tmp_path, APART[name]).assumptions


def test_a_thread_that_two_threads_start_is_an_assumption(tmp_path: Path) -> None:
    result = check(
        tmp_path,
        """thread = threading.Thread(target=nothing)
    def start():
        try:
            thread.start()
        except RuntimeError:
            told.append("started")
    for starter in [dpor.spawn(start), dpor.spawn(start)]:
        starter.join()
    thread.join()""",
    )
    assert result.verdict is Verdict.VERIFIED
    assert {(one.kind, one.subject) for one in result.assumptions} == {
        (AssumptionKind.THREAD_UNSAFE, "threading.Thread")
    }


def test_a_thread_that_one_thread_starts_twice_assumes_nothing(tmp_path: Path) -> None:
    result = check(
        tmp_path,
        """thread = run(nothing)
    try:
        thread.start()
    except RuntimeError:
        return
    assert False""",
    )
    assert result.verdict is Verdict.VERIFIED
    assert not result.assumptions


ASKING = """
import dpor, threading

@dpor.model
def model():
    def ask():
        thread = threading.current_thread()
        assert thread.{question}
    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@pytest.mark.parametrize("question", ["ident", "native_id", "is_alive()", "name"])
def test_what_a_thread_asks_of_itself_does_not_depend_on_who_starts_it(question: str, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(ASKING.format(question=question))
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)
