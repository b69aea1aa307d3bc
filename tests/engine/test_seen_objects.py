"""What objects hold in C, in functions, in classes or behind iterators: a check sees it read and changed.

Each case is a model that another thread can break in one way only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, Verdict

MODEL = """
import array
import collections
import decimal
import functools
import io

import dpor

class Array(array.array):
    pass

class Deque(collections.deque):
    pass

class Base:
    value = 0

    def method(self):
        return "base"

class Derived(Base):
    pass

def count():
    for number in range(3):
        yield number

@dpor.model
def model():
    def function():
        pass

    s = {shared}

    def write():
        {write}

    dpor.spawn(write)
    {check}
"""

# What is shared, what another thread does, and what can fail then.
CASES = {
    "items of a subclass of deque": ("Deque([1])", "s.append(2)", "assert list(s) == [1]"),
    "items of a subclass of array": ("Array('i', [1])", "s.append(2)", "assert sum(s) == 1"),
    "both sides of a subclass of deque": ("Deque([1])", "s.append(2)", "assert len([*s]) == 1"),
    "generator behind zip": ("count()", "list(zip(s))", "assert list(zip(s))"),
    "generator behind enumerate": ("count()", "list(enumerate(s))", "assert next(enumerate(s), None)"),
    "generator behind map": ("count()", "list(map(str, s))", "assert list(map(str, s))"),
    "generator that has ended": ("count()", "list(zip(s, s))", "assert s.gi_frame is not None"),
    "keywords of a partial, and an attribute of it": (
        "functools.partial(dict)",
        "s.keywords['k'] = 3; s.x = 5",
        "assert hasattr(s, 'x') or s() == {}",
    ),
    "factory of a defaultdict": (
        "collections.defaultdict(list)",
        "s.default_factory = None",
        "assert s['k'] == []",
    ),
    "factory in Python of a defaultdict": (
        "collections.defaultdict(lambda: 0)",
        "s.default_factory = None",
        "assert s['k'] == 0",
    ),
    "flags of a decimal context": (
        "decimal.Context(prec=3)",
        "s.divide(decimal.Decimal(1), 3)",
        "assert not s.flags[decimal.Inexact]",
    ),
    "attributes of a function": ("function", "s.note = 1", "assert not vars(s)"),
    "dict of a function": ("function", "s.note = 1", "assert 'note' not in s.__dict__"),
    "store in the dict of a function": ("function", "vars(s)['note'] = 1", "assert not hasattr(s, 'note')"),
    "annotations of a function": (
        "function",
        "s.__annotations__['note'] = int",
        "assert not s.__annotations__",
    ),
    "annotations of a function of the module": (
        "count",
        "s.__annotations__['note'] = int",
        "assert len(s.__annotations__) == 0",
    ),
    "name of a function": ("function", "s.__name__ = 'other'", "assert s.__name__ == 'function'"),
    "name of a function of the module": ("count", "s.__name__ = 'other'", "assert s.__name__ == 'count'"),
    "names of a function": ("function", "s.note = 1", "assert 'note' not in dir(s)"),
    "names of a class": ("Base", "s.note = 1", "assert 'note' not in dir(s)"),
    "names of an instance": ("Derived()", "Base.note = 1", "assert 'note' not in dir(s)"),
    "method by super": (
        "Derived()",
        "Base.method = lambda self: 'new'",
        "assert super(Derived, s).method() == 'base'",
    ),
    "attribute by super": ("Derived()", "Base.value = 1", "assert super(Derived, s).value == 0"),
    "view of a stream": ("io.BytesIO(b'ab')", "s.write(b'x')", "bytes(s.getbuffer())"),
    "view of bytes": ("bytearray(b'ab')", "s.append(1)", "bytes(memoryview(s))"),
}
WAYS = {
    "source": {"algorithm": "source"},
    "exhaustive": {"algorithm": "exhaustive"},
    "graph": {"algorithm": "graph"},
    "value-centric": {"algorithm": "value-centric"},
    "reads-from": {"algorithm": "graph", "partition": "rf"},
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_seen(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, *CASES[name]).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_it_is_seen_or_refused_in_other_ways(tmp_path: Path, name: str, way: str) -> None:
    try:
        result = check(tmp_path, *CASES[name], **WAYS[way])
    except DporError as error:
        if error.code not in (Code.UNSUPPORTED_PAIR, Code.UNCONTROLLED):
            raise
        return
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_broken_without_the_other_thread(tmp_path: Path, name: str) -> None:
    shared, _, checked = CASES[name]
    assert check(tmp_path, shared, "pass", checked).verdict is Verdict.VERIFIED


def check(folder: Path, shared: str, write: str, checked: str, **options: str) -> ModelResult:
    file = folder / "model.py"
    file.write_text(MODEL.format(shared=shared, write=write, check=checked), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder), options=options))
