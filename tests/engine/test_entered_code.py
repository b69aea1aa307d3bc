"""Code in Python that built-in code calls is seen by whatever way built-in code has got at it: other threads run in it,
and built-in code goes on after it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

MODEL = """
import datetime, io, pickle
import dpor

class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        return datetime.timedelta(0)

    def dst(self, when):
        return None

def time(hour):
    return datetime.datetime(2020, 1, 1, hour, tzinfo=Zone())

class Shown:
    __repr__ = lambda self: "k"
    __lt__ = lambda self, other: True
    __hash__ = lambda self: 1

def equal(one, other):
    return one is other

class Equal:
    __hash__ = object.__hash__

Equal.__eq__ = equal

class Pickler(pickle.Pickler):
    persistent_id = lambda self, one: None

def pickled(items):
    stream = io.BytesIO()
    Pickler(stream).dump(items)
    return pickle.loads(stream.getvalue())

class Raw(io.RawIOBase):
    def __init__(self, items):
        self.items = items

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self.items:
            return 0
        buffer[:1] = bytes([self.items.pop(0)])
        return 1

@dpor.model
def model():
    s, out = {made}, []

    def read():
        out.append({read})

    def write():
        {first}
        {second}

    dpor.spawn(read)
    dpor.spawn(write)
    dpor.join_all()
    assert out != [{missed}]
"""
# What is made, what one thread reads, the two steps of the other, and what is read if both came while code in Python
# ran: after the first stretch of built-in code, and before the next.
IN_THE_MIDDLE = {
    "a lambda with a special name": ("[Shown(), 1]", "repr(s)", "s[0] = 7", "s[1] = 2", "'[k, 2]'"),
    "a function that became a method": (
        "[Equal(), 1, 3]",
        "s.index(3)",
        "s[0] = 3",
        "s[1] = 3",
        "1",
    ),
    "a method of another name": (
        "[time(1), time(2), time(3)]",
        "[one.hour for one in (max(s),)][0]",
        "s[0] = time(9)",
        "s[2] = time(5)",
        "5",
    ),
    "a lambda of another name": ("[[1], 1]", "pickled(s)", "s[0] = 7", "s[1] = 2", "[[1], 2]"),
    "a stream's own": (
        "[65, 66]",
        "io.BufferedReader(Raw(s)).read(2)",
        "s[:] = [67]",
        "s.append(68)",
        "b'AC'",
    ),
    "what an item holds": (
        "[[1], 2]",
        "repr([Shown(), s[0], s])",
        "s[0].append(3)",
        "s[1] = 5",
        "'[k, [1, 3], [[1, 3], 2]]'",
    ),
}


def check(folder: Path, made: str, read: str, first: str, second: str, missed: str) -> ModelResult:
    text = MODEL
    for name, part in zip(
        ("made", "read", "first", "second", "missed"), (made, read, first, second, missed), strict=True
    ):
        text = text.replace("{" + name + "}", part)
    (folder / "model.py").write_text(text, encoding="utf-8")
    return check_model(CheckRequest("model.py", "model", str(folder)))


@pytest.mark.parametrize("name", IN_THE_MIDDLE)
def test_other_threads_run_while_it_runs(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, *IN_THE_MIDDLE[name])
    assert result.verdict is Verdict.VIOLATED, result


@pytest.mark.parametrize("name", IN_THE_MIDDLE)
def test_what_other_threads_do_not_do_is_not_seen(tmp_path: Path, name: str) -> None:
    made, read, _, _, missed = IN_THE_MIDDLE[name]
    assert check(tmp_path, made, read, "pass", "pass", missed).verdict is Verdict.VERIFIED
