"""Keys that are compared by code of the model: other threads run in the middle of an operation that looks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import _weakref, collections, threading, types, weakref
import dpor

Pair = collections.namedtuple("Pair", "first second")

class Key:
    def __init__(self, number, log):
        self.number, self.log = number, log

    def __hash__(self):
        return 0

    def __eq__(self, other):
        self.log.append(1)
        return isinstance(other, Key) and self.number == other.number

KEPT = []

def reference(key):
    KEPT.append(key)
    return weakref.ref(key)

@dpor.model
def model():
    log, seen = [], []
    made = lambda: ({made})(Key(1, log))
    box = ({box})(made())
    key = made()
    log.clear()
    first = threading.Thread(target=lambda: {operation})
    second = threading.Thread(target=lambda: seen.append((len(log), len(box))))
    first.start(); second.start(); first.join(); second.join()
    compared, left = seen[0]
    assert not (compared and left)
"""
MADE = {
    "a tuple": "lambda key: (key,)",
    "a tuple in a tuple": "lambda key: (0, (key, 1))",
    "a frozenset": "lambda key: frozenset([key])",
    "a frozenset in a tuple": "lambda key: (frozenset([key]),)",
    "a generic alias": "lambda key: types.GenericAlias(dict, (key,))",
    "a named tuple": "lambda key: Pair(key, 0)",
    "a weak reference": "reference",
}
OPERATIONS = {
    "pop": ("lambda key: {key: 1}", "box.pop(key)"),
    "pop with a default": ("lambda key: {key: 1}", "box.pop(key, None)"),
    "a deletion": ("lambda key: {key: 1}", "box.__delitem__(key)"),
    "discard": ("lambda key: {key}", "box.discard(key)"),
    "remove": ("lambda key: {key}", "box.remove(key)"),
    "remove from a list": ("lambda key: [key]", "box.remove(key)"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("made", MADE)
def test_another_thread_sees_the_comparison_before_the_removal(
    tmp_path: Path, made: str, operation: str
) -> None:
    box, code = OPERATIONS[operation]
    (tmp_path / "model.py").write_text(
        MODEL.replace("{made}", MADE[made]).replace("{box}", box).replace("{operation}", code)
    )
    result = check_model(CheckRequest(str(tmp_path / "model.py"), "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED


STORED = """
import threading
import dpor

class Name:
    def __init__(self, text, log):
        self.text, self.log = text, log

    def __hash__(self):
        return hash(self.text)

    def __eq__(self, other):
        self.log.append(1)
        return self.text == (other.text if isinstance(other, Name) else other)

@dpor.model
def model():
    log, seen = [], []
    box = ({box})(Name("a", log))
    log.clear()
    def remove():
        {operation}
    first = threading.Thread(target=remove)
    second = threading.Thread(target=lambda: seen.append((len(log), len(box))))
    first.start(); second.start(); first.join(); second.join()
    compared, left = seen[0]
    assert not (compared and left)
"""
BY_TEXT = {
    "pop": ("lambda name: {name: 1}", "box.pop('a')"),
    "a deletion": ("lambda name: {name: 1}", "del box['a']"),
    "a deletion by a tuple": ("lambda name: {(name,): 1}", "del box[('a',)]"),
    "pop by a tuple": ("lambda name: {(name,): 1}", "box.pop(('a',))"),
    "discard": ("lambda name: {name}", "box.discard('a')"),
    "remove": ("lambda name: {name}", "box.remove('a')"),
    "remove from a list": ("lambda name: [name]", "box.remove('a')"),
    "a difference": ("lambda name: {name}", "box -= {'a'}"),
}


@pytest.mark.parametrize("operation", BY_TEXT)
def test_another_thread_sees_the_comparison_by_a_key_that_the_container_holds(
    tmp_path: Path, operation: str
) -> None:
    box, code = BY_TEXT[operation]
    if "-=" in code:
        code = f"nonlocal box; {code}"
    (tmp_path / "model.py").write_text(STORED.replace("{box}", box).replace("{operation}", code))
    result = check_model(CheckRequest(str(tmp_path / "model.py"), "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("key", ["(1, 'a')", "(1, (2, 'a'))"])
def test_a_key_that_is_made_of_values_is_one_operation(tmp_path: Path, key: str) -> None:
    (tmp_path / "model.py").write_text(f"""
import threading
import dpor

@dpor.model
def model():
    box = {{{key}: 1, 2: 2}}
    first = threading.Thread(target=lambda: box.pop({key}))
    second = threading.Thread(target=lambda: box.get(2))
    first.start(); second.start(); first.join(); second.join()
""")
    result = check_model(CheckRequest(str(tmp_path / "model.py"), "model", str(tmp_path)))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)
