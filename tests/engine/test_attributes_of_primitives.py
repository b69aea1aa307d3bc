"""Programs give events, conditions and semaphores attributes of their own, which are places like any others."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking.check import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HANDED_OVER = """
import threading
import dpor

@dpor.model
def model():
    carrier = threading.{made}
    carrier.reply = None
    done = threading.Event()
    def work():
        {work}
    thread = threading.Thread(target=work)
    thread.start()
    done.wait()
    assert carrier.reply == 5
    thread.join()
"""
IN_ORDER = "carrier.reply = 5; done.set()"
TOO_LATE = "done.set(); carrier.reply = 5"
MADE = ["Event()", "Condition()", "Semaphore()", "BoundedSemaphore(2)"]


def check(folder: Path, source: str) -> ModelResult:
    file = folder / "model.py"
    file.write_text(source)
    return check_model(CheckRequest(str(file), "model", str(folder)))


@pytest.mark.parametrize("made", MADE)
def test_an_attribute_set_in_time_is_found(tmp_path: Path, made: str) -> None:
    result = check(tmp_path, HANDED_OVER.format(made=made, work=IN_ORDER))
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 1


@pytest.mark.parametrize("made", MADE)
def test_an_attribute_set_too_late_is_missed(tmp_path: Path, made: str) -> None:
    result = check(tmp_path, HANDED_OVER.format(made=made, work=TOO_LATE))
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("made", MADE)
def test_attributes_are_as_in_python(tmp_path: Path, made: str) -> None:
    source = f"""
import copy, threading
import dpor

@dpor.model
def model():
    carrier = threading.{made}
    assert not hasattr(carrier, "reply")
    setattr(carrier, "reply", 1)
    assert getattr(carrier, "reply") == carrier.reply == 1
    del carrier.reply
    try:
        carrier.reply
        assert False
    except AttributeError as error:
        kind = type(carrier).__name__
        assert str(error) == f"'{{kind}}' object has no attribute 'reply'"
    carrier.notes = []
    carrier.notes.append(carrier)
    assert carrier.notes[0] is carrier
"""
    assert check(tmp_path, source).verdict is Verdict.VERIFIED


def test_an_attribute_can_hide_a_method(tmp_path: Path) -> None:
    source = """
import threading
import dpor

@dpor.model
def model():
    event = threading.Event()
    calls = []
    def counted():
        calls.append(1)
        threading.Event.set(event)
    event.set = counted
    thread = threading.Thread(target=event.set)
    thread.start()
    event.wait()
    thread.join()
    event.set()
    assert calls == [1, 1]
    del event.set
    event.set()
    assert calls == [1, 1]
"""
    assert check(tmp_path, source).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("made", ["Lock()", "RLock()"])
def test_locks_have_none(tmp_path: Path, made: str) -> None:
    source = f"""
import threading
import dpor

@dpor.model
def model():
    lock = threading.{made}
    try:
        lock.owner = 1
        assert False
    except AttributeError:
        pass
"""
    assert check(tmp_path, source).verdict is Verdict.VERIFIED


def test_a_look_at_a_primitive_is_no_look_at_its_attributes(tmp_path: Path) -> None:
    source = """
import threading
import dpor

@dpor.model
def model():
    event = threading.Event()
    event.count = 0
    kept = {"event": event}
    def work():
        event.count += 1
    thread = threading.Thread(target=work)
    thread.start()
    list(kept.values())
    event.is_set()
    event in [event]
    thread.join()
    assert event.count == 1
"""
    result = check(tmp_path, source)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


@pytest.mark.parametrize("made", MADE)
def test_what_an_attribute_that_is_called_does_is_seen(tmp_path: Path, made: str) -> None:
    source = f"""
import threading
import dpor

@dpor.model
def model():
    carrier = threading.{made}
    carrier.count = 0
    def bump():
        carrier.count += 1
    carrier.bump = bump
    thread = threading.Thread(target=lambda: carrier.bump())
    thread.start()
    carrier.bump()
    thread.join()
    assert carrier.count == 2
"""
    assert check(tmp_path, source).verdict is Verdict.VIOLATED
