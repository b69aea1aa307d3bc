"""The schedule of a counterexample shows the same failure again, also for models that the check had to restart."""

from __future__ import annotations

from pathlib import Path

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ReplayRequest, Verdict

MODULE_STATE = """
import dpor

total = 0

def add():
    global total
    total += 1

@dpor.model
def counts():
    dpor.spawn(add)
    dpor.spawn(add)
    dpor.join_all()
    assert total == 2
"""


def test_a_model_that_changes_its_modules_state_can_be_replayed(tmp_path: Path) -> None:
    file = tmp_path / "counts.py"
    file.write_text(MODULE_STATE)
    result = check_model(CheckRequest(str(file), "counts", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED
    schedule = result.violations[0].schedule
    replayed = replay_model(ReplayRequest(str(file), "counts", str(tmp_path), schedule))
    assert replayed.divergence is None
    assert replayed.violation is not None
    assert replayed.violation.location == result.violations[0].location


def test_a_fixed_model_with_module_state_diverges_where_it_was_fixed(tmp_path: Path) -> None:
    file = tmp_path / "counts.py"
    file.write_text(MODULE_STATE)
    schedule = check_model(CheckRequest(str(file), "counts", str(tmp_path))).violations[0].schedule
    fixed = MODULE_STATE.replace("total += 1", "total = 2")
    replayed = replay_model(ReplayRequest(str(file), "counts", str(tmp_path), schedule, source=fixed))
    assert replayed.violation is None
    assert replayed.changed
    assert "main.0: load total" in (replayed.divergence or "")


FAIL_TWICE = """
import dpor

def fails():
    assert False, "here"

@dpor.model
def model():
    dpor.spawn(fails)
    dpor.join_all()
    assert False, "and here"
"""


def test_a_failure_after_another_one_in_its_execution_can_be_replayed(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(FAIL_TWICE)
    result = check_model(CheckRequest(str(file), "model", str(tmp_path), all_violations=True))
    messages = ["assertion failed: here", "assertion failed: and here"]
    assert [violation.message for violation in result.violations] == messages
    for violation in result.violations:
        request = ReplayRequest(str(file), "model", str(tmp_path), violation.schedule)
        assert replay_model(request).violation == violation


WAIT_FOR_EVER = """
import dpor

@dpor.model
def model():
    turn = dpor.Atomic(0)

    def waits(mine):
        own = turn.load()
        dpor.wait_until(lambda: turn.load() == mine + own)

    dpor.spawn(waits, 1)
    dpor.spawn(waits, 2)
    dpor.join_all()
"""


def test_that_several_threads_wait_for_a_predicate_is_told_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(WAIT_FOR_EVER)
    (violation,) = check_model(CheckRequest(str(file), "model", str(tmp_path))).violations
    assert [waiting.thread for waiting in violation.waiting] == ["main", "main.0", "main.1"]
    replayed = replay_model(ReplayRequest(str(file), "model", str(tmp_path), violation.schedule))
    assert replayed.divergence is None
    assert replayed.violation == violation
