"""Litmus tests as models: the outcomes under each memory model that a machine runs step by step are exact."""

from __future__ import annotations

import litmus_programs
import litmus_sink
import pytest

MACHINES = ("sc", "tso", "pso")
TESTS = [litmus for litmus in litmus_programs.read() if litmus.memory_model in MACHINES]
NAMES = [f"{litmus.name}-{litmus.memory_model}" for litmus in TESTS]
PLAIN = [litmus for litmus in TESTS if litmus.is_plain]
# Every interleaving of these would take long; the kernel's own tests compare the algorithms with it.
SMALL = [litmus for litmus in TESTS if len(litmus.threads) == 2 and len(litmus.program) < 80]


def outcomes(check, tmp_path, litmus, algorithm, plain=False):
    """The outcomes of a litmus test, with the result of the check."""
    file = tmp_path / "litmus_model.py"
    file.write_text(litmus.source(plain), encoding="utf-8")
    litmus_sink.take()
    result = check(file, "program", memory_model=litmus.memory_model, algorithm=algorithm)
    return {litmus.seen(outcome) for outcome in litmus_sink.take()}, result


@pytest.mark.share(3)
@pytest.mark.parametrize("algorithm", ["optimal", "source", "parsimonious"])
@pytest.mark.parametrize("litmus", TESTS, ids=NAMES)
def test_atomics_have_the_outcomes_that_the_memory_model_allows(check, tmp_path, litmus, algorithm):
    found, result = outcomes(check, tmp_path, litmus, algorithm)
    assert found == litmus.expected()
    assert result.verdict.value == "verified"
    if algorithm != "source":
        assert result.redundant == 0


@pytest.mark.parametrize("litmus", PLAIN, ids=[f"{one.name}-{one.memory_model}" for one in PLAIN])
def test_plain_attributes_count_as_relaxed(check, tmp_path, litmus):
    found, result = outcomes(check, tmp_path, litmus, "optimal", plain=True)
    assert found == litmus.expected()
    assert result.redundant == 0


@pytest.mark.parametrize("litmus", SMALL, ids=[f"{one.name}-{one.memory_model}" for one in SMALL])
def test_optimal_explores_as_many_classes_as_exhaustive_search_sees(check, tmp_path, litmus):
    expected, oracle = outcomes(check, tmp_path, litmus, "exhaustive")
    found, result = outcomes(check, tmp_path, litmus, "optimal")
    assert found == expected == litmus.expected()
    assert (result.executions, result.blocked) == (oracle.executions, oracle.blocked)


def test_the_table_has_a_row_for_every_test_and_memory_model():
    names = {litmus.name for litmus in litmus_programs.read()}
    assert len(names) == 66
    assert len(litmus_programs.read()) == 4 * len(names)
