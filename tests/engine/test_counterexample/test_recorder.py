"""Places, names and stability of recorded executions."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from scripted import LOST_UPDATE, ONE, SPAWNED, TWO, Lock, broken, lost_update, record, steps

from dpor.counterexample.recorder import Recorder
from dpor.counterexample.text import render


def test_spans_are_those_of_the_original_expressions(tmp_path: Path):
    violation = lost_update(tmp_path)
    store = next(step for step in steps(violation, "store") if step.thread == ONE)
    assert store.location is not None
    location = store.location
    assert (location.file, location.line, location.column, location.end_line, location.end_column) == (
        "bank.py",
        10,
        9,
        10,
        21,
    )
    assert store.function == "Account.deposit"
    assert store.call_site is None


def test_columns_count_characters_not_bytes(tmp_path: Path):
    source = """
        class Box:
            pass

        def model():
            box = Box()
            box.é = "äöü"; box.ß = box.é
            assert False
    """
    violation = broken(tmp_path, source, [])
    last = steps(violation, "store")[-1]
    assert last.location is not None
    assert (last.location.column, last.location.end_column, last.target) == (20, 25, "Box#1.ß")


def test_entering_a_with_block_stands_at_its_head_not_at_its_body(tmp_path: Path):
    file = tmp_path / "guarded.py"
    file.write_text("def run(guard):\n    with guard:\n        pass\n", encoding="utf-8")
    recorder = Recorder(lambda filename: filename.startswith(str(tmp_path)), tmp_path)
    lock = Lock()
    enter = functools.partial(recorder.step, "main", "acquire", lock, None, True, True)
    kind = type("Guard", (), {"__enter__": staticmethod(enter), "__exit__": staticmethod(lambda *_: None)})
    namespace: dict[str, Any] = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), namespace)
    namespace["run"](kind())
    location = recorder.execution().records[0].location
    assert location is not None
    assert (location.line, location.end_line, location.end_column) == (2, 2, 15)


def test_the_same_schedule_gives_the_same_trace(tmp_path: Path):
    assert lost_update(tmp_path) == lost_update(tmp_path)


def test_an_execution_that_ends_well_has_no_violation(tmp_path: Path):
    scheduler, violation = record(tmp_path, LOST_UPDATE, [*SPAWNED, (ONE, ""), (TWO, "")])
    assert violation is None
    assert scheduler.recorder.schedule_steps()[0].target == "Account#1.balance"


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_recorded_violation_renders_at_every_width(tmp_path: Path, width: int):
    text = render(lost_update(tmp_path), width=width, color=False, root=tmp_path)
    assert max(len(line) for line in text.splitlines()) <= width
