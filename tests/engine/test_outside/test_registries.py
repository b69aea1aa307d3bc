"""Registries of the process that C code keeps: seen by other threads, gone in the next execution."""

from __future__ import annotations

import abc
import collections.abc
import csv
from collections.abc import Callable
from typing import Any

import pytest

from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import AssumptionKind, Verdict

Check = Callable[..., Any]

BEFORE = """
import abc, codecs, collections.abc, csv, functools, typing

class Abstract(abc.ABC): pass

class Derived(Abstract): pass

class Other(abc.ABC): pass

Other.register(Derived)
FLAG = [False]

class Hooked(abc.ABC):
    @classmethod
    def __subclasshook__(cls, subclass):
        return FLAG[0]

@typing.runtime_checkable
class Closes(typing.Protocol):
    def close(self): ...

class Sized: pass

@functools.singledispatch
def kind(value): return "any"

@kind.register(Abstract)
def _(value): return "abstract"
"""
# What a question gives before and after `Derived.register(int)`.
QUESTIONS = {
    "isinstance(1, Derived)": {False, True},
    "isinstance(1, Abstract)": {False, True},
    "issubclass(int, Abstract)": {False, True},
    "isinstance(1, (str, Derived))": {False, True},
    "isinstance(1, Other)": {False, True},
    "kind(1)": {"any", "abstract"},
    "isinstance('', Derived)": {False},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_about_classes_races_with_a_registration(check: Check, question: str) -> None:
    found, _ = check(question, "Derived.register(int) and None", "None", before=BEFORE)
    assert {first for (first, _), _ in found} == QUESTIONS[question]


def test_an_answer_that_is_kept_is_gone_in_the_next_execution(check: Check) -> None:
    found, _ = check("isinstance(1, Hooked)", "FLAG[0] = True\nreturn None", "None", before=BEFORE)
    assert {first for (first, _), _ in found} == {False, True}
    ask = "before = isinstance(1, Other)\nDerived.register(int)\nreturn before, isinstance(1, Other)"
    found, _ = check(ask, "dpor.choose(range(3)) and None", "None", before=BEFORE)
    assert {first for (first, _), _ in found} == {(False, True)}


def test_a_registration_of_two_classes_of_a_module_is_one_operation(check: Check) -> None:
    found, result = check(
        "isinstance(Sized(), Derived)", "Derived.register(Sized) and None", "None", before=BEFORE
    )
    assert {first for (first, _), _ in found} == {False, True}
    assert result.executions == 2


def test_a_class_that_decides_itself_is_an_assumption_beside_other_threads(check: Check) -> None:
    for first, second, last, assumed in (
        ("isinstance(1, Hooked)", "isinstance(2, Hooked)", "None", True),
        ("None", "None", "isinstance(1, Hooked)", False),
        ("isinstance([], collections.abc.Sized)", "isinstance({}, collections.abc.Sized)", "None", False),
    ):
        _, result = check(first, second, last, before=BEFORE)
        assert assumed is any(one.subject == "abc" for one in result.assumptions), (first, last)


def test_a_protocol_is_an_assumption(check: Check) -> None:
    _, result = check("isinstance(FLAG, Closes)", "None", "None", before=BEFORE)
    assert (AssumptionKind.UNSEEN_CODE, "typing") in {(one.kind, one.subject) for one in result.assumptions}


REFUSED = {
    "csv.register_dialect('mine')": r"csv\.register_dialect",
    "csv.field_size_limit(9)": r"csv\.field_size_limit",
    "typing.overload(len)": r"typing\.overload",
    "typing.clear_overloads()": r"typing\.clear_overloads",
    "codecs.register(len)": r"codecs\.register",
    "codecs.register_error('mine', len)": r"codecs\.register_error",
    "collections.abc.Sequence.register(Sized)": "registers a class with Sequence",
}


def test_questions_alone_are_one_class(check: Check) -> None:
    _, result = check("isinstance(1, Derived)", "isinstance(2, Abstract)", "None", before=BEFORE)
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == 1


def test_a_predicate_may_ask(check: Check) -> None:
    found, _ = check(
        "dpor.wait_until(lambda: isinstance(1, Abstract))",
        "Derived.register(int) and None",
        "None",
        before=BEFORE,
    )
    assert found == {((None, None), None)}


def test_what_is_registered_is_gone_in_the_next_execution(check: Check) -> None:
    register = (
        "found = isinstance(1, Derived), issubclass(Sized, collections.abc.Sized), 'mine' in csv.list_dialects()\n"
        "Derived.register(int)\ncollections.abc.Sized.register(Sized)\nreturn found"
    )
    begin = "csv.register_dialect('mine', delimiter=';') if not csv.list_dialects().count('mine') else 1 / 0"
    found, _ = check(register, "dpor.choose(range(3)) and None", "None", before=BEFORE, begin=begin)
    assert {first for (first, _), _ in found} == {(False, False, True)}
    assert "mine" not in csv.list_dialects()


def test_what_was_registered_before_stays(check: Check) -> None:
    class Kept(abc.ABC):  # noqa: B024
        pass

    Kept.register(float)
    found, _ = check("isinstance([], Abstract)", "Abstract.register(list) and None", "None", before=BEFORE)
    assert {first for (first, _), _ in found} == {False, True}
    assert isinstance(1.0, Kept)
    assert isinstance([], collections.abc.Sequence)


@pytest.mark.parametrize("call", REFUSED)
def test_what_nobody_can_see_is_refused_beside_threads(check: Check, call: str) -> None:
    with pytest.raises(DporError, match=REFUSED[call]) as caught:
        check(call, "csv.list_dialects()", "None", before=BEFORE)
    assert caught.value.code is Code.UNCONTROLLED
