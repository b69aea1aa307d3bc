"""Stores that make an attribute, beside operations that take the object as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, Verdict

MODEL = """
import copy
import threading

import dpor

class Box:
    pass

@dpor.model
def model():
    box, found = Box(), []

    def look():
        found.append({look})

    def store():
        {store}

    threads = [threading.Thread(target=function) for function in (look, store)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] != {after}
"""
CASES = [
    ("len(vars(box))", "box.b = 1", "1"),
    ("bool(vars(box))", "box.b = 1", "True"),
    ("list(vars(box))", "box.b = 1", "['b']"),
    ("'b' in vars(box)", "box.b = 1", "True"),
    ("vars(box) == dict()", "box.b = 1", "False"),
    ("list(vars(copy.copy(box)))", "box.b = 1", "['b']"),
    ("hasattr(box, 'b')", "vars(box)['b'] = 1", "True"),
    ("hasattr(box, 'b')", "vars(box).update(b=1)", "True"),
    ("getattr(box, 'b', None)", "vars(box).update(b=1)", "1"),
]


def violated(tmp_path: Path, case: tuple[str, str, str], **options: object) -> bool:
    look, store, after = case
    (tmp_path / "model.py").write_text(MODEL.format(look=look, store=store, after=after))
    result = check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))
    return result.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} beside {case[1]}")
@pytest.mark.parametrize("memory_model", ["sc", "tso", "pso"])
def test_an_attribute_that_another_thread_makes_is_found(
    tmp_path: Path, case: tuple[str, str, str], memory_model: str
) -> None:
    assert violated(tmp_path, case, memory_model=memory_model)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} beside {case[1]}")
@pytest.mark.parametrize("memory_model", ["tso", "pso", "rc11"])
def test_it_is_refused_where_loads_read_from_a_write_of_their_choice(
    tmp_path: Path, case: tuple[str, str, str], memory_model: str
) -> None:
    with pytest.raises(DporError) as refused:
        violated(tmp_path, case, algorithm="graph", memory_model=memory_model)
    assert refused.value.code is Code.UNSUPPORTED_PAIR


def test_stores_to_attributes_that_exist_do_not_race_with_one_that_makes_another(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        """
import threading

import dpor

class Box:
    pass

@dpor.model
def model():
    box = Box()
    box.a = box.b = 0
    made = []

    def store_a():
        box.a = 1

    def store_b():
        box.b = 1

    def make():
        box.c = 1

    threads = [threading.Thread(target=function) for function in (store_a, store_b, make)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(vars(box)) == 3
"""
    )
    options = {"races": "error"}
    result = check_model(
        CheckRequest("model.py", "model", str(tmp_path), options=options, all_violations=True)
    )
    assert result.verdict is Verdict.VERIFIED
