"""What code that runs unseen reads: what code that it calls gives it, and what it is given.

Each case is an expression over a container `s` that another thread changes. Plain Python says what it gives before the
change and after it; a check must find both, which it does only if it sees that the built-in code reads the list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

HEADER = """
import bisect, collections, copy, functools, heapq, itertools, json, math, operator, types, dpor
import base64, codecs, concurrent.futures, enum, fnmatch, fractions, os, re, struct, traceback, warnings

def done():
    future = concurrent.futures.Future()
    future.set_result(None)
    return future

def give(s):
    yield s

def count(*given):
    return len(given)

def names(**given):
    return len(given)

class Holder:
    def __init__(self, s):
        self.s = s

    def __call__(self, *given):
        return self.s

class Steps:
    def __init__(self, s):
        self.left = [s]

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop()

class Bag:
    def __init__(self, s):
        self.s = s

    def __iter__(self):
        return iter(self.s)

class Texts(Bag):
    def __iter__(self):
        return map(str, self.s)

class Mapping(Bag):
    def keys(self):
        return Texts(self.s)

    def __getitem__(self, key):
        return key

class Equal(Bag):
    def __eq__(self, other):
        return self.s

    __hash__ = None
"""

MODEL = """

@dpor.model
def model():
    s = {before}
    found = []

    def read():
        found.append(repr({expression}))

    reader = dpor.spawn(read)
    writer = dpor.spawn(lambda: {change})
    reader.join()
    writer.join()
    assert found != [{unwanted!r}]
