"""Litmus tests as models, explored as execution graphs: every row of the table is exact, counts and outcomes."""

from __future__ import annotations

import litmus_programs
import litmus_sink
import pytest

TESTS = litmus_programs.read()
NAMES = [f"{litmus.name}-{litmus.memory_model}" for litmus in TESTS]
# A compare-exchange of symbolic values counts as a write where it does not take place, too.
SYMBOLIC = [litmus for litmus in TESTS if not litmus.exchanges]
PLAIN = [litmus for litmus in TESTS if litmus.is_plain]


def explored(check, tmp_path, litmus, plain=False, symbolic=False, **options):
    """The outcomes of a litmus test, with the result of the check."""
    file = tmp_path / "litmus_model.py"
    file.write_text(litmus.source(plain, final="relaxed", symbolic=symbolic), encoding="utf-8")
    litmus_sink.take()
    options = {"algorithm": "graph", "memory_model": litmus.memory_model, **options}
    result = check(file, "program", **options)
    return {litmus.seen(outcome) for outcome in litmus_sink.take()}, result


@pytest.mark.parametrize("litmus", TESTS, ids=NAMES)
def test_every_consistent_graph_is_explored_once(check, tmp_path, litmus):
    found, result = explored(check, tmp_path, litmus)
    assert found == litmus.expected()
    assert (result.executions, result.redundant) == (litmus.executions, 0)
    assert result.verdict.value == "verified"


@pytest.mark.share(2)
@pytest.mark.parametrize("litmus", TESTS, ids=NAMES)
def test_every_class_of_reads_from_is_explored_once(check, tmp_path, litmus):
    found, result = explored(check, tmp_path, litmus, partition="rf")
    assert found == litmus.expected()
    assert (result.executions, result.redundant) == (litmus.rf_classes, 0)
    assert result.verdict.value == "verified"


@pytest.mark.share(4)
@pytest.mark.parametrize("partition", ["coherence", "rf"])
@pytest.mark.parametrize("litmus", PLAIN, ids=[f"{one.name}-{one.memory_model}" for one in PLAIN])
def test_plain_attributes_count_as_relaxed(check, tmp_path, litmus, partition):
    found, result = explored(check, tmp_path, litmus, plain=True, partition=partition)
    expected = litmus.rf_classes if partition == "rf" else litmus.executions
    assert found == litmus.expected()
    assert (result.executions, result.redundant) == (expected, 0)


@pytest.mark.share(4)
@pytest.mark.parametrize("partition", ["coherence", "rf"])
@pytest.mark.parametrize("litmus", SYMBOLIC, ids=[f"{one.name}-{one.memory_model}" for one in SYMBOLIC])
def test_symbolic_values_go_through_loads_of_old_values(check, tmp_path, litmus, partition):
    pytest.importorskip("z3")
    found, result = explored(
        check, tmp_path, litmus, symbolic=True, partition=partition, algorithm="concolic"
    )
    expected = litmus.rf_classes if partition == "rf" else litmus.executions
    assert found == litmus.expected()
    assert (result.executions, result.redundant) == (expected, 0)
    assert result.verdict.value == "verified"
