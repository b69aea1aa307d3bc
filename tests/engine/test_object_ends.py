"""What tells that an object has come to its end is named as an assumption, since objects live as long as executions."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import Assumption, CheckRequest, Verdict

MODEL = """
import io
import weakref

import dpor

class Thing:
    pass

class Finalized(Thing):
    def __del__(self):
        pass

@dpor.model
def model():
    thing = Thing()
    things = [thing]
    buffer = bytearray(b"a")
    stream = io.BytesIO(b"a")
    dpor.spawn(things.clear)
    {statement}
"""


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("assert weakref.ref(thing)() is thing", "weakref.ref"),
        ("weakref.proxy(thing).field = 1", "weakref.proxy"),
        ("weakref.finalize(thing, things.clear)", "weakref.finalize"),
        ("weakref.WeakValueDictionary()[1] = thing", "weakref.WeakValueDictionary"),
        ("weakref.WeakKeyDictionary()[thing] = 1", "weakref.WeakKeyDictionary"),
        ("weakref.WeakSet().add(thing)", "weakref.WeakSet"),
        ("things.append(Finalized())", "Finalized.__del__"),
        ("dpor.spawn(buffer.append, 1); bytes(memoryview(buffer))", "memoryview"),
        ("dpor.spawn(stream.write, b''); bytes(stream.getbuffer())", "memoryview"),
    ],
)
def test_what_depends_on_the_end_of_an_object_is_named(tmp_path: Path, statement: str, named: str) -> None:
    (assumption,) = assumptions(tmp_path, statement)
    assert f"what {named} does or tells" in assumption.message
    assert assumption.location is not None


def test_nothing_is_assumed_of_objects_that_nobody_watches(tmp_path: Path) -> None:
    assert not assumptions(tmp_path, "things.append(Thing())")


def assumptions(folder: Path, statement: str) -> tuple[Assumption, ...]:
    file = folder / "model.py"
    file.write_text(MODEL.format(statement=statement), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder))).assumptions


ASKING = """
import logging
import threading
import time

import dpor

class Finalized:
    def __del__(self):
        assert threading.current_thread() is threading.main_thread()
        assert threading.get_ident() == threading.main_thread().ident
        time.monotonic()
        logging.getLogger("model").debug("gone")
        with threading.Lock():
            pass

@dpor.model
def model():
    kept = [Finalized(), Finalized()]
    kept.append(kept)
    dpor.spawn(len, kept)
"""


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_finalizers_between_executions_find_a_thread_and_a_clock(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(ASKING, encoding="utf-8")
    assert check_model(CheckRequest(str(file), "model", str(tmp_path))).verdict is Verdict.VERIFIED
