"""Objects that compute in C of which nothing is known: operators read them, whatever the other operand is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from either_order import EitherOrder

from dpor.checking import check_model
from dpor.checkpoints import Checkpoint, FactKind, Sharing
from dpor.results import CheckRequest, Verdict

HEADER = """
import functools, operator
import numpy as np

class Array(np.ndarray):
    pass

def array(*values):
    return np.array(values).view(Array)

def add(s):
    s += 1

def power(s):
    s **= 2

def union(s):
    s |= 8

def add_to_slice(s):
    s[:] += 5

def add_to_item(s):
    s[0] += 5

def match(s):
    match s[:1]:
        case 1:
            return "one"
        case _:
            return "other"

def two(made):
    return made, made[:1]

def through_view(s):
    view = s[1]
    view += 1
"""
READS = (
    "(s + 1).tolist()",
    "(1 - s).tolist()",
    "(s ** 2).tolist()",
    "(s == 1).tolist()",
    "bool((s < 5).all())",
    "(s + s).tolist()",
    "(-s).tolist()",
    "abs(s).tolist()",
    "pow(s, 2).tolist()",
    "divmod(s, 2)[0].tolist()",
    "[one.tolist() for one in map(abs, [s])]",
    "(lambda given: given * 2)(s).tolist()",
    "functools.reduce(lambda one, other: one + other, [s, 1]).tolist()",
    "s[s == 1].tolist()",
    "match(s)",
    "s.tolist()",
)
WRITES = ("add(s)", "power(s)", "union(s)", "add_to_slice(s)", "add_to_item(s)", "s.fill(9)")
VIEWS = (
    "two(np.array([1, 2]))",
    "(lambda made: (made, made.T))(np.array([1, 2]))",
    "(lambda made: (made, np.asarray(made)[::-1]))(np.array([1, 2]))",
    "(lambda made: (made, np.frombuffer(made, dtype=np.uint8)))(bytearray(b'ab'))",
)
STORE_BESIDE = """
import numpy
s = numpy.array([1, 2])
def store():
    s[0] = 9
dpor.spawn(store)
assert (s + 1).tolist() == [2, 3]
"""


@pytest.fixture
def pair(tmp_path: Path) -> EitherOrder:
    return EitherOrder(HEADER, tmp_path)


@pytest.mark.parametrize("made", ["np.array([1, 2])", "array(1, 2)"])
@pytest.mark.parametrize("read", READS)
def test_an_operator_reads_what_another_thread_stores(pair: EitherOrder, made: str, read: str) -> None:
    pair.require_both(made, "s.__setitem__(slice(None), 9)", read)


@pytest.mark.parametrize("made", ["np.array([1, 2])", "array(1, 2)"])
@pytest.mark.parametrize("write", WRITES)
def test_an_update_in_place_is_a_store(pair: EitherOrder, made: str, write: str) -> None:
    pair.require_both(made, write, "s.tolist()")
    pair.require_both(made, write, "(s + 1).tolist()")


@pytest.mark.parametrize("made", VIEWS)
def test_a_view_of_the_memory_of_another_object_stands_for_it(pair: EitherOrder, made: str) -> None:
    pair.require_both(made, "through_view(s)", "bytes(s[0])")
    pair.require_both(made, "s[1].fill(9)", "bytes(s[0])")
    pair.require_both(
        made, "s[0].__setitem__(slice(0, 2), b'cd' if isinstance(s[0], bytearray) else 9)", "bytes(s[1])"
    )


def model(folder: Path, body: str, **options: object) -> CheckRequest:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "model.py").write_text(f"import dpor\n\n@dpor.model\ndef model():\n{lines}")
    return CheckRequest("model.py", "model", str(folder), options=options)


def test_a_module_that_an_execution_imports_makes_operators_seen(tmp_path: Path) -> None:
    assert check_model(model(tmp_path, STORE_BESIDE)).verdict is Verdict.VIOLATED


def test_threads_with_arrays_of_their_own_need_one_execution(tmp_path: Path) -> None:
    body = """
import numpy
def work(number):
    own = numpy.arange(5) + number
    own *= 2
    own[:2] -= 1
    assert own[4] == 2 * (4 + number)
dpor.spawn(work, 1)
dpor.spawn(work, 2)
dpor.join_all()
"""
    result = check_model(model(tmp_path, body))
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


@pytest.mark.parametrize("algorithm", ["source", "exhaustive", "parsimonious", "unfolding"])
def test_every_algorithm_sees_operators(tmp_path: Path, algorithm: str) -> None:
    assert check_model(model(tmp_path, STORE_BESIDE, algorithm=algorithm)).verdict is Verdict.VIOLATED


def test_what_is_left_of_a_check_tells_that_operators_are_seen(tmp_path: Path) -> None:
    body = """
import numpy
s = numpy.array([0])
def update(number):
    s[0] = s[0] + number
for number in range(3):
    dpor.spawn(update, number)
dpor.join_all()
"""
    whole = check_model(model(tmp_path, body, algorithm="parsimonious"))
    kept: list[Checkpoint] = []
    first = check_model(
        model(tmp_path, body, algorithm="parsimonious", max_executions=5), None, Sharing(keep=kept.append)
    )
    assert first.verdict is Verdict.INCOMPLETE
    assert FactKind.OPERANDS in [fact.kind for fact in kept[-1].learned]
    rest = check_model(model(tmp_path, body, algorithm="parsimonious"), None, Sharing(checkpoint=kept[-1]))
    assert (rest.verdict, rest.executions) == (whole.verdict, whole.executions)


def test_a_violation_without_such_objects_is_told_though_other_executions_have_some(tmp_path: Path) -> None:
    assert np.array([1]).sum() == 1
    body = """
import numpy
apart = dpor.choose([False, True])
if apart:
    numpy.array([1]) + 1
counts = [0]
def count():
    counts[0] += 1
dpor.spawn(count)
dpor.spawn(count)
dpor.join_all()
assert counts == [2]
"""
    result = check_model(model(tmp_path, body))
    assert (result.verdict, len(result.violations)) == (Verdict.VIOLATED, 1)


@pytest.mark.parametrize("use", ["kept.get(1)", "kept[1]", "len(kept)", "kept == kept", "1 in kept"])
def test_an_object_in_c_that_may_share_what_it_keeps_is_an_assumption(tmp_path: Path, use: str) -> None:
    body = f"""
import rpds
kept = rpds.HashTrieMap({{1: 2}})
def work():
    {use}
dpor.spawn(work)
dpor.join_all()
"""
    result = check_model(model(tmp_path, body))
    assert result.verdict is Verdict.VERIFIED
    assert "rpds" in [one.subject for one in result.assumptions]


def test_an_object_in_c_that_no_other_thread_can_meet_is_no_assumption(tmp_path: Path) -> None:
    result = check_model(model(tmp_path, "import rpds\nassert rpds.HashTrieMap({1: 2}).get(1) == 2"))
    assert (result.verdict, result.assumptions) == (Verdict.VERIFIED, ())


def test_a_view_of_a_class_of_the_model_is_an_object_of_its_own_and_an_assumption(pair: EitherOrder) -> None:
    made = "(lambda made: (made, made.view(Array)))(np.array([1, 2]))"
    result = pair.check(made, "through_view(s)", "bytes(s[0])")
    assert "numpy" in [one.subject for one in result.assumptions]
