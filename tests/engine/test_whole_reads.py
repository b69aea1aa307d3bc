"""An operation that looks at objects as wholes reads all that it looks at, at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, Verdict

HEADER = """
import collections
import copy
import dataclasses
import functools
import hashlib
import json
import operator
import struct
import weakref
from types import SimpleNamespace

import dpor

@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0

@dataclasses.dataclass(slots=True)
class Slotted:
    x: int = 0

@dataclasses.dataclass(unsafe_hash=True)
class Key:
    x: int = 0

def helper():
    pass

class Shared:
    flag = 0

    def __init__(self, **fields):
        vars(self).update(fields)

"""

MODEL = """
@dpor.model
def model():
    s = Shared({fields})
    def write():
        {write}
    dpor.spawn(write)
    {check}
"""

# What is shared, how another thread changes it, and what then can fail.
SEEN = {
    "dataclasses compared": ("a=Point(), b=Point()", "s.a.x = 1", "assert s.a == s.b"),
    "dataclass with slots compared": ("a=Slotted(), b=Slotted()", "s.a.x = 1", "assert s.a == s.b"),
    "dataclass shown": ("a=Point()", "s.a.y = 1", "assert repr(s.a) == 'Point(x=0, y=0)'"),
    "dataclass formatted": ("a=Point()", "s.a.y = 1", "assert f'{s.a}' == 'Point(x=0, y=0)'"),
    "dataclass formatted by %": ("a=Point()", "s.a.y = 1", "assert '%s' % s.a == 'Point(x=0, y=0)'"),
    "dataclass as a dict": ("a=Point()", "s.a.x = 1", "assert dataclasses.asdict(s.a)['x'] == 0"),
    "dataclass copied": ("a=Point()", "s.a.x = 1", "assert copy.copy(s.a).x == 0"),
    "dataclass in a list": ("a=[Point()]", "s.a[0].x = 1", "assert s.a == [Point()]"),
    "namespace compared": ("a=SimpleNamespace(x=0)", "s.a.x = 1", "assert s.a == SimpleNamespace(x=0)"),
    "inner lists compared": ("a=[[0], [0]]", "s.a[0][0] = 1", "assert s.a == [[0], [0]]"),
    "inner lists of tuples compared": ("a=([0], 1)", "s.a[0][0] = 1", "assert s.a == ([0], s.a[1])"),
    "inner dicts shown": ("a={'k': {'l': 0}}", "s.a['k']['l'] = 1", "assert str(s.a) == \"{'k': {'l': 0}}\""),
    "inner lists searched": ("a=[[0], [0]]", "s.a[1][0] = 1", "assert [1] not in s.a"),
    "inner lists counted": ("a=[[0], [0]]", "s.a[1][0] = 1", "assert s.a.count([0]) == 2"),
    "inner lists sorted": ("a=[[1], [2]]", "s.a[0][0] = 3", "assert sorted(s.a)[0] is s.a[0]"),
    "the largest of inner lists": ("a=[[1], [2]]", "s.a[0][0] = 3", "assert max(s.a) is s.a[1]"),
    "deep content as text": (
        "a={'k': [[0]]}",
        "s.a['k'][0][0] = 1",
        "assert json.dumps(s.a) == '{\"k\": [[0]]}'",
    ),
    "a deep copy": ("a=[[0]]", "s.a[0][0] = 1", "assert copy.deepcopy(s.a) == [[0]]"),
    "text joined": ("a=['x']", "s.a.append('y')", "assert ''.join(s.a) == 'x'"),
    "a text's format": ("a=[[0]]", "s.a[0][0] = 1", "assert '{}'.format(s.a) == '[[0]]'"),
    "a tuple searched": ("a=([0],)", "s.a[0][0] = 1", "assert [0] in s.a"),
    "a tuple's index": ("a=([0],)", "s.a[0][0] = 1", "assert s.a.index([0]) == 0"),
    "a frozenset's union": ("a={0}", "s.a.add(1)", "assert frozenset().union(s.a) == {0}"),
    "a class method": ("a=[0]", "s.a.append(1)", "assert dict.fromkeys(s.a) == {0: None}"),
    "truth": ("a=[]", "s.a.append(1)", "assert bool(s.a) is False"),
    "truths": ("a=[[]]", "s.a[0].append(1)", "assert any(s.a) is False"),
    "a sum of lists": ("a=[[0]]", "s.a[0].append(1)", "assert sum(s.a, []) == [0]"),
    "pairs": ("a=[['k', 0]]", "s.a[0][1] = 1", "assert dict(s.a) == {'k': 0}"),
    "a built-in function mapped": ("a=[[]]", "s.a[0].append(1)", "assert list(map(len, s.a)) == [0]"),
    "a built-in function as key": (
        "a=[[], [0]]",
        "s.a[0].extend([1, 2])",
        "assert max(s.a, key=len) is s.a[1]",
    ),
    "sorted in place by a key": (
        "a=[[], [0]]",
        "s.a[0].extend([1, 2])",
        "first = s.a[0]; s.a.sort(key=len); assert s.a[0] is first",
    ),
    "attrgetter": ("a=Point()", "s.a.x = 1", "assert operator.attrgetter('x')(s.a) == 0"),
    "attrgetter of several": (
        "a=Point()",
        "s.a.x = 1",
        "assert operator.attrgetter('y', 'x')(s.a) == (0, 0)",
    ),
    "attrgetter as key": (
        "a=[Point(0), Point(1)]",
        "s.a[0].x = 2",
        "assert max(s.a, key=operator.attrgetter('x')) is s.a[1]",
    ),
    "itemgetter": ("a=[0]", "s.a[0] = 1", "assert operator.itemgetter(0)(s.a) == 0"),
    "methodcaller": ("a=[0]", "s.a[0] = 1", "assert operator.methodcaller('index', 0)(s.a) == 0"),
    "methodcaller with keywords": (
        "a=[[0], []]",
        "s.a[1].append(1)",
        "b = s.a[:]; operator.methodcaller('sort', key=len)(b); assert b[0] is s.a[1]; assert s.a[1] == []",
    ),
    "partial": ("a=[0]", "s.a.append(1)", "assert functools.partial(len, s.a)() == 1"),
    "reduce": ("a=[[0]]", "s.a[0].append(1)", "assert functools.reduce(operator.add, s.a, []) == [0]"),
    "a class pattern": (
        "a=Point()",
        "s.a.x = 1",
        "match s.a:\n        case Point(x=0): pass\n        case _: assert False",
    ),
    "nested patterns": (
        "a=[[0]]",
        "s.a[0][0] = 1",
        "match s.a:\n        case [[0]]: pass\n        case _: assert False",
    ),
    "a memoryview": ("a=bytearray(b'a')", "s.a[0] = 98", "assert memoryview(s.a)[0] == 97"),
    "a UserDict": ("a=collections.UserDict(k=0)", "s.a['k'] = 1", "assert s.a['k'] == 0"),
    "a WeakKeyDictionary": (
        "a=weakref.WeakKeyDictionary(), k=Shared()",
        "s.a[s.k] = 1",
        "assert len(s.a) == 0",
    ),
    "a function's attribute": ("a=0", "helper.calls = 1", "assert not hasattr(helper, 'calls')"),
    "a method of a type in C": ("a=[]", "append = list.append; append(s.a, 1)", "assert s.a == []"),
    "a buffer written by C": ("a=bytearray(1)", "struct.pack_into('B', s.a, 0, 1)", "assert s.a[0] == 0"),
    "an object of C": (
        "a=hashlib.md5()",
        "s.a.update(b'x')",
        "assert s.a.digest() == hashlib.md5().digest()",
    ),
    "a key that is hashed": ("a=Key(0), b={Key(0): 1}", "s.a.x = 1", "assert s.b.get(s.a) == 1"),
    "a class's attribute": ("a=0", "Shared.flag = 1", "Shared.flag; assert s.flag == 0"),
    "an inner list exchanged": ("a=[[0]]", "s.a[0] = [1]", "assert s.a == [[0]]"),
}


def check(folder: Path, text: str, algorithm: str, **options: object):
    file = folder / "model.py"
    file.write_text(HEADER + text, encoding="utf-8")
    request = CheckRequest(
        str(file), "model", str(folder), options={"algorithm": algorithm, **options}, all_violations=True
    )
    return check_model(request)


@pytest.mark.share(2)
@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive", "graph"])
@pytest.mark.parametrize("name", SEEN)
def test_what_is_inside_is_read(tmp_path: Path, name: str, algorithm: str) -> None:
    fields, write, failing = SEEN[name]
    text = MODEL.format(fields=fields, write=write, check=failing)
    assert check(tmp_path, text, algorithm).verdict is Verdict.VIOLATED


@pytest.mark.share(4)
@pytest.mark.parametrize("name", SEEN)
def test_nothing_is_broken_without_the_write(tmp_path: Path, name: str) -> None:
    fields, _, failing = SEEN[name]
    text = MODEL.format(fields=fields, write="pass", check=failing)
    assert check(tmp_path, text, "optimal").verdict is Verdict.VERIFIED


ATOMIC = """
@dpor.model
def model():
    a, b = [0], [0]
    def write():
        a[0] = 1
        b[0] = 1
    dpor.spawn(write)
    if OBSERVATION:
        dpor.join_all()
        assert False