"""

SOURCES = {
    "generator expression": "(x for x in [s])",
    "generator": "give(s)",
    "map": "map(lambda x: s, [0])",
    "attrgetter": "map(operator.attrgetter('s'), [Holder(s)])",
    "iterator": "Steps(s)",
    "list": "[s]",
    # What the function gives holds what is read.
    "chain": "itertools.chain.from_iterable(x for x in [[s]])",
    "chain of map": "itertools.chain.from_iterable(map(lambda x: [s], [0]))",
    "chain of a filter": "itertools.chain.from_iterable(filter(None, (x for x in [[s]])))",
}

# What is done with one of these.
USES = {
    "chain": "list(itertools.chain.from_iterable({}))",
    "chain of a slice": "list(itertools.chain.from_iterable(itertools.islice({}, 1)))",
    "sum": "sum({}, [])",
    "any": "any({})",
    "all": "all({})",
    "filter": "count(*filter(None, {}))",
    "filterfalse": "count(*itertools.filterfalse(None, {}))",
    "takewhile": "count(*itertools.takewhile(len, {}))",
    "compress": "list(itertools.compress([7], {}))",
    "list of map": "list(map(list, {}))",
    "length": "list(map(len, {}))",
    "max": "max(itertools.chain({}, [[5]])) == [5]",
    "sorted": "sorted(itertools.chain({}, [[5]]))[0] == [5]",
    "key": "max(map(len, {}))",
    "in": "[6] in {}",
    "countOf": "operator.countOf({}, [6])",
    "accumulate": "list(itertools.accumulate(itertools.chain([[]], {})))[-1][:]",
    "starmap": "list(itertools.starmap(count, {}))",
    "join": "','.join(map(str, {}))",
    "groupby": "[key for key, _ in itertools.groupby({}, len)]",
    "set": "set(map(len, {}))",
    "dict": "dict(itertools.zip_longest([1], map(tuple, {})))",
}

# Other code that built-in code calls back, and uses of it.
OTHERS = {
    "key of sorted": "sorted([1, 2], key=lambda x: s if x == 1 else [6, 0])",
    "key of sorted texts": "sorted('ab', key=lambda x: s if x == 'a' else [6, 0])",
    "key of max of numbers": "max(1, 2, key=lambda x: s if x == 1 else [6, 0])",
    "key of min of a range": "min(range(2), key=lambda x: s if x == 0 else [6, 0])",
    "key of sort": "(lambda a: (a.sort(key=lambda x: s if x == 1 else [6, 0]), a))([1, 2])",
    "key of min": "min([1, 2], key=lambda x: s if x == 1 else [6, 0])",
    "key of bisect": "bisect.bisect([1], [6, 0], key=lambda x: s)",
    "key of groupby": "[key == [6] for key, _ in itertools.groupby([1], lambda x: s)]",
    "truth of filter": "list(filter(Holder(s), [1]))",
    "truth of dropwhile": "list(itertools.dropwhile(Holder(s), [1]))",
    "sentinel": "count(*itertools.islice(iter(lambda: s, [6]), 1))",
    "default of json": "json.dumps(Holder(s), default=lambda holder: holder.s)",
    "sum of attributes": "sum((x.s for x in [Holder(s)]), [])",
    "any of attributes": "any(x.s for x in [Holder(s)])",
    "chain of views": "list(itertools.chain.from_iterable(iter(x.s) for x in [Holder(s)]))",
    "highest of each": "list(map(max, (x.s + [0] for x in [Holder(s)])))",
    "product": "math.prod(itertools.chain.from_iterable(x.s for x in [Holder(s)]))",
    "counter": "collections.Counter(itertools.chain.from_iterable(x.s for x in [Holder(s)]))[6]",
    "smallest": "heapq.nsmallest(1, [1, 2], key=lambda x: s if x == 1 else [6, 0])",
    "partial": "functools.partial(sum, (x.s for x in [Holder(s)]))([])",
    "keys for dict": "list(dict(Mapping(s)))",
    "keys for update": "(lambda d: (d.update(Mapping(s)), list(d)))({})",
    "keys for a display": "list({**Mapping(s)})",
    "keys for a call": "names(**Mapping(s))",
    "items of a bag": "list(Bag(s))",
    "items for a call": "count(*Bag(s))",
    "items for a display": "[*Bag(s)]",
    "in a bag": "6 in Bag(s)",
    "extended by a bag": "(lambda a: (a.extend(Bag(s)), a))([])",
    "truth of equality in a list": "3 in [Equal(s)]",
    "truth of equality of lists": "[Equal(s)] == [3]",
    "truth of equality of a count": "[Equal(s)].count(3)",
    "what displays hold": "[s] == [[6]]",
}

LISTS, TEXTS, BYTES, FUTURES = (
    [("[6]", "s.append(1)"), ("[6]", "s.clear()"), ("[]", "s.append(6)")],
    [("['a']", "s.append('b')")],
    [("bytearray(b'a')", "s.append(98)")],
    [("[done()]", "s.append(done())")],
)

# Code in Python that is left as it is, and views.
GIVEN = {
    "text of a proxy": (LISTS, "repr(types.MappingProxyType({'a': s}))"),
    "equality of a proxy": (LISTS, "types.MappingProxyType({'a': s}) == {'a': [6]}"),
    "text of an exception": (LISTS, "traceback.format_exception_only(ValueError(s))"),
    "text by keyword": (LISTS, "str(object=s)"),
    "bytes by keyword": (LISTS, "bytes(source=s)"),
    "deque by keyword": (LISTS, "list(collections.deque(iterable=s))"),
    "groups by keyword": (LISTS, "[key for key, _ in itertools.groupby(iterable=s)]"),
    "start by keyword": (LISTS, "sum([[1]], start=s)"),
    "enumerate by keyword": (LISTS, "list(enumerate(iterable=s))"),
    "a warning": (LISTS, "warnings.formatwarning(s, UserWarning, 'a', 1)"),
    "prefix of paths": (TEXTS, "os.path.commonprefix(s)"),
    "names that match": (TEXTS, "fnmatch.filter(s, '*')"),
    "encoded texts": (TEXTS, "list(codecs.iterencode(s, 'utf-8'))"),
    "members of an enumeration": (TEXTS, "len(enum.Enum('E', s))"),
    "base64": (BYTES, "base64.b64encode(s)"),
    "found bytes": (BYTES, "re.findall(rb'.', s)"),
    "bytes of a compiled pattern": (BYTES, "re.compile(rb'.+').match(s).end()"),
    "bytes of a compiled format": (BYTES, "struct.Struct('B').unpack_from(s, len(s) - 1)"),
    "a Fraction": (BYTES, "fractions.Fraction(len(s), 3)"),
    "futures that are done": (FUTURES, "len(concurrent.futures.wait(s).done)"),
    "futures as they are done": (FUTURES, "len(list(concurrent.futures.as_completed(s)))"),
}

CASES = {
    **{
        f"{use} of {source}": (LISTS, USES[use].format(SOURCES[source])) for use in USES for source in SOURCES
    },
    **{name: (LISTS, expression) for name, expression in OTHERS.items()},
    **GIVEN,
}


def result(namespace: dict[str, Any], expression: str, before: str, change: str | None) -> str:
    """The text of what the expression gives in plain Python."""
    names = {**namespace, "s": eval(before, namespace)}
    if change is not None:
        eval(change, names)
    return repr(eval(expression, names))


@pytest.mark.parametrize("name", CASES)
def test_a_check_finds_what_it_gives_before_and_after_a_change(tmp_path: Path, name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(HEADER, namespace)
    changes, expression = CASES[name]
    for before, change in changes:
        values = [result(namespace, expression, before, one) for one in (None, change)]
        if values[0] != values[1]:
            break
    else:
        raise AssertionError("no change makes a difference")
    for number, unwanted in enumerate(values):
        path = tmp_path / f"model{number}.py"
        model = MODEL.format(before=before, expression=expression, change=change, unwanted=unwanted)
        path.write_text(HEADER + model)
        found = check_model(CheckRequest(str(path), "model", str(tmp_path)))
        assert found.verdict is Verdict.VIOLATED


# Iterators that are made before another look at what they run over, and used after it.
USED_LATER = {
    "generator that is left as it is": "codecs.iterencode(s, 'utf-8')",
    "generator behind map": "map(len, codecs.iterencode(s, 'utf-8'))",
    "chain of a generator": "itertools.chain.from_iterable(x for x in [s])",
    "chain of a function": "itertools.chain.from_iterable(map(lambda x: s, [0]))",
    "filter": "filter(None, s)",
}


@pytest.mark.parametrize("name", USED_LATER)
def test_an_iterator_reads_when_it_is_advanced(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.py"
    expression = f"(lambda made: (len(s), len(list(made))))({USED_LATER[name]})"
    model = MODEL.format(before="['a']", expression=expression, change="s.append('b')", unwanted=repr((1, 2)))
    path.write_text(HEADER + model)
    assert check_model(CheckRequest(str(path), "model", str(tmp_path))).verdict is Verdict.VIOLATED


HELD_MODEL = """
class Same:
    calls = []

    def __eq__(self, other):
        Same.calls.append(1)
        return True

    def __lt__(self, other):
        return False

    __hash__ = object.__hash__

