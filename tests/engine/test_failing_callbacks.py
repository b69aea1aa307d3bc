"""A callback of an event loop that fails ends nothing, and no code of the model can hide that it has failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking.check import check_model
from dpor.results import CheckRequest, ModelResult

MODEL = """
import asyncio
import dpor

class Bad(Exception):
    pass

def fail():
    raise Bad("callback")

async def failing():
    raise Bad("task")

@dpor.model
def model():
    async def main():
        {begin}
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        {end}
    {run}
"""
CALLBACK = "asyncio.get_running_loop().call_soon(fail)"
TASK = "task = asyncio.create_task(failing())"
PLAIN = "asyncio.run(main())"
CAUGHT = """try:
        asyncio.run(main())
        assert not CATCHES, "not there"
    except Bad:
        pass"""


def check(folder: Path, begin: str, end: str = "pass", run: str = PLAIN) -> ModelResult:
    file = folder / "model.py"
    file.write_text(MODEL.format(begin=begin, end=end, run=run))
    return check_model(CheckRequest(str(file), "model", str(folder)))


@pytest.mark.parametrize("begin", [CALLBACK, TASK])
@pytest.mark.parametrize("run", [PLAIN, CAUGHT.replace("CATCHES", "False")])
def test_it_fails_the_model_at_its_end_whatever_catches_it(tmp_path: Path, begin: str, run: str) -> None:
    [violation] = check(tmp_path, begin, run=run).violations
    assert "Bad" in violation.message


@pytest.mark.parametrize("begin", [CALLBACK, TASK])
def test_what_follows_it_runs(tmp_path: Path, begin: str) -> None:
    [violation] = check(tmp_path, begin, end='assert False, "reached"', run=CAUGHT).violations
    assert "reached" in violation.message


@pytest.mark.parametrize("begin", [CALLBACK, TASK])
def test_the_run_of_the_loop_does_not_raise_it(tmp_path: Path, begin: str) -> None:
    [violation] = check(tmp_path, begin, run=CAUGHT.replace("CATCHES", "True")).violations
    assert "not there" in violation.message


def test_a_handler_of_the_models_own_takes_it(tmp_path: Path) -> None:
    begin = "asyncio.get_running_loop().set_exception_handler(lambda loop, context: None); " + CALLBACK
    assert check(tmp_path, begin).violations == ()
