"""Classes that derive from types of values: to read these is no conflict, but what they hold may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HEAD = """
import bisect, dpor, enum, json, threading
from collections import namedtuple

class Point(namedtuple("Point", "x y")):
    def total(self): return self.x + self.y

class Text(str): pass
class Data(bytes): pass
class Number(int): pass
class Fixed(frozenset): pass
class Color(str, enum.Enum):
    RED = "red"

def spawn(first, second):
    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

@dpor.model
def model():
"""
READS = {
    "Point(1, 2)": (
        "a, b = it",
        "it[0], it[:1]",
        "list(it), tuple(it), [*it]",
        "sum(it), max(it), sorted(it)",
        "it.index(1), it.count(2)",
        "1 in it, len(it), bool(it)",
        "it == (1, 2), it < (3, 4), hash(it)",
        "it._replace(x=3), it._asdict(), it.total()",
        "it.__getitem__(0), it.__add__((3,))",
        "[value for value in it]",
        "'%s %s' % it",
    ),
    "Text('ab')": (
        "it[0], it + 'c'",
        "it.upper(), it.split('b'), it.encode()",
        "'a' in it, len(it)",
        "list(it)",
    ),
    "Data(b'ab')": ("it[0], it + b'c'", "it.decode(), it.find(b'b')", "97 in it, len(it)", "list(it)"),
    "Number(3)": ("it + 1, -it", "it.bit_length(), it.to_bytes(1, 'big')", "range(it), [1, 2, 3, 4][it]"),
    "Fixed([1, 2])": (
        "1 in it, len(it)",
        "it.union([3]), it.issubset([1])",
        "it | {3}, it <= it",
        "sorted(it)",
    ),
    "Color.RED": ("it.upper(), it.name", "it == 'red', Color('red')"),
    "[1, 2]": ("bisect.bisect(it, 1)", "bisect.bisect_left(it, 1, key=lambda value: value)"),
    "'[1, NaN]'": ("json.loads(it)",),
}
LOOKS = {
    "unpacking": "a, b = it; a[0]",
    "an item": "it[0][0]",
    "a search": "[1] in it",
    "a count": "it.count([1])",
    "a comparison": "it == ([1], [0])",
    "a called comparison": "it.__eq__(([1], [0]))",
    "a text": "repr(it)",
    "a called text": "it.__repr__()",
    "a sum": "sum(it, [])",
    "a sort": "sorted(it)",
    "a join of texts": "str([*it])",
}


def run(folder: Path, lines: str) -> ModelResult:
    (folder / "model.py").write_text(HEAD + "".join(f"    {line}\n" for line in lines.splitlines()))
    request = CheckRequest(file=str(folder / "model.py"), model="model", root=str(folder))
    return check_model(request)


@pytest.mark.parametrize(("made", "read"), [(made, read) for made, reads in READS.items() for read in reads])
def test_threads_that_read_a_value_are_explored_once(made: str, read: str, tmp_path: Path) -> None:
    result = run(tmp_path, f"it = {made}\ndef look(): {read}\nspawn(look, look)")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)
    # What a hash depends on is said elsewhere.
    assert [one.subject for one in result.assumptions if one.subject != "hash"] == []


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_what_a_value_holds_is_read_before_and_after_a_store(look: str, first: bool, tmp_path: Path) -> None:
    *before, last = look.split("; ")
    lines = [*before, f"seen.append({last})"]
    body = f"""it, seen = Point([0], [0]), []
def look(): {"; ".join(lines)}
def change(): it[0][0] = 1
it[0][0] = {0 if first else 1}
look()
it[0][0] = 0
spawn(look, change)
assert seen[0] != seen[1]"""
    assert run(tmp_path, body).verdict is Verdict.VIOLATED