def change(s, all):
    all.clear()
    s[0] = 5
"""
# What is in `all` when an operation begins, and is in there no more when the `__eq__` of an item has been called.
HELD = {
    "sorted": ("[(Same(), s), (Same(), [4])]", "[t[1][0] for t in sorted(all)]"),
    "sort": ("[(Same(), s), (Same(), [4])]", "(list.sort(all), [t[1][0] for t in all])"),
    "sort of another list": (
        "[(Same(), s), (Same(), [4])]",
        "(lambda own: (own.sort(), [t[1][0] for t in own]))(all[:])",
    ),
    "max": ("[(Same(), s), (Same(), [4])]", "max(all)[1][0]"),
    "min": ("[(Same(), [4]), (Same(), s)]", "min(all)[1][0]"),
    "index": ("[(Same(), s)]", "all.index((Same(), [5]))"),
    "in": ("[(Same(), s)]", "(Same(), [5]) in all"),
    "count": ("[(Same(), s)]", "all.count((Same(), [5]))"),
    "==": ("[(Same(), s)]", "all == [(Same(), [5])]"),
    "heap": ("[(Same(), s), (Same(), [4])]", "[t[1][0] for t in heapq.nsmallest(2, all)]"),
    "groups": (
        "[(Same(), s), (Same(), [5])]",
        "[len(list(group)) for _, group in itertools.groupby(list(all))]",
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_an_operation_goes_on_with_what_it_got_of_a_container(tmp_path: Path, name: str) -> None:
    items, expression = HELD[name]
    seen: set[str] = set()
    for at in range(1, 4):
        names: dict[str, Any] = {}
        exec(HEADER + HELD_MODEL + f"s = [3]\nall = {items}", names)

        def changing(this: object, other: object, at: int = at, names: dict[str, Any] = names) -> bool:
            names["Same"].calls.append(1)
            if len(names["Same"].calls) == at:
                names["change"](names["s"], names["all"])
            return True

        names["Same"].__eq__ = changing
        try:
            seen.add(repr(eval(expression, names)))
        except (IndexError, ValueError):
            continue
    assert seen
    for number, unwanted in enumerate(seen):
        path = tmp_path / f"model{number}.py"
        path.write_text(
            HEADER
            + HELD_MODEL
            + f"""
@dpor.model
def model():
    s, found = [3], []
    all = {items}
    def work():
        try:
            found.append(repr({expression}))
        except (IndexError, ValueError):
            pass
    threads = [dpor.spawn(work), dpor.spawn(lambda: change(s, all))]
    for thread in threads:
        thread.join()
    assert found != [{unwanted!r}]
"""
        )
        result = check_model(CheckRequest(str(path), "model", str(tmp_path)))
        assert result.verdict is Verdict.VIOLATED, unwanted


BUILDING = """
import dpor

@dpor.model
def model():
    made = dict((number, [number]) for number in range(30_000))
    assert len(made) == 30_000
"""


def test_what_was_given_before_a_thread_exists_is_not_looked_at_again_each_time(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(BUILDING)
    request = CheckRequest("model.py", "model", str(tmp_path), options={"timeout": 10})
    assert check_model(request).verdict is Verdict.VERIFIED


def test_what_was_given_before_is_looked_at_again_once_a_thread_exists(tmp_path: Path) -> None:
    text = """
import dpor

@dpor.model
def model():
    first, seen = [0], []

    def change():
        first[0] = 1

    def give():
        yield first
        dpor.spawn(change)
        yield [2]

    seen = sorted(give())
    assert str(seen) != {found!r}
    dpor.join_all()
"""
    for found in ("[[0], [2]]", "[[1], [2]]"):
        (tmp_path / "model.py").write_text(text.replace("{found!r}", repr(found)))
        assert check_model(CheckRequest("model.py", "model", str(tmp_path))).verdict is Verdict.VIOLATED
