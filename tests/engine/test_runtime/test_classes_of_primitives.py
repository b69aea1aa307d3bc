"""Primitives and the names of their classes are to a program what they are in CPython."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

HEADER = """
import collections, dataclasses, functools, inspect, queue, threading, types, typing
import dpor

@functools.singledispatch
def kind(value):
    return "other"

@kind.register(threading.Event)
def _(value):
    return "event"

@kind.register
def _(value: threading.Condition):
    return "condition"

@dataclasses.dataclass
class Holder:
    event: threading.Event = dataclasses.field(default_factory=threading.Event)
    other: threading.Event | None = None

class Derived(threading.Event):
    pass

def matched(value):
    match value:
        case threading.Event():
            return "event"
        case threading.Semaphore():
            return "semaphore"
        case _:
            return "other"
"""
CLASSES = (
    "threading.Event",
    "threading.Condition",
    "threading.Semaphore",
    "threading.BoundedSemaphore",
    "threading.Barrier",
    "threading.Thread",
    "threading.local",
    "queue.Queue",
    "queue.SimpleQueue",
)
OF_A_CLASS = (
    "type(made) is named",
    "made.__class__ is named",
    "type(made) == named and named == type(made)",
    "{named: 1}[type(made)] == {type(made): 1}[named] == 1",
    "collections.Counter([type(made), named])[named] == 2",
    "type(named) is type and isinstance(named, type) and inspect.isclass(named)",
    "isinstance(made, named) and isinstance(made, (int, named)) and isinstance(made, named | None)",
    "issubclass(named, named) and issubclass(named, object) and issubclass(type(made), named)",
    "named.__mro__[0] is named or named.__mro__[0] == named",
    "type(made)",
)
OTHERS = (
    "kind(threading.Event()) == 'event' and kind(threading.Condition()) == 'condition' and kind(1) == 'other'",
    "kind(Derived()) == 'event'",
    "matched(threading.Event()) == matched(Derived()) == 'event'",
    "matched(threading.BoundedSemaphore()) == 'semaphore' and matched(threading.Condition()) == 'other'",
    "typing.get_type_hints(Holder)['event'] is threading.Event",
    "type(Derived()) is Derived and issubclass(Derived, threading.Event)",
    "issubclass(threading.BoundedSemaphore, threading.Semaphore)",
    "not issubclass(threading.Semaphore, threading.BoundedSemaphore)",
    "type(threading.Lock()) is type(threading.Lock()) and isinstance(threading.Lock(), type(threading.Lock()))",
    "type(threading.RLock()) is type(threading.RLock())",
    "repr(threading.Event) == \"<class 'threading.Event'>\" and threading.Event.__name__ == 'Event'",
    "type(type(threading.Event())()) is threading.Event",
)


def check(tmp_path: Path, body: str) -> None:
    (tmp_path / "model.py").write_text(f"{HEADER}\n@dpor.model\ndef model():\n{body}")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("statement", OF_A_CLASS)
def test_the_class_of_an_object_is_what_the_library_calls_it(
    tmp_path: Path, name: str, statement: str
) -> None:
    arguments = "1" if name == "threading.Barrier" else ""
    check(tmp_path, f"    named = {name}\n    made = named({arguments})\n    assert {statement}\n")


@pytest.mark.parametrize("statement", OTHERS)
def test_what_asks_for_classes_finds_them(tmp_path: Path, statement: str) -> None:
    check(tmp_path, f"    assert {statement}\n")
