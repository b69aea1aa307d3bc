"""What C code reads after code in Python that it has called is read then, and not when the operation began."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

BEFORE = """
import collections, datetime, enum, io, json
import dpor

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Job:
    def __init__(self):
        self.number, self.seen, self.color, self.items = 0, 1, Color.RED, [1, 2]

    def __str__(self):
        return str(self.number)

    def __index__(self):
        return self.number

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self.number == other.number

def job(number):
    made = Job()
    made.number = number
    return made

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
# What is made, what one thread reads, the two steps of the other, and what is read if only the first came before the
# callback returned.
MISSED = {
    "json: default": (
        "(job(0), [{1}])",
        "json.dumps(s[1], default=lambda one: s[0].number)",
        "s[0].number = 10",
        "s[1].append(2)",
        "'[10]'",
    ),
    "json: a cls with default": (
        "(job(0), [{1}])",
        "json.dumps(s[1], cls=type('E', (json.JSONEncoder,), {'default': lambda self, one: s[0].number}))",
        "s[0].number = 10",
        "s[1].append(2)",
        "'[10]'",
    ),
    "json: what default gives": (
        "[job(1), job(2)]",
        "json.dumps(s, default=lambda one: {'n': vars(one)['number']})",
        "s[0].number = 5",
        "s[1].number = 6",
        """'[{"n": 1}, {"n": 6}]'""",
    ),
    "format: a text in Python": (
        "job(0)",
        "'{0} {0.seen}'.format(s)",
        "s.number = 10",
        "s.seen = 5",
        "'10 1'",
    ),
    "format: an item": (
        "[job(0), 1]",
        "'{0[0]} {0[1]}'.format(s)",
        "s[0].number = 10",
        "s[1] = 5",
        "'10 1'",
    ),
    "format: a specification": (
        "[job(0), 1]",
        "'{0[0]!s:{0[1]}}'.format(s)",
        "s[0].number = 10",
        "s[1] = 5",
        "'0    '",
    ),
    "format: an enum": (
        "job(0)",
        "'{0.color} {0.seen}'.format(s)",
        "s.color = Color.BLUE",
        "s.seen = 5",
        "'Color.RED 5'",
    ),
    "format_map: a factory": (
        "(job(0), collections.defaultdict(lambda: s[0].number, b=1))",
        "'{a} {b}'.format_map(s[1])",
        "s[0].number = 10",
        "s[1]['b'] = 5",
        "'10 1'",
    ),
    "slice: __index__": ("(job(0), [1, 2])", "s[1][s[0]:]", "s[0].number = 1", "s[1].append(3)", "[2]"),
    "slice of bytes": (
        "(job(0), bytearray(b'ab'))",
        "s[1][s[0]:]",
        "s[0].number = 1",
        "s[1].append(99)",
        "bytearray(b'b')",
    ),
    "a key in a tuple": (
        "(job(0), {(job(10),): 1})",
        "s[1].get((s[0],))",
        "s[0].number = 10",
        "s[1][job(10),] = 2",
        "1",
    ),
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


def read_beside(made: str, read: str, first: str, second: str, missed: str) -> str:
    """A model in which one thread reads, and the other does two steps."""
    source = BEFORE
    holes = {"made": made, "read": read, "first": first, "second": second, "missed": missed}
    for hole, text in holes.items():
        source = source.replace("{" + hole + "}", text)
    return source


def check(tmp_path: Path, source: str) -> ModelResult:
    file = tmp_path / "model.py"
    file.write_text(source)
    return check_model(CheckRequest(str(file), "model", str(tmp_path)))


@pytest.mark.parametrize("name", MISSED)
def test_what_c_code_reads_after_a_callback_is_read_then(tmp_path: Path, name: str) -> None:
    made, read, first, second, missed = MISSED[name]
    result = check(tmp_path, read_beside(made, read, first, second, missed))
    assert result.verdict is Verdict.VIOLATED, name
    assert result.assumptions == ()


@pytest.mark.parametrize("name", MISSED)
def test_nothing_else_is_read_without_the_other_thread(tmp_path: Path, name: str) -> None:
    made, read, _, _, missed = MISSED[name]
    assert check(tmp_path, read_beside(made, read, "pass", "pass", missed)).verdict is Verdict.VERIFIED


SINGLETON = """
import dpor, functools

class Meta(type):
    made = {}

    def __call__(cls, *args):
        if cls not in Meta.made:
            Meta.made[cls] = CALL
        return Meta.made[cls]

class Early(metaclass=Meta):
    def __init__(self, number):
        self.number = number

class Late(Early):
    pass

EARLY = Early(1)

class More(functools.partial):
    def __call__(self, *args):
        return super().__call__(*args) + 1

@dpor.model
def model():
    assert Early(2) is EARLY and EARLY.number == 1
    assert More(len, "ab")() == 3
    out = []

    def make(number):
        out.append(MADE(number))

    dpor.spawn(make, 1)
    dpor.spawn(make, 2)
    dpor.join_all()
    assert out[0] is out[1]
"""


@pytest.mark.parametrize(
    "call", ["super().__call__(*args)", "type.__call__(cls, *args)", "super(Meta, cls).__call__(args[0])"]
)
@pytest.mark.parametrize(("made", "verdict"), [("Early", Verdict.VERIFIED), ("Late", Verdict.VIOLATED)])
def test_a_metaclass_makes_one_instance_by_the_call_that_it_overrides(
    tmp_path: Path, call: str, made: str, verdict: Verdict
) -> None:
    result = check(tmp_path, SINGLETON.replace("CALL", call).replace("MADE", made))
    assert result.verdict is verdict
    assert all(one.message == "assertion failed: out[0] is out[1]" for one in result.violations)
