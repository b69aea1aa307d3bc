"""An attribute that an instance has itself hides a method of its class: who calls the method finds it.

It comes by a store, by the instance's `__dict__`, and by what the library does with either. It does not outlive an
execution.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.errors import Code, DporError
from dpor.results import CheckRequest, Verdict

HEADER = """
import functools, operator, types

class Plain:
    def bump(self):
        return 1

    @staticmethod
    def free():
        return 1

    @functools.cached_property
    def kept(self):
        return 1

    @property
    def computed(self):
        return self.bump()

class Items(list):
    def bump(self):
        return 1

class Leaf(Plain):
    pass

def hiding():
    return 2

def hidden(made):
    made.bump = hiding
    return made
"""
KINDS = {"instance": "Plain()", "subclass": "Leaf()", "list": "Items([7])"}
READS = {
    "call": "s.bump()",
    "kept method": "(lambda kept: kept())(s.bump)",
    "getattr": "getattr(s, 'bump')()",
    "methodcaller": "operator.methodcaller('bump')(s)",
    "attrgetter": "operator.attrgetter('bump')(s)()",
    "object": "object.__getattribute__(s, 'bump')()",
}
WRITES = {
    "store": "setattr(s, 'bump', hiding)",
    "object": "object.__setattr__(s, 'bump', hiding)",
    "item of vars": "vars(s).__setitem__('bump', hiding)",
    "item of __dict__": "operator.setitem(s.__dict__, 'bump', hiding)",
    "update": "vars(s).update(bump=hiding)",
    "update of a mapping": "vars(s).update({'bump': hiding})",
    "merge": "operator.ior(vars(s), {'bump': hiding}) and None",
    "setdefault": "vars(s).setdefault('bump', hiding)()",
}
REMOVALS = {
    "delattr": "delattr(s, 'bump')",
    "item of vars": "vars(s).__delitem__('bump')",
    "pop": "vars(s).pop('bump')()",
    "popitem": "vars(s).popitem()[0]",
    "clear": "vars(s).clear()",
}


@pytest.mark.share(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("write", WRITES)
def test_who_calls_a_method_finds_what_hides_it(tmp_path: Path, kind: str, write: str) -> None:
    pair = EitherOrder(HEADER, tmp_path)
    for read in READS.values():
        pair.require_both(KINDS[kind], WRITES[write], read)


@pytest.mark.share(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("removal", REMOVALS)
def test_who_calls_a_method_finds_that_it_is_no_longer_hidden(
    tmp_path: Path, kind: str, removal: str
) -> None:
    pair = EitherOrder(HEADER, tmp_path)
    for read in READS.values():
        pair.require_both(f"hidden({KINDS[kind]})", REMOVALS[removal], read)


@pytest.mark.parametrize("write", ["setattr(s, 'free', hiding)", "vars(s).update(free=hiding)"])
def test_a_static_method_is_hidden_too(tmp_path: Path, write: str) -> None:
    EitherOrder(HEADER, tmp_path).require_both("Plain()", write, "s.free()")


@pytest.mark.parametrize("made", ["Plain()", "Items()", "Table()"])
def test_what_an_attribute_holds_is_called(tmp_path: Path, made: str) -> None:
    header = (
        f"{HEADER}\nclass Table(dict):\n    pass\n\ndef given(s):\n    s.call = lambda: 1\n    return s\n"
    )
    EitherOrder(header, tmp_path).require_both(f"given({made})", "setattr(s, 'call', hiding)", "s.call()")


def test_a_computed_attribute_finds_what_hides_a_method(tmp_path: Path) -> None:
    EitherOrder(HEADER, tmp_path).require_both("Plain()", "vars(s).update(bump=hiding)", "s.computed")


SHARED_DICT = """
shown = {}

def made():
    shown.clear()
    shown["x"] = 1
    s = Plain()
    s.__dict__ = shown
    return s
"""


@pytest.mark.parametrize(
    "write", ["shown.update(bump=hiding)", "shown.__setitem__('bump', hiding)", "setattr(s, 'bump', hiding)"]
)
def test_an_item_of_a_dict_that_an_instance_was_given_hides_a_method(tmp_path: Path, write: str) -> None:
    EitherOrder(HEADER + SHARED_DICT, tmp_path).require_both("made()", write, "s.bump()")


@pytest.mark.parametrize(
    "write", ["delattr(s, 'x')", "setattr(s, 'y', 2)", "shown.pop('x')", "vars(s).update(y=2)"]
)
def test_an_attribute_of_an_instance_is_an_item_of_the_dict_that_it_was_given(
    tmp_path: Path, write: str
) -> None:
    pair = EitherOrder(HEADER + SHARED_DICT, tmp_path)
    for read in ("len(shown)", "list(shown)", "dict(vars(s))"):
        pair.require_both("made()", write, read)


LASTING = """
import dpor

class Plain:
    def bump(self):
        return 1

class Items(list):
    def bump(self):
        return 1

k = {made}
{hide}

def hiding():
    return 2

@dpor.model
def model():
    seen = []
    assert k.bump() == {expected}, "it has outlived an execution"
    def one():
        seen.append(1)
    def hiding():
        seen.append(2)
    {before}
    threads = [dpor.spawn(one), dpor.spawn(hiding)]
    for thread in threads:
        thread.join()
    {after}
"""
CHANGES = {
    "store": ("", 1, "k.bump = hiding"),
    "item": ("", 1, "vars(k)['bump'] = hiding"),
    "update": ("", 1, "vars(k).update(bump=hiding)"),
    "delete": ("k.bump = lambda: 3", 3, "del k.bump"),
    "pop": ("k.bump = lambda: 3", 3, "vars(k).pop('bump')"),
}


@pytest.mark.parametrize("made", ["Plain()", "Items()"])
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_what_hides_a_method_does_not_outlive_an_execution(
    tmp_path: Path, made: str, alone: bool, change: str
) -> None:
    hide, expected, statement = CHANGES[change]
    before, after = (statement, "") if alone else ("", statement)
    text = LASTING.format(made=made, hide=hide, expected=expected, before=before, after=after)
    (tmp_path / "model.py").write_text(text)
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result
    assert result.executions > 1


ALGORITHMS = (
    "exhaustive",
    "source",
    "optimal",
    "parsimonious",
    "unfolding",
    "graph",
    "value-centric",
    "concolic",
)


BY_DICT = ("vars(s)['bump'] = hiding", "vars(s).update(bump=hiding)")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("write", ["s.bump = hiding", *BY_DICT])
def test_every_algorithm_finds_what_hides_a_method_or_says_that_it_cannot(
    tmp_path: Path, algorithm: str, write: str
) -> None:
    for wanted in (1, 2):
        (tmp_path / "model.py").write_text(f"""{HEADER}
import dpor

@dpor.model
def model():
    s = Plain()
    def one():
        {write}
    thread = dpor.spawn(one)
    found = s.bump()
    thread.join()
    assert found != {wanted}
""")
        request = CheckRequest("model.py", "model", str(tmp_path), options={"algorithm": algorithm})
        if algorithm == "value-centric" and write in BY_DICT:
            with pytest.raises(DporError) as caught:
                check_model(request)
            assert caught.value.code is Code.UNSUPPORTED_PAIR
        else:
            assert check_model(request).verdict is Verdict.VIOLATED, wanted
