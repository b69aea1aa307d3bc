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
from dpor.results import Verdict

Check = Callable[..., Any]

BEFORE = """
import abc, collections.abc, csv, functools

class Abstract(abc.ABC): pass

class Derived(Abstract): pass

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
    "kind(1)": {"any", "abstract"},
    "isinstance('', Derived)": {False},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_about_classes_races_with_a_registration(check: Check, question: str) -> None:
    found, _ = check(question, "Derived.register(int) and None", "None", before=BEFORE)
    assert {first for (first, _), _ in found} == QUESTIONS[question]


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
    found, _ = check(
        "isinstance((), collections.abc.Sequence)",
        "collections.abc.Sequence.register(Sized) and None",
        "None",
        before=BEFORE,
    )
    assert {first for (first, _), _ in found} == {True}
    assert isinstance(1.0, Kept)
    assert isinstance((), collections.abc.Sequence)


def test_dialects_are_changed_by_a_thread_that_is_alone(check: Check) -> None:
    with pytest.raises(DporError, match=r"csv\.register_dialect") as caught:
        check("csv.register_dialect('mine')", "csv.list_dialects()", "None", before=BEFORE)
    assert caught.value.code is Code.UNCONTROLLED
