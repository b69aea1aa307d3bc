"""The text form of schedules."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import re
import textwrap
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpor.codes import Code
from dpor.counterexample.schedule import (
    Schedule,
    ScheduleStep,
    decode,
    encode,
    explain_difference,
    model_id,
)
from dpor.errors import DporError

STEPS = (
    ScheduleStep("main", "spawn", "main.0"),
    ScheduleStep("main.0", "load", "Account#1.balance"),
    ScheduleStep("main.0", "choose", None, 2),
    ScheduleStep("main.0", "try-acquire", "Account#1.lock", True),
    ScheduleStep("main.1", "store", "Account#1.balance"),
)
EXAMPLE = Schedule("bank.py::deposits", STEPS, {"clerks": 1, "pair": (1, "é")}, "f00d", "tso")


def pack(content: Any) -> str:
    data = zlib.compress(json.dumps(content).encode())
    return "dpor1:" + base64.urlsafe_b64encode(data).decode().rstrip("=")


def refusal(text: str) -> DporError:
    with pytest.raises(DporError) as caught:
        decode(text)
    assert caught.value.code is Code.BAD_SCHEDULE
    return caught.value


def test_a_schedule_survives_its_text_form():
    assert decode(encode(EXAMPLE)) == EXAMPLE


@pytest.mark.parametrize(
    "looks", [{}, {"waits_by_spinning": True}, {"waits_by_spinning": True, "chosen_reads": True}]
)
@pytest.mark.parametrize("failure", [0, 2])
def test_how_a_schedule_is_followed_survives(looks: dict[str, bool], failure: int):
    schedule = dataclasses.replace(EXAMPLE, failure=failure, **looks)
    assert decode(encode(schedule)) == schedule


def test_the_text_is_one_word_of_url_safe_characters():
    assert re.fullmatch(r"dpor1:[A-Za-z0-9_-]+", encode(EXAMPLE))


def test_a_long_schedule_of_few_names_stays_short():
    long = Schedule("bank.py::deposits", STEPS * 200)
    assert len(encode(long)) < 400


def test_white_space_and_line_breaks_are_tolerated():
    text = encode(EXAMPLE)
    wrapped = "\n".join("   " + line for line in textwrap.wrap(text, 20))
    assert decode(f"\t{wrapped}\r\n") == EXAMPLE


def test_true_and_one_are_different_choices():
    steps = tuple(ScheduleStep("main", "choose", None, choice) for choice in (1, True, 0, False, None, "1"))
    choices = [step.choice for step in decode(encode(Schedule("m.py::m", steps))).steps]
    assert [repr(choice) for choice in choices] == ["1", "True", "0", "False", "None", "'1'"]


def test_a_parameter_that_is_no_literal_is_left_out():
    schedule = Schedule("m.py::m", (), {"size": 2, "factory": object(), "ratio": float("inf")})
    assert decode(encode(schedule)).parameters == {"size": 2}


def test_the_model_id_has_no_folders():
    assert model_id("/home/me/bank.py", "deposits") == "bank.py::deposits"
    assert model_id(r"C:\models\bank.py", "Bank.deposits") == "bank.py::Bank.deposits"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("  \n ", "is empty"),
        ("hello", "starts with 'dpor1:'"),
        ("dpor1:abc+/def", "contains '+'"),
        ("dpor2:abcd", "format 2"),
        ("dpor1:", "cut off"),
        ("dpor1:AAAA", "checksum"),
    ],
)
def test_what_is_no_schedule_is_refused_with_the_reason(text: str, message: str):
    assert message in refusal(text).message


def test_every_truncation_is_refused():
    text = encode(EXAMPLE)
    for end in range(len(text)):
        refusal(text[:end])


def test_every_single_changed_character_is_refused_or_changes_nothing():
    text = encode(EXAMPLE)
    for position in range(6, len(text)):
        changed = text[:position] + ("A" if text[position] != "A" else "B") + text[position + 1 :]
        with contextlib.suppress(DporError):
            assert decode(changed) == EXAMPLE


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        ["m", {}, "", "sc", [], [], [], [], [0]],
        ["m", {}, "", "sc", ["main"], ["load"], [None], [None], [0, 0, 0, -1]],
        ["m", {}, "", "sc", ["main"], ["load"], [None], [None], [0, 0, 5, 0]],
        ["m", {"a": "__import__('os')"}, "", "sc", [], [], [], [], []],
        ["m", [], "", "sc", [], [], [], [], []],
        [1, {}, "", "sc", [], [], [], [], []],
        ["m", {}, "", "sc", ["main"], ["load"], [None], [[1]], [0, 0, 0, 0]],
        ["m", {}, "", "sc", [], [], [], [], [], -1],
        ["m", {}, "", "sc", [], [], [], [], [], 1, True],
    ],
)
def test_content_of_another_shape_is_refused(content: Any):
    assert "shape" in refusal(pack(content)).message


def test_a_decompression_bomb_is_refused():
    bomb = base64.urlsafe_b64encode(zlib.compress(b"0" * (65 * 1024 * 1024), 9)).decode().rstrip("=")
    assert "large" in refusal(f"dpor1:{bomb}").message


def test_equal_steps_have_no_difference():
    assert explain_difference(STEPS, STEPS) is None


def test_the_first_differing_step_is_named():
    changed = (*STEPS[:1], ScheduleStep("main.0", "acquire", "Account#1.lock"), *STEPS[2:])
    text = explain_difference(STEPS, changed)
    assert text == (
        "step 2: the schedule has [main.0: load Account#1.balance], "
        "the model now does [main.0: acquire Account#1.lock]"
    )


def test_a_shorter_and_a_longer_execution_are_told_apart():
    assert "has ended" in str(explain_difference(STEPS, STEPS[:-1]))
    assert "goes on" in str(explain_difference(STEPS[:-1], STEPS))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.builds(
            ScheduleStep,
            st.from_regex(r"main(\.[0-9]{1,3}){0,3}(![0-9]{1,4})?", fullmatch=True),
            st.text(max_size=5),
            st.none() | st.text(max_size=5),
            st.none() | st.integers() | st.booleans() | st.text(max_size=3),
        ),
        max_size=12,
    )
)
def test_any_schedule_survives(steps: list[ScheduleStep]):
    schedule = Schedule("m.py::m", tuple(steps))
    assert decode(encode(schedule)) == schedule
