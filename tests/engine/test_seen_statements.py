"""What statements and operators do unasked is seen by a check as what the source spells out is.

Each case is a model that another thread can break in one way only; one that was called verified would mean that a step
is not watched.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, Verdict, ViolationKind

HEADER = """
import array
import collections
import dataclasses
import io
import operator
import types

import dpor

VARIABLE = 0


def set_variable(value):
    global VARIABLE
    VARIABLE = value


@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0


@dataclasses.dataclass(unsafe_hash=True)
class Key:
    x: int = 0


class Shared:
    def __init__(self, **fields):
        vars(self).update(fields)

    @property
    def computed(self):
        return self.a


def each(source):
    yield from source


def matched(subject, *others):
    match subject:
        case [x, y]: return (x, y)
        case [x]: return (x,)
        case _: return None


@dpor.model
def model():
    s = Shared({fields})
    set_variable(0)

    def w():
        {write}

    dpor.spawn(w)
    {check}
"""

# What is shared, what another thread does to it, and what can fail then.
CASES = {
    "match: value": ("a=0", "s.a = 1", "match 0:\n        case s.a: pass\n        case _: assert False"),
    "match: value of a key": (
        "a='k'",
        "s.a = 'l'",
        "match {'k': 0}:\n        case {s.a: 0}: pass\n        case _: assert False",
    ),
    "match: between two cases": (
        "a=0",
        "s.a = 5; s.a = 0",
        "match s:\n        case Shared(a=5): pass\n        case Shared(a=0): pass\n        case _: assert False",
    ),
    "match: between two lengths": (
        "a=[1]",
        "s.a.append(2); s.a[0] = 3",
        "found = 0\n    try: found = matched(s.a)\n    except ValueError: pass\n    assert found is not None",
    ),
    "match: between length and items": (
        "a=[1]",
        "s.a.append(2)",
        "try: matched(s.a)\n    except ValueError: assert False",
    ),
    "match: length": ("a=[]", "s.a.append(2)", "match s.a:\n        case [_]: assert False"),
    "match: single items": ("a=[1, 2]", "s.a[1] = 3", "match s.a:\n        case [*_, x]: assert x == 2"),
    "match: rest of the items": (
        "a=[1, 2]",
        "s.a[1] = 3",
        "match s.a:\n        case [_, *x]: assert x == [2]",
    ),
    "match: inner": ("a=[[0]]", "s.a[0][0] = 3", "match s.a:\n        case [[3]]: assert False"),
    "match: key": ("a={'k': 0}", "s.a['k'] = 3", "match s.a:\n        case {'k': 3}: assert False"),
    "match: two keys": (
        "a={'k': 0, 'l': 0}",
        "s.a['l'] = 3",
        "match s.a:\n        case {'k': _, 'l': 3}: assert False",
    ),
    "match: rest of the keys": (
        "a={'k': 0}",
        "s.a['l'] = 3",
        "match s.a:\n        case {**r}: assert r == {'k': 0}",
    ),
    "match: key that leaves": (
        "a={'k': 0}",
        "del s.a['k']",
        "try:\n        match s.a:\n            case {'k': _, **r}: pass\n    except KeyError: assert False",
    ),
    "match: proxy": (
        "a={'k': 0}",
        "s.a['k'] = 3",
        "match types.MappingProxyType(s.a):\n        case {'k': 3}: assert False",
    ),
    "match: by position": ("a=Point()", "s.a.y = 3", "match s.a:\n        case Point(_, 3): assert False"),
    "match: property": ("a=0", "s.a = 3", "match s:\n        case Shared(computed=3): assert False"),
    "match: equality": (
        "a=Point(), b=Point()",
        "s.b.x = 3",
        "match s.a:\n        case s.b: pass\n        case _: assert False",
    ),
    "match: alternatives": (
        "a=0",
        "s.a = 3",
        "match s:\n        case Shared(a=1) | Shared(a=3): assert False",
    ),
    "match: guard": ("a=0", "s.a = 3", "match 0:\n        case 0 if s.a: assert False"),
    "yield from: list": (
        "a=[0, 0]",
        "s.a[1] = 1",
        "g = each(s.a); next(g); assert next(g) == 0",
    ),
    "yield from: dict": (
        "a={0: 0}",
        "s.a[1] = 1",
        "g = each(s.a); next(g)\n    try: next(g, None)\n    except RuntimeError: assert False",
    ),
    "yield from: while it runs": (
        "a=[0]",
        "s.a.append(1)",
        "g = each(s.a); next(g); assert next(g, None) is None",
    ),
    "with: code in C": (
        "a=io.StringIO()",
        "try: s.a.write('x')\n        except ValueError: assert False",
        "with s.a: pass",
    ),
    "decorator: method of a container": (
        "a=[]",
        "assert not s.a",
        "@s.a.append\n    def f(): pass",
    ),
    "decorator: function": (
        "a=[0]",
        "s.a.append(1)",
        "len_of = lambda f: len(s.a)\n    @len_of\n    def n(): pass\n    assert n == 1",
    ),
    "decorator: class in C": (
        "a=[0]",
        "s.a.append(1)",
        "class n: pass\n    n = s.a\n    @sorted\n    @lambda f: n\n    def m(): pass\n    assert m == [0]",
    ),
    "import from": (
        "a=0",
        "set_variable(1)",
        "from model import VARIABLE as v; assert v == 0",
    ),
    "equal to bytes": ("a=bytearray(b'a')", "s.a[0] = 98", "assert s.a == b'a'"),
    "less than bytes": ("a=bytearray(b'a')", "s.a[0] = 98", "assert b'a' <= s.a < b'b'"),
    "plus bytes": ("a=bytearray(b'a')", "s.a[0] = 98", "b = s.a + b''; assert bytes(b) != b'b'"),
    "match: bytes": ("a=bytearray(b'a')", "s.a[0] = 98", "match s.a:\n        case b'b': assert False"),
    "template of bytes": ("a=bytearray(b'%d')", "s.a[1] = 111", "b = s.a % 9; assert bytes(b) == b'9'"),
    "unary operator": ("a=collections.Counter(k=1)", "s.a['k'] = -1", "assert +s.a"),
    "key of a display": (
        "a=Key()",
        "s.a.x = 1",
        "d = {s.a: 0}; s.a.x = 0; dpor.join_all(); s.a.x = 0; assert s.a in d",
    ),
    "element of a display": (
        "a=Key()",
        "s.a.x = 1",
        "d = {s.a}; dpor.join_all(); s.a.x = 0; assert s.a in d",
    ),
    "annotation": ("a=0", "s.a = 1", "def f(x: s.a): pass\n    assert f.__annotations__ == {'x': 0}"),
    "format: attribute": ("a=0", "s.a = 1", "assert '{0.a}'.format(s) == '0'"),
    "format: named attribute": ("a=0", "s.a = 1", "assert '{x.a}'.format(x=s) == '0'"),
    "format: item": ("a=[0]", "s.a[0] = 1", "assert '{0[0]}'.format(s.a) == '0'"),
    "format: item of an attribute": ("a=[0]", "s.a[0] = 1", "assert '{0.a[0]}'.format(s) == '0'"),
    "format: key": ("a={'k': 0}", "s.a['k'] = 1", "assert '{0[k]}'.format(s.a) == '0'"),
    "format: width": ("a=1", "s.a = 2", "assert '{0:{1.a}}'.format(0, s) == '0'"),
    "format: property": ("a=0", "s.a = 1", "assert '{0.computed}'.format(s) == '0'"),
    "format_map": ("a=0", "s.a = 1", "assert '{x.a}'.format_map({'x': s}) == '0'"),
    "format_map: content": ("a={'x': 0}", "s.a['x'] = 1", "assert '{x}'.format_map(s.a) == '0'"),
    "format of str": ("a=0", "s.a = 1", "assert str.format('{0.a}', s) == '0'"),
    "f-string: width": ("a=1", "s.a = 2", "assert f'{0:{s.a}}' == '0'"),
    "f-string: attribute": ("a=Point()", "s.a.x = 2", "assert f'{s.a!r:>1}' == 'Point(x=0, y=0)'"),
}


# What is shared, what another thread does to it, and what cannot fail, since one instruction reads it all.
WHOLE = {
    "match: attributes": (
        "a=0, b=0",
        "s.a = 1; s.b = 1",
        "match s:\n        case Shared(a=0, b=1): assert False",
    ),
    "match: attributes by position": (
        "a=Point()",
        "s.a.x = 1; s.a.y = 1",
        "match s.a:\n        case Point(0, 1): assert False",
    ),
    "match: keys": (
        "a={'k': 0, 'l': 0}",
        "s.a['k'] = 1; s.a['l'] = 1",
        "match s.a:\n        case {'k': 0, 'l': 1}: assert False",
    ),
    "match: items": (
        "a=[0, 0]",
        "s.a[0] = 1; s.a[1] = 1",
        "match s.a:\n        case [0, 1]: assert False",
    ),
    "format: attributes": ("a=0, b=0", "s.a = 1; s.b = 1", "assert '{0.a}{0.b}'.format(s) != '01'"),
    "attrgetter of a path": (
        "a=Point(0, 0)",
        "p = s.a; s.a = Point(1, 1); p.x = 2",
        "assert operator.attrgetter('a.x')(s) != 2",
    ),
    "attrgetter of two paths": (
        "a=Point(0, 0)",
        "s.a.x = 1; s.a.y = 1",
        "assert operator.attrgetter('a.x', 'a.y')(s) != (0, 1)",
    ),
    "itemgetter": ("a=[0, 0]", "s.a[0] = 1; s.a[1] = 1", "assert operator.itemgetter(0, 1)(s.a) != (0, 1)"),
    "itemgetter of a dict": (
        "a={'k': 0, 'l': 0}",
        "s.a['k'] = 1; s.a['l'] = 1",
        "assert operator.itemgetter('k', 'l')(s.a) != (0, 1)",
    ),
    "format: items": ("a=[0, 0]", "s.a[0] = 1; s.a[1] = 1", "assert '{0[0]}{0[1]}'.format(s.a) != '01'"),
}
# Not the default one; each treats reads in a way of its own.
WAYS = {
    "value-centric": {"algorithm": "value-centric"},
    "reads-from": {"algorithm": "graph", "partition": "rf"},
    "rc11": {"algorithm": "graph", "memory_model": "rc11"},
    "tso": {"memory_model": "tso"},
}


def check(folder: Path, case: tuple[str, str, str], write: str, **options: str) -> ModelResult:
    fields, _, failing = case
    text = HEADER.replace("{fields}", fields).replace("{write}", write).replace("{check}", failing)
    file = folder / "model.py"
    file.write_text(text, encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder), options=options))


@pytest.mark.parametrize("name", CASES)
def test_it_is_seen(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, CASES[name], CASES[name][1])
    assert result.verdict is Verdict.VIOLATED
    assert result.violations[0].kind is ViolationKind.ASSERTION


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_broken_without_the_other_thread(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, CASES[name], "pass").verdict is Verdict.VERIFIED


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("match", "format"))])
def test_what_is_read_by_name_is_seen_or_refused_in_other_ways(tmp_path: Path, name: str, way: str) -> None:
    try:
        result = check(tmp_path, CASES[name], CASES[name][1], **WAYS[way])
    except DporError as error:
        if error.code is not Code.UNSUPPORTED_PAIR:
            raise
        return
    assert result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", WHOLE)
def test_one_instruction_is_one_step(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, WHOLE[name], WHOLE[name][1]).verdict is Verdict.VERIFIED
