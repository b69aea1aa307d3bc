"""Checks that are stopped and go on, in this process or another, count as much as those that are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.checkpoints import (
    Checkpoint,
    FactKind,
    LearnedError,
    LearnedFact,
    Sharing,
    read_choices,
    write_choices,
)
from dpor.results import CheckRequest, ModelResult, Verdict, from_json, to_json

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "programs"
COUNTED = [
    ("readers", {"n": 5}),
    ("lastzero", {"n": 4}),
    ("floating_read", {"n": 3}),
    ("dispatcher", {"n": 2, "m": 2}),
    ("ssbsimple", {}),
    ("exp_mem3", {"n": 4}),
    ("linuxlocks", {"n": 2}),
    ("ticket", {"n": 3}),
]


def _file(program: str) -> Path:
    return next(path for path in PROGRAMS.glob("*.py") if f"def {program}(" in path.read_text())


def _request(
    file: Path, model: str, parameters: dict[str, int] | None = None, **options: object
) -> CheckRequest:
    return CheckRequest(
        file=str(file),
        model=model,
        root=str(file.parent),
        parameters=parameters or {},
        options={"algorithm": "parsimonious", **options},
    )


def _stopped_every(executions: int, file: Path, model: str, parameters: dict[str, int], **options: object):
    """Check the model, stopping and going on as another process would, after so many executions."""
    checkpoint: Checkpoint | None = None
    for _ in range(1000):
        kept: list[Checkpoint] = []
        sharing = Sharing(checkpoint=checkpoint, keep=kept.append)
        request = _request(file, model, parameters, max_executions=executions, **options)
        result = check_model(request, None, sharing)
        if result.verdict is not Verdict.INCOMPLETE:
            break
        checkpoint = from_json(Checkpoint, json.loads(json.dumps(to_json(kept[-1]))))
    return result


def _counts(result: ModelResult) -> tuple[object, ...]:
    return result.verdict, result.executions, result.blocked, result.redundant, result.events


@pytest.mark.parametrize(("program", "parameters"), COUNTED, ids=[name for name, _ in COUNTED])
def test_a_check_that_is_stopped_again_and_again_counts_what_one_in_one_go_does(program, parameters):
    file = _file(program)
    whole = check_model(_request(file, program, parameters))
    assert _counts(_stopped_every(5, file, program, parameters)) == _counts(whole)


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
@pytest.mark.parametrize(("program", "parameters"), [("lastzero", {"n": 2}), ("fib_bench", {"n": 1})])
def test_a_check_goes_on_in_the_middle_of_flushes(program, parameters, memory_model):
    file = _file(program)
    whole = check_model(_request(file, program, parameters, memory_model=memory_model))
    assert _counts(_stopped_every(5, file, program, parameters, memory_model=memory_model)) == _counts(whole)


def test_what_predicates_read_together_is_learned_where_a_check_goes_on(tmp_path):
    file = tmp_path / "waits.py"
    file.write_text(
        "import dpor\n"
        "class Shared:\n    x = y = 0\n"
        "def first(s):\n    s.x = 1\n    s.x = 0\n"
        "def second(s):\n    s.y = 1\n    s.y = 2\n"
        "def wait(s):\n    dpor.wait_until(lambda: s.x == s.y)\n"
        "@dpor.model\ndef waits():\n    s = Shared()\n    s.x = s.y = 0\n"
        "    for body in (first, second, wait):\n        dpor.spawn(body, s)\n",
        encoding="utf-8",
    )
    whole = check_model(_request(file, "waits"))
    optimal = check_model(_request(file, "waits", algorithm="optimal"))
    assert (whole.executions, whole.blocked) == (optimal.executions, optimal.blocked)
    assert _counts(_stopped_every(2, file, "waits", {})) == _counts(whole)


LATE = """
import dpor

class Shared:
    def __init__(self):
        self.first = self.second = 0

def count(s):
    seen = s.first
    s.first = seen + 1
    # Two threads come here only once the accesses above are interleaved.
    if seen == 0:
        s.second += 1

@dpor.model
def late():
    s = Shared()
    for _ in range(3):
        dpor.spawn(count, s)
    dpor.join_all()
"""


@pytest.fixture
def late(tmp_path):
    path = tmp_path / "late.py"
    path.write_text(LATE, encoding="utf-8")
    return path


def test_another_process_learns_what_the_first_has_learned(late):
    whole = check_model(_request(late, "late"))
    kept: list[Checkpoint] = []
    check_model(_request(late, "late", max_executions=10), None, Sharing(keep=kept.append))
    assert [fact.kind for fact in kept[-1].learned] == [FactKind.VISIBLE] * 2
    program = (
        "import json, sys; from dpor.checking import check_model; from dpor.checkpoints import *; "
        "from dpor.results import *; request, checkpoint = json.load(sys.stdin); "
        "sharing = Sharing(checkpoint=from_json(Checkpoint, checkpoint), shared=True); "
        "print(json.dumps(to_json(check_model(from_json(CheckRequest, request), None, sharing))))"
    )
    sent = json.dumps([to_json(_request(late, "late")), to_json(kept[-1])])
    answer = subprocess.run(
        [sys.executable, "-c", program], input=sent, capture_output=True, text=True, check=True
    )
    result = json.loads(answer.stdout)
    assert (result["verdict"], result["executions"], result["events"]) == (
        "verified",
        whole.executions,
        whole.events,
    )


def test_who_shares_a_check_and_learns_something_new_makes_all_begin_again(late):
    with pytest.raises(LearnedError) as first:
        check_model(_request(late, "late"), None, Sharing(shared=True))
    assert len(first.value.learned) == 1
    with pytest.raises(LearnedError) as second:
        check_model(
            _request(late, "late"),
            None,
            Sharing(checkpoint=Checkpoint(learned=first.value.learned), shared=True),
        )
    assert second.value.learned[:1] == first.value.learned
    assert len(second.value.learned) == 2
    result = check_model(
        _request(late, "late"),
        None,
        Sharing(checkpoint=Checkpoint(learned=second.value.learned), shared=True),
    )
    whole = check_model(_request(late, "late"))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, whole.executions)


def test_what_is_left_is_not_told_once_something_was_found(late):
    late.write_text(LATE + "    assert s.first == 3\n", encoding="utf-8")
    kept: list[Checkpoint] = []
    request = _request(late, "late", max_executions=8)
    request = CheckRequest(**{**vars(request), "all_violations": True})
    assert check_model(request, None, Sharing(keep=kept.append)).verdict is Verdict.VIOLATED
    assert kept == []


def test_choices_are_written_and_read():
    choices = [("main", 0), ("main", 0), ("main.0", 2), ("main.0", 2), ("main.1", 0)]
    assert write_choices(choices) == "main*2 main.0:2*2 main.1"
    assert read_choices(write_choices(choices)) == choices
    assert read_choices("") == []


def test_a_learned_fact_survives_json():
    fact = LearnedFact(FactKind.REBOUND, names=("bank", "rate"))
    assert from_json(LearnedFact, json.loads(json.dumps(to_json(fact)))) == fact
