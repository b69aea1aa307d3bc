"""Special methods that a class has from a descriptor in Python, as a proxy has: `__setattr__ = Lookup(setattr)`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

MODEL = """
import threading
from functools import partial
import dpor

class Lookup:
    def __init__(self, function):
        self.function = function
    def __get__(self, instance, owner=None):
        return partial(self.function, instance.target)

class Box:
    pass

class Proxy:
    {slots}
    def __init__(self, target):
        object.__setattr__(self, "target", target)
    {methods}

@dpor.model
def model():
    target = {target}
    proxy, seen = Proxy(target), []
    def change():
        {change}
    def look():
        seen.append({look})
    for first, second in (({order}),):
        threads = [threading.Thread(target=first), threading.Thread(target=second)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    assert seen == [{first}]
"""
CHANGES = {
    "a store": ("__setattr__ = Lookup(setattr)", "Box()", "proxy.n = 1", "hasattr(target, 'n')", "False"),
    "setattr": (
        "__setattr__ = Lookup(setattr)",
        "Box()",
        "setattr(proxy, 'n', 1)",
        "hasattr(target, 'n')",
        "False",
    ),
    "a store in a dict": ("__setattr__ = Lookup(dict.__setitem__)", "{}", "proxy.n = 1", "len(target)", "0"),
    "a deletion": ("__delattr__ = Lookup(dict.__delitem__)", "{'n': 1}", "del proxy.n", "len(target)", "1"),
    "delattr": (
        "__delattr__ = Lookup(dict.__delitem__)",
        "{'n': 1}",
        "delattr(proxy, 'n')",
        "len(target)",
        "1",
    ),
    "an item": ("__setitem__ = Lookup(dict.__setitem__)", "{}", "proxy['n'] = 1", "len(target)", "0"),
    "a removed item": (
        "__delitem__ = Lookup(dict.__delitem__)",
        "{'n': 1}",
        "del proxy['n']",
        "len(target)",
        "1",
    ),
    "a method in Python": (
        "__setattr__ = Lookup(lambda target, name, value: target.update({name: value}))",
        *("{}", "proxy.n = 1", "len(target)", "0"),
    ),
}


def check(tmp_path: Path, case: tuple[str, ...], slots: str = "", order: str = "look, change") -> ModelResult:
    methods, target, change, look, first = case
    text = MODEL.format(
        slots=slots, methods=methods, target=target, change=change, look=look, first=first, order=order
    )
    (tmp_path / "model.py").write_text(text)
    return check_model(CheckRequest("model.py", "model", str(tmp_path)))


@pytest.mark.parametrize("order", ["look, change", "change, look"])
@pytest.mark.parametrize("slots", ["", "__slots__ = ('target',)"], ids=["with a dict", "with slots"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_ordered_with_what_others_read(tmp_path: Path, name: str, slots: str, order: str) -> None:
    result = check(tmp_path, CHANGES[name], slots, order)
    assert result.verdict is Verdict.VIOLATED, result.assumptions


@pytest.mark.parametrize("name", CHANGES)
def test_one_thread_changes_what_its_proxy_stands_for(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, CHANGES[name], order="lambda: (change(), look()), int")
    # What is seen afterwards is not what was there at first.
    assert [violation.code.value for violation in result.violations] == ["DPOR201"]


def test_other_methods_are_named_once_for_a_class(tmp_path: Path) -> None:
    methods = "__add__ = Lookup(list.append); __neg__ = Lookup(list.pop)"
    result = check(tmp_path, (methods, "[1]", "proxy + 1", "len(target)", "1"))
    named = [one for one in result.assumptions if one.kind is AssumptionKind.UNSEEN_CODE]
    assert [one.subject for one in named] == ["Lookup as Proxy.__add__"]
    assert "def" in named[0].fix
