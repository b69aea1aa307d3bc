"""Programs of one thread that are drawn over the language's grammar tell the same as a model and in plain Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings

from dpor.checking import check_model
from dpor.errors import DporError
from dpor.results import CheckRequest, Verdict
from fidelity.generated.prelude import PRELUDE
from fidelity.generated.statements import programs

PROGRAMS = int(os.environ.get("DPOR_PROGRAMS", "60"))
SHOWING = """
shown = []

def show(value):
    # Addresses are others each time.
    shown.append(f"{type(value).__name__} {value!r}".partition(" at 0x")[0])

def told():
    del shown[:]
    try:
        program()
    except Exception as error:
        show((type(error).__name__, str(error)))
    return shown
"""
MODEL = """
import dpor

@dpor.model
def model():
    found = told()
    for number, (there, here) in enumerate(zip(EXPECTED, found)):
        if there != here:
            raise RuntimeError(f"number {number} is {here}, in plain Python {there}")
    if len(found) != len(EXPECTED):
        raise RuntimeError(f"{len(found)} values, in plain Python {len(EXPECTED)}")
"""


def plain(text: str) -> list[str]:
    """What a program shows in plain Python."""
    names: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec", dont_inherit=True), names)
    return list(names["told"]())


@pytest.mark.filterwarnings("ignore")
@settings(
    max_examples=PROGRAMS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
@given(program=programs())
def test_a_program_of_one_thread_tells_what_it_tells_in_plain_python(
    program: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = f"{SHOWING}{PRELUDE}\n{program}"
    try:
        expected = plain(text)
    except SyntaxError:
        # The grammar of expressions knows no places, and some of them do not stand everywhere.
        reject()
    file: Path = tmp_path_factory.mktemp("program") / "model.py"
    file.write_text(f"{text}\nEXPECTED = {expected!r}\n{MODEL}", encoding="utf-8")
    try:
        result = check_model(CheckRequest("model.py", "model", str(file.parent)))
    except DporError as error:
        pytest.fail(f"refused: {error}")
    assert [violation.message for violation in result.violations] == []
    assert result.verdict is Verdict.VERIFIED
