"""How deep operations in C look into what they are given: what C keeps of an object, attributes of containers, keys.

Plain Python says what an expression gives before a change and after it; a check must find both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

HEADER = """
import abc, array, collections, copy, csv, decimal, functools, io, itertools, operator, os, pickle, random, sqlite3
import tempfile, types, dpor

class Partial(functools.partial): pass
class Buffer(io.BytesIO): pass
class Text(io.StringIO): pass
class Deque(collections.deque): pass
class Array(array.array): pass
class Draws(random.Random): pass
class Bytes(bytearray): pass
class Tuple(tuple): pass
class Names(types.SimpleNamespace): pass
class Dict(dict): pass
class Ordered(collections.OrderedDict): pass
class Set(set): pass
class List(list): pass

class Key:
    def __init__(self):
        self.a = 1

    def __repr__(self):
        return f"Key({self.a})"

def pickled(value):
    return pickle.loads(pickle.dumps(value))

def written(write):
    out = io.StringIO()
    write(out)
    return out.getvalue()

def saved(mode, write):
    with tempfile.TemporaryFile(mode) as file:
        write(file)
        file.seek(0)
        return file.read()

def stored(rows):
    database = sqlite3.connect(":memory:")
    database.execute("create table t(a)")
    database.executemany("insert into t values(?)", rows)
    return database.execute("select sum(a) from t").fetchone()
"""
# What is shared, what is read of it, and how it is changed.
CASES = {
    "arguments of a partial": ("functools.partial(len, [1])", "pickled(s).args", "s.args[0].append(2)"),
    "arguments of a derived partial": ("Partial(len, [1])", "pickled(s).args", "s.args[0].append(2)"),
    "arguments that are copied": ("Partial(len, [1])", "copy.deepcopy(s).args", "s.args[0].append(2)"),
    "arguments as text": ("functools.partial(len, [1])", "repr(s)", "s.args[0].append(2)"),
    "attributes of a partial": ("Partial(len)", "pickled(s).__dict__", "setattr(s, 'z', 1)"),
    "what an exception was made with": ("ValueError([1])", "pickled(s).args", "s.args[0].append(2)"),
    "bytes of a stream": ("Buffer(b'ab')", "pickled(s).getvalue()", "s.write(b'x')"),
    "text of a stream": ("Text('ab')", "s.getvalue()", "s.write('x')"),
    "items of a deque": ("Deque([1])", "pickled(s)", "s.append(2)"),
    "items of an array": ("Array('b', [1])", "pickled(s)", "s.append(2)"),
    "the state of a generator": ("Draws(1)", "s.getstate()", "s.random()"),
    "draws": ("Draws(1)", "s.sample(range(9), 2)", "s.seed(3)"),
    "bytes": ("Bytes(b'a')", "pickled(s)", "s.append(2)"),
    "items of a tuple": ("Tuple([[1]])", "pickled(s)", "s[0].append(2)"),
    "items of a tuple as text": ("Tuple([[1]])", "repr(s)", "s[0].append(2)"),
    "attributes of a tuple": ("Tuple([1])", "pickled(s).__dict__", "setattr(s, 'z', 1)"),
    "attributes of a list": ("List([1])", "pickled(s).__dict__", "setattr(s, 'z', 1)"),
    "attributes of a dict": ("Dict(a=1)", "pickled(s).__dict__", "setattr(s, 'z', 1)"),
    "attributes of a set": ("Set([1])", "pickled(s).__dict__", "setattr(s, 'z', 1)"),
    "names": ("Names(a=[1])", "pickled(s).a", "s.a.append(2)"),
    "names as text": ("Names(a=[1])", "repr(s)", "setattr(s, 'b', 1)"),
    "values of a dict": ("Ordered(a=[1])", "pickled(s)", "s['a'].append(2)"),
    "keys of a dict": ("{Key(): 1}", "list(pickled(s))", "setattr(list(s)[0], 'a', 2)"),
    "a view of a dict": ("types.MappingProxyType({'a': [1]})", "repr(s)", "s['a'].append(2)"),
    "a slice": ("slice([1])", "repr(s)", "s.stop.append(2)"),
    "the object of a method": ("[1].append", "pickled(s).__self__", "s.__self__.append(2)"),
    "digits": ("decimal.Context(prec=5)", "pickled(s).prec", "setattr(s, 'prec', 7)"),
    "the dict of a class": ("{'a': 1}", "type('C', (), s).__dict__.get('b')", "s.update(b=2)"),
    "the dict of an abstract class": (
        "{'a': 1}",
        "abc.ABCMeta('C', (), s).__dict__.get('b')",
        "s.update(b=2)",
    ),
    "rows of a table": ("[[1], [2]]", "written(lambda out: csv.writer(out).writerows(s))", "s[0].append(3)"),
    "rows of a database": ("[[1], [2]]", "stored(s)", "s[0].__setitem__(0, 5)"),
    "a parameter of a database": (
        "[1]",
        "sqlite3.connect(':memory:').execute('select ?', s).fetchone()",
        "s.__setitem__(0, 5)",
    ),
    "lines of a file": ("['a']", "saved('w+', lambda file: file.writelines(s))", "s.append('b')"),
    "bytes of a file": ("bytearray(b'a')", "saved('wb+', lambda file: file.write(s))", "s.append(2)"),
    "bytes of a descriptor": (
        "bytearray(b'a')",
        "saved('wb+', lambda file: os.write(file.fileno(), s))",
        "s.append(2)",
    ),
    "a count": ("itertools.count()", "repr(s)", "next(s)"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_check_finds_what_is_read_before_and_after_a_change(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, read, change = CASES[name]
    # A module, as `pickle` finds classes.
    module = ModuleType("plain")
    names: dict[str, Any] = module.__dict__
    monkeypatch.setitem(sys.modules, "plain", module)
    exec(HEADER, names)
    names["s"] = eval(made, names)
    before = repr(eval(read, names))
    names["s"] = eval(made, names)
    eval(change, names)
    after = repr(eval(read, names))
    assert before != after
    for unwanted in (before, after):
        path = tmp_path / "model.py"
        path.write_text(
            HEADER
            + f"""
@dpor.model
def model():
    s, found = {made}, []
    threads = [dpor.spawn(lambda: found.append(repr({read}))), dpor.spawn(lambda: {change})]
    for thread in threads:
        thread.join()
    assert found != [{unwanted!r}]
"""
        )
        result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
        assert result.verdict is Verdict.VIOLATED, unwanted


RECORDED = """
import threading
import dpor
import {package}

class Wait:
    def __await__(self):
        yield

@dpor.model
def model():
    shared = []
    async def main():
        numbers = [1]
        shared.append(numbers[0])
        await Wait()
    first = threading.Thread(target=lambda: shared.append(2))
    first.start()
    coroutine = main()
    coroutine.send(None)
    {package}.touch(coroutine)
    found = {{}}
    second = threading.Thread(target=lambda: found.setdefault("a", 1))
    second.start()
    found["a"] = 2
    first.join()
    second.join()
    coroutine.close()
    assert found["a"] == 1
"""


def test_what_the_recorder_looks_at_of_a_coroutine_is_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = f"touching_{tmp_path.name}"
    site, project = tmp_path / "site-packages", tmp_path / "project"
    for folder in (site, project):
        folder.mkdir()
    (site / f"{package}.py").write_text("def touch(value):\n    return None\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    (project / "model.py").write_text(RECORDED.format(package=package), encoding="utf-8")
    # It is recorded as it is run again, and must be the same.
    assert check_model(CheckRequest("model.py", "model", str(project))).verdict is Verdict.VIOLATED
