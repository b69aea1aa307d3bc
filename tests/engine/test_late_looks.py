"""A look at the order of items counts also where it comes first in a later execution.

Until then insertions of different items commuted, so that what was explored before does not count. In each model the
threads store what tells nothing of the order of their insertions, and main looks only in some executions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import collections
import threading
from types import SimpleNamespace

import dpor

@dpor.model
def model():
    found = {make}
    last = dpor.Atomic(0)

    def first():
        {first}
        last.store(1)

    def second():
        {second}
        last.store(2)

    threads = [threading.Thread(target=function) for function in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if {asks}:
        assert {look} == {order}
"""
STORES = ("found['a'] = 1", "found['b'] = 2")
CONTAINERS = {
    "dict": ("{}", *STORES, "list(found)", ("['a', 'b']", "['b', 'a']")),
    "default": ("{}", "found.setdefault('a', 1)", STORES[1], "list(found)", ("['a', 'b']", "['b', 'a']")),
    "last item": ("{}", *STORES, "found.popitem()", ("('a', 1)", "('b', 2)")),
    "ordered dict": ("collections.OrderedDict()", *STORES, "next(iter(found))", ("'a'", "'b'")),
    "counter": ("collections.Counter()", *STORES, "str(list(found))", ("\"['a', 'b']\"", "\"['b', 'a']\"")),
    "set": ("set()", "found.add(0)", "found.add(8)", "list(found)", ("[0, 8]", "[8, 0]")),
    "emptied set": ("{16}", "found.add(0)", "found.add(8)", "list(found)[-2:]", ("[0, 8]", "[8, 0]")),
    "attributes": (
        "SimpleNamespace()",
        "found.a = 1",
        "found.b = 2",
        "list(vars(found))",
        ("['a', 'b']", "['b', 'a']"),
    ),
    "class": (
        "type('Made', (), {})",
        "found.a = 1",
        "found.b = 2",
        "list(vars(found))[-2:]",
        ("['a', 'b']", "['b', 'a']"),
    ),
}
ALGORITHMS = ("optimal", "source", "parsimonious", "unfolding", "graph", "exhaustive")
# In the first execution the first thread ends before the second begins.
ASKS = {"what came last": "last.load() == 1", "a choice": "dpor.choose([0, 1])"}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_both_orders_are_found(tmp_path: Path, container: str, asks: str, algorithm: str) -> None:
    make, first, second, look, orders = CONTAINERS[container]
    for order in orders:
        text = MODEL.format(make=make, first=first, second=second, look=look, order=order, asks=ASKS[asks])
        (tmp_path / "model.py").write_text(text)
        result = check_model(
            CheckRequest("model.py", "model", root=str(tmp_path), options={"algorithm": algorithm})
        )
        assert result.verdict is Verdict.VIOLATED, (order, result.reason)


UNKNOWN = """
import marshal
import threading
import dpor

@dpor.model
def model():
    found = {}
    threads = [threading.Thread(target=found.__setitem__, args=(name, 1)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert marshal.dumps(found) == marshal.dumps(ORDER)
"""


@pytest.mark.parametrize("order", ["{'a': 1, 'b': 1}", "{'b': 1, 'a': 1}"])
def test_code_in_c_of_which_nothing_is_known_may_look_at_the_order(tmp_path: Path, order: str) -> None:
    (tmp_path / "model.py").write_text(UNKNOWN.replace("ORDER", order))
    result = check_model(CheckRequest("model.py", "model", root=str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED, result.reason
