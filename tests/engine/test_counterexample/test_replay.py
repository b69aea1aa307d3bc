"""Replaying pinned schedules: identity, parameters, and which exception a test author gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dpor.checking import guided_replay
from dpor.codes import Code
from dpor.counterexample.replay import CounterexampleError, replay, replay_model
from dpor.counterexample.schedule import Schedule, ScheduleStep, encode
from dpor.errors import DporError
from dpor.results import ReplayRequest, ReplayResult, Violation, ViolationKind

FILE = Path(__file__).name


def bank(clerks: int = 1) -> None:
    """Stands for a decorated model of this file."""


def text(model: str = f"{FILE}::bank", **parameters: object) -> str:
    steps = (ScheduleStep("main", "store", "Account#1.balance"),)
    return encode(Schedule(model, steps, parameters or {"clerks": 2}, "f00d", "tso"))


def violation(kind: ViolationKind, code: Code) -> Violation:
    return Violation(kind, code, "it broke", None, text())


@dataclass
class Checking:
    """Stands for the machinery that runs models."""

    result: ReplayResult = field(default_factory=lambda: ReplayResult(None, ()))
    raises: BaseException | None = None
    requests: list[ReplayRequest] = field(default_factory=list)

    def run_guided(
        self,
        request: ReplayRequest,
        schedule: Schedule,
        *,
        on_exception: Callable[[BaseException], None] | None = None,
    ) -> ReplayResult:
        self.requests.append(request)
        if self.raises is not None and on_exception is not None:
            on_exception(self.raises)
        return self.result


@pytest.fixture
def checking(monkeypatch: pytest.MonkeyPatch) -> Checking:
    fake = Checking()
    monkeypatch.setattr(guided_replay, "run_guided", fake.run_guided)
    return fake


def request(schedule: str, **parameters: object) -> ReplayRequest:
    return ReplayRequest(f"somewhere/{FILE}", "bank", "somewhere", schedule, parameters)


def test_the_schedule_gives_parameters_and_memory_model(checking: Checking):
    replay_model(request(text()))
    assert checking.requests[0].parameters == {"clerks": 2}
    assert checking.requests[0].options == {"memory_model": "tso"}


def test_a_folder_makes_no_difference_to_which_model_a_schedule_belongs_to(checking: Checking):
    assert replay_model(request(text())).violation is None


@pytest.mark.parametrize("other", ["other.py::bank", f"{FILE}::other"])
def test_the_schedule_of_another_model_is_refused(checking: Checking, other: str):
    with pytest.raises(DporError, match=r"belongs to other|::other") as caught:
        replay_model(request(text(other)))
    assert caught.value.code is Code.FOREIGN_SCHEDULE
    assert not checking.requests


def test_a_contradicting_parameter_is_refused(checking: Checking):
    with pytest.raises(DporError, match=r"found with clerks=2, not with clerks=3") as caught:
        replay_model(request(text(), clerks=3))
    assert caught.value.code is Code.BAD_PARAMETER


def test_a_text_that_is_no_schedule_is_refused(checking: Checking):
    with pytest.raises(DporError) as caught:
        replay(bank, "dpor1:nonsense")
    assert caught.value.code is Code.BAD_SCHEDULE


def test_a_broken_assertion_is_raised_as_it_was_with_the_report_as_a_note(checking: Checking):
    original = AssertionError("balance is 120")
    checking.raises = original
    checking.result = ReplayResult(violation(ViolationKind.ASSERTION, Code.ASSERTION), ())
    with pytest.raises(AssertionError) as caught:
        replay(bank, text())
    assert caught.value is original
    assert "DPOR201 assertion" in original.__notes__[0]


def test_an_exception_of_the_model_is_raised_as_it_was(checking: Checking):
    checking.raises = KeyError("x")
    checking.result = ReplayResult(violation(ViolationKind.EXCEPTION, Code.EXCEPTION), ())
    with pytest.raises(KeyError, match="x"):
        replay(bank, text())


def test_a_deadlock_is_an_assertion_error_that_carries_the_violation(checking: Checking):
    checking.result = ReplayResult(violation(ViolationKind.DEADLOCK, Code.DEADLOCK), ())
    with pytest.raises(AssertionError, match="DPOR203: it broke") as caught:
        replay(bank, text())
    assert isinstance(caught.value, CounterexampleError)
    assert caught.value.violation.code is Code.DEADLOCK


def test_a_schedule_on_which_the_model_holds_gives_the_result(checking: Checking):
    assert replay(bank, text()) is checking.result
    assert checking.requests[0].model == "bank"
    assert Path(checking.requests[0].file) == Path(__file__).resolve()


def test_a_divergence_satisfies_no_test_that_expects_the_bug(checking: Checking):
    checking.result = ReplayResult(
        None, (), changed=True, divergence="step 1: the model now does something else"
    )
    with pytest.raises(DporError, match=r"diverged at step 1") as caught:
        replay(bank, text())
    assert caught.value.code is Code.DIVERGED
    assert not isinstance(caught.value, AssertionError)


def test_a_divergence_can_be_allowed(checking: Checking):
    checking.result = ReplayResult(
        None, (), changed=True, divergence="step 1: the model now does something else"
    )
    assert replay(bank, text(), allow_divergence=True).divergence is not None


def test_a_violation_counts_even_if_the_replay_diverged_after_it(checking: Checking):
    checking.raises = AssertionError("still broken")
    broken = violation(ViolationKind.ASSERTION, Code.ASSERTION)
    checking.result = ReplayResult(broken, (), changed=True, divergence="step 9: the schedule goes on")
    with pytest.raises(AssertionError, match="still broken"):
        replay(bank, text())
