"""Packages of the standard library that a model names to have them looked into."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

HEADER = """
import collections, enum, queue, re, threading
import dpor

class Colour(enum.Enum):
    RED = 1

def both(*functions):
    threads = [dpor.spawn(function) for function in functions]
    for thread in threads:
        thread.join()
"""


def check(tmp_path: Path, packages: tuple[str, ...], body: str) -> ModelResult:
    (tmp_path / "model.py").write_text(
        f"{HEADER}\n@dpor.model(instrument={packages!r})\ndef model():\n{body}"
    )
    return check_model(CheckRequest("model.py", "model", str(tmp_path)))


def test_a_module_that_the_interpreter_has_loaded_is_looked_into(tmp_path: Path) -> None:
    body = """
    counts = collections.Counter()
    both(lambda: counts.update("a"), lambda: counts.update("a"))
    assert counts["a"] == 2
"""
    result = check(tmp_path, ("collections",), body)
    # In CPython the counting is one step in C.
    assert result.verdict is Verdict.VERIFIED, result
    assert not result.assumptions


def test_it_is_the_module_that_everybody_has(tmp_path: Path) -> None:
    body = """
    import json
    assert collections.OrderedDict is json.JSONDecoder(object_pairs_hook=collections.OrderedDict).object_pairs_hook
    assert isinstance(collections.UserDict(), __import__("collections.abc").abc.MutableMapping)
    assert type(Colour.RED).__mro__[1] is enum.Enum
"""
    result = check(tmp_path, ("collections", "enum", "json", "re", "typing", "abc"), body)
    assert result.verdict is Verdict.VERIFIED, result


def test_a_module_that_is_left_as_it_is_otherwise_is_looked_into(tmp_path: Path) -> None:
    body = """
    found = []
    def change():
        Colour.RED._value_ = 5
    both(change, lambda: found.append(Colour.RED.value))
    assert found == [5]
"""
    assert check(tmp_path, ("enum",), body).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("package", ["threading", "queue", "asyncio", "concurrent.futures"])
def test_what_runs_on_stand_ins_stays_as_it_is(tmp_path: Path, package: str) -> None:
    body = """
    items = queue.Queue()
    both(lambda: items.put(1), lambda: items.put(1))
    assert items.qsize() == 2
"""
    assert check(tmp_path, (package,), body).executions == check(tmp_path, (), body).executions


def test_a_package_that_no_model_has_loaded_is_looked_into(tmp_path: Path) -> None:
    body = """
    import wsgiref.headers
    headers = wsgiref.headers.Headers()
    both(lambda: headers.setdefault("a", "1"), lambda: headers.setdefault("a", "2"))
    assert len(headers) == 1
"""
    result = check(tmp_path, ("wsgiref",), body)
    assert result.verdict is Verdict.VIOLATED, result
