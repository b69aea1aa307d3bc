"""Caches that overflow: what they forget is what was used least recently."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult

HEAD = """
import dpor, functools, threading

computed = []

@functools.lru_cache
def square(number):
    computed.append(number)
    return number * number

@functools.lru_cache
def kept(key):
    return key.number

def fill(first):
    for number in range(first, first + 128):
        square(number)

class Key:
    def __init__(self, number): self.number = number
    def __hash__(self): return self.number
    def __eq__(self, other): return self.number == other.number

@dpor.model
def model():
"""
KNOWN = {
    "one thread": """
    fill(0)
    square(0)
    square(1000)
    assert square.cache_info()[3] == 128
    del computed[:]
    square(0)
    square(2)
    assert computed == []
    square(1)
    assert computed == [1]
    """,
    "a thread beside another one": """
    def work():
        fill(100)
        square(50)
        square(3000)
        del computed[:]
        square(50)
        square(100)
        assert computed == [100]
    total = []
    fill(0)
    threads = [threading.Thread(target=work), threading.Thread(target=total.append, args=(1,))]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    """,
    "several arguments": """
    @functools.lru_cache(maxsize=100, typed=True)
    def joined(*parts, **more):
        computed.append(parts)
        return 1
    for number in range(100):
        joined(number, 'a', key=None)
    joined(0, 'a', key=None)
    joined(1.0, 'a', key=None)
    del computed[:]
    joined(0, 'a', key=None)
    joined(1, 'a', key=None)
    assert computed == [(1, 'a')]
    """,
}
KNOWN["a thread after another one"] = """
    dpor.spawn(fill, 0).join()
    fill(100)
    del computed[:]
    square(100)
    square(99)
    assert computed == [99]
    """
UNKNOWN = {
    "two threads": """
    dpor.spawn(fill, 0)
    dpor.spawn(fill, 100)
    """,
    "a thread after another one, beside a third": """
    dpor.spawn(str)
    dpor.spawn(fill, 0).join()
    fill(100)
    """,
    "keys that compare themselves": """
    for number in range(129):
        kept(Key(number))
    """,
}


def check(folder: Path, text: str) -> ModelResult:
    (folder / "model.py").write_text(HEAD + text)
    return check_model(CheckRequest("model.py", "model", str(folder)))


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_used_least_recently_is_forgotten(name: str, tmp_path: Path) -> None:
    result = check(tmp_path, KNOWN[name])
    assert (result.verdict.value, result.reason) == ("verified", None)


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_overflow_is_refused_where_the_order_of_uses_is_not_known(name: str, tmp_path: Path) -> None:
    with pytest.raises(DporError, match="order of use") as refused:
        check(tmp_path, UNKNOWN[name])
    assert refused.value.code is Code.UNCONTROLLED
