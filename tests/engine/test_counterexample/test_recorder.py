"""Places, names and stability of recorded executions."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from scripted import LOST_UPDATE, ONE, SPAWNED, TWO, Lock, Thread, broken, lost_update, record, steps

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


class OwnLockCondition:
    """Stands for the kernel's condition, which tells the lock behind it."""

    def __init__(self, lock: object) -> None:
        self._lock = lock


OwnLockCondition.__name__ = "Condition"
OwnLockCondition.__module__ = "threading"


class Buffer:
    """Holds conditions, and the lock of one of them."""

    def __init__(self) -> None:
        self.mutex = Lock()
        self.changed = OwnLockCondition(Lock())
        self.not_full = OwnLockCondition(self.mutex)


def recorder_of(buffer: Buffer, *targets: object) -> Recorder:
    recorder = Recorder(lambda filename: False)
    recorder.step("main", "load", buffer, "changed", buffer.changed, False)
    recorder.step("main", "load", buffer, "not_full", buffer.not_full, False)
    for target in targets:
        recorder.step("main", "acquire", target, None, True, True)
    return recorder


def test_a_lock_that_only_its_condition_holds_is_called_after_the_condition():
    buffer = Buffer()
    record = recorder_of(buffer, buffer.changed._lock).execution().records[-1]
    assert record.target == "Buffer#1.changed"
    assert record.held == ("Buffer#1.changed",)


def test_a_lock_that_an_attribute_holds_is_called_after_it_and_not_after_its_condition():
    buffer = Buffer()
    assert recorder_of(buffer, buffer.mutex).execution().records[-1].target == "Buffer#1.mutex"


def test_a_sleeping_thread_that_nobody_notified_waits_and_a_notified_one_wants_the_lock_back():
    buffer = Buffer()
    recorder = recorder_of(buffer)
    for thread in ("main.0", "main.1"):
        recorder.step(thread, "acquire", buffer.changed._lock, None, True, True)
        recorder.step(thread, "wait", buffer.changed, None, None, True)
        recorder.waiting(thread, "wake", buffer.changed)
    recorder.step("main.2", "acquire", buffer.changed._lock, None, True, True)
    recorder.step("main.2", "notify", buffer.changed, None, 1, True)
    recorder.blocked("main.0", "wake", buffer.changed)
    recorder.blocked("main.1", "wake", buffer.changed)
    first, second = recorder.execution().waits
    assert (first.operation.value, first.owner, first.held) == ("wake", "main.2", ())
    assert (second.operation.value, second.owner, second.held) == ("wait", None, ())


def test_a_spawned_thread_has_the_name_that_its_user_gave_it():
    recorder = Recorder(lambda filename: False)
    recorder.step("main", "spawn", Thread(print, "clerk"), None, None, True)
    recorder.step("main", "spawn", Thread(print, "Thread-2 (print)"), None, None, True)
    assert [(record.target, record.value) for record in recorder.execution().records] == [
        ("clerk", "main.0"),
        ("main.1", None),
    ]


def test_an_exchange_tells_the_old_and_the_new_value():
    recorder = Recorder(lambda filename: False)
    recorder.step("main", "compare-exchange", Lock(), (0, 1), True, True)
    recorder.step("main", "compare-exchange", Lock(), (0, 1), False, True)
    done, failed = recorder.execution().records
    assert (done.value, done.writes) == ("0 → 1", True)
    assert (failed.value, failed.writes) == ("False", False)
