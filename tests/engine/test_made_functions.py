"""Attributes of functions that threads make: one definition makes a function of its own for each call."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

MODEL = """
import functools, tempfile, dpor

def counted(function):
    @functools.wraps(function)
    def wrapper(*given):
        wrapper.calls += 1
        return function(*given)
    wrapper.calls = 0
    return wrapper

def both(first, second):
    threads = [dpor.spawn(first), dpor.spawn(second)]
    for thread in threads:
        thread.join()

@dpor.model
def model():
{body}
"""
APART = {
    "a decorator": "both(lambda: counted(len)([]), lambda: counted(len)([]))",
    "an attribute": """
        def work():
            def own(): pass
            own.x = 1
            own.x += 1
            assert own.x == 2
        both(work, work)
    """,
    "the name": """
        def work():
            def own(): pass
            own.__name__ = "other"
        both(work, work)
    """,
    "the dict": """
        def work():
            def own(): pass
            own.__dict__.update(x=1)
            assert own.x == 1
        both(work, work)
    """,
    "a temporary file": """
        def work():
            with tempfile.NamedTemporaryFile() as file:
                file.write(b"x")
        both(work, work)
    """,
}
SHARED = {
    "a decorated function": """
        shared = counted(len)
        both(lambda: shared([]), lambda: shared([]))
        assert shared.calls == 2
    """,
    "an attribute": """
        def shared(): pass
        shared.x = 0
        def work():
            shared.x += 1
        both(work, work)
        assert shared.x == 2
    """,
    "a function that a thread hands on": """
        box = []
        def first():
            def own(): pass
            own.x = 0
            box.append(own)
            own.x += 1
        def second():
            if box:
                box[0].x += 1
        both(first, second)
        assert not box or box[0].x == 1
    """,
    "a function in a list": """
        made = []
        def shared(): pass
        made.append(shared)
        def work():
            made[0].x = getattr(made[0], "x", 0) + 1
        both(work, work)
        assert shared.x == 2
    """,
}


def check(folder: Path, body: str) -> ModelResult:
    text = body if "\n" in body else f"\n        {body}\n    "
    path = folder / "model.py"
    path.write_text(MODEL.format(body=text.replace("\n        ", "\n    ")))
    return check_model(CheckRequest(str(path), "model", str(folder)))


@pytest.mark.parametrize("name", APART)
def test_functions_that_threads_make_for_themselves_need_one_execution(tmp_path: Path, name: str) -> None:
    result = check(tmp_path, APART[name])
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


@pytest.mark.parametrize("name", SHARED)
def test_what_threads_do_to_one_function_is_seen(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, SHARED[name]).verdict is Verdict.VIOLATED