"""


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive", "source", "parsimonious", "graph"])
@pytest.mark.parametrize(
    ("observation", "classes"),
    [
        ("a + b == [0, 1]", 3),
        ("[*(x + y for x, y in [(a, b)])] == [[0, 1]]", 3),
        ("[r for r in [a] if r < b]", 3),
        ("(lambda: a < b)()", 3),
        ("max(a, b) is b and a < b", None),
    ],
)
def test_both_sides_are_read_at_once(
    tmp_path: Path, observation: str, classes: int | None, algorithm: str
) -> None:
    # `a` is written before `b`, so there is no moment at which `a` is old and `b` is new.
    result = check(tmp_path, ATOMIC.replace("OBSERVATION", observation), algorithm)
    if classes is not None:
        assert (result.verdict, result.executions) == (Verdict.VERIFIED, classes)
    else:
        assert result.verdict is Verdict.VERIFIED


CHAIN = """
@dpor.model
def model():
    a, b, c = [0], [1], [2]
    def write():
        b[0] = 3
        b[0] = 1
    dpor.spawn(write)
    in_order = a < b < c
    within = a < b in [[1], [3]]
    assert within
    assert in_order
"""


def test_chained_comparisons_read_each_pair_at_once(tmp_path: Path) -> None:
    result = check(tmp_path, CHAIN, "optimal")
    assert result.verdict is Verdict.VIOLATED
    assert {violation.message for violation in result.violations} == {"assertion failed: in_order"}


FOREIGN = """
import helper

