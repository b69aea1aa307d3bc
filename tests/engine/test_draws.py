"""What is drawn from the seed or told by the clock is an assumption, and an iteration that draws does not only look."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import Assumption, AssumptionKind, CheckRequest, ModelResult, Verdict

HEAD = """
import datetime
import logging
import os
import random
import secrets
import time
import uuid

import dpor

class Shared:
    flag = False

@dpor.model
def model():
    s = Shared()
    s.flag = False
    def change():
        s.flag = True
"""


def check(folder: Path, body: str, **options: object) -> ModelResult:
    file = folder / "model.py"
    file.write_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()), encoding="utf-8")
    return check_model(CheckRequest(str(file), "model", str(folder), options=options))


def assumptions(folder: Path, statement: str) -> tuple[Assumption, ...]:
    result = check(folder, statement)
    assert result.verdict is Verdict.VERIFIED
    return result.assumptions


@pytest.mark.parametrize(
    ("statement", "subject"),
    [
        ("assert random.random() < 0.9", "random.random"),
        ("random.shuffle([1, 2])", "random.shuffle"),
        ("random.Random().random()", "random.Random without a seed"),
        ("random.SystemRandom().random()", "os.urandom"),
        ("os.urandom(1)", "os.urandom"),
        ("uuid.uuid4()", "os.urandom"),
        ("secrets.token_hex()", "os.urandom"),
    ],
)
def test_a_model_that_draws_says_so_at_the_place(tmp_path: Path, statement: str, subject: str) -> None:
    (told,) = assumptions(tmp_path, statement)
    assert (told.kind, told.subject) == (AssumptionKind.DRAWN_VALUE, subject)
    assert told.location is not None
    assert (told.location.file, told.location.line) == ("model.py", len(HEAD.splitlines()) + 1)


@pytest.mark.parametrize(
    ("statement", "subject"),
    [
        ("time.time()", "time.time"),
        ("time.time_ns()", "time.time_ns"),
        ("time.localtime()", "time.localtime"),
        ("time.ctime()", "time.ctime"),
        ("datetime.date.today()", "date.today"),
        ("datetime.datetime.now()", "datetime.now"),
        ("datetime.datetime.utcnow()", "datetime.utcnow"),
    ],
)
@pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning")
def test_a_model_that_is_told_the_date_says_so(tmp_path: Path, statement: str, subject: str) -> None:
    (told,) = assumptions(tmp_path, statement)
    assert (told.kind, told.subject) == (AssumptionKind.FIXED_WORLD, subject)


@pytest.mark.parametrize(
    "statement",
    [
        "random.Random(42).random()",
        "random.seed(1); random.random()",
        "time.sleep(1)",
        "time.localtime(0); datetime.date(2020, 1, 1)",
        "logging.getLogger('model').info('nothing depends on it')",
        "dpor.choose([1, 2])",
    ],
)
def test_what_is_fixed_by_the_model_itself_or_explored_is_no_assumption(
    tmp_path: Path, statement: str
) -> None:
    assert assumptions(tmp_path, statement) == ()


@pytest.mark.parametrize("algorithm", ["optimal", "source", "exhaustive", "graph"])
@pytest.mark.parametrize(
    "draw",
    [
        "random.random()",
        "random.getrandbits(3)",
        "os.urandom(1)[0]",
        "uuid.uuid4().int",
        "random.Random().random()",
    ],
)
def test_a_loop_that_draws_can_end_by_what_it_draws(tmp_path: Path, draw: str, algorithm: str) -> None:
    # Taken for one that only looks, it would wait for the flag, and nothing would break.
    body = f"""dpor.spawn(change)
first = {draw}
while {draw} == first and not s.flag:
    pass
assert s.flag"""
    result = check(tmp_path, body, algorithm=algorithm, max_steps=400)
    assert result.verdict is Verdict.VIOLATED
    assert result.violations[0].kind.value == "assertion"


def test_a_loop_that_only_draws_is_no_livelock(tmp_path: Path) -> None:
    result = check(tmp_path, "for _ in range(50):\n    if random.random() > 2:\n        break")
    assert result.verdict is Verdict.VERIFIED
    body = "while random.random() < 0.9:\n    if s.flag:\n        break"
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_loop_that_says_that_it_waits_only_looks(tmp_path: Path) -> None:
    body = "dpor.spawn(change)\nwhile not s.flag:\n    print('waiting')"
    assert check(tmp_path, body).verdict is Verdict.VERIFIED