@dpor.model
def model():
    items = [1]
    def write():
        items.append(2)
    dpor.spawn(write)
    assert helper.count(items) == 1
"""


def test_a_function_that_is_not_instrumented_reads_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "helper.py").write_text("def count(items):\n    return len(items)\n", encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.syspath_prepend(str(library))
    result = check(project, FOREIGN, "optimal")
    assert result.verdict is Verdict.VIOLATED
    assert any(assumption.subject == "helper" for assumption in result.assumptions)


def test_code_from_a_string_is_refused_where_it_stands(tmp_path: Path) -> None:
    text = MODEL.format(fields="a=0", write="s.a = 1", check='exec("assert s.a == 0")')
    with pytest.raises(DporError) as caught:
        check(tmp_path, text, "optimal")
    assert caught.value.code is Code.UNCONTROLLED
    line = (HEADER + text).splitlines().index('    exec("assert s.a == 0")') + 1
    assert caught.value.span is not None
    assert caught.value.span.line == line


DESCRIPTOR = """
class Limited:
    def __get__(self, instance, owner):
        return vars(instance)["_value"]

    def __set__(self, instance, value):
        vars(instance)["_value"] = value

class Holder:
    value = Limited()

@dpor.model
def model():
    holder = Holder()
    holder.value = 0
    dpor.spawn(setattr, holder, "value", 1)
    assert holder.value == 0
"""


def test_a_store_does_not_call_the_descriptor_on_the_class(tmp_path: Path) -> None:
    result = check(tmp_path, DESCRIPTOR, "optimal")
    assert {violation.message for violation in result.violations} == {"assertion failed: holder.value == 0"}
