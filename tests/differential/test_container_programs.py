"""Random programs with one container: all algorithms give the outcomes of the statements in every order.

What an operation on a container touches depends on what is in it, and an algorithm has to know that of states that it
has not seen.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import container_programs
import differential_sink
import pytest
from amount import PROGRAMS, SEED
from checked_programs import check, named

from dpor.checking import check as checking
from dpor.results import Verdict

BUFFERING = ("optimal", "source", "parsimonious")
ALGORITHMS = ("optimal", "source", "unfolding", "parsimonious", "graph")


@pytest.mark.parametrize("drawn", [False, True], ids=["always the same", "drawn"])
def test_all_algorithms_find_the_outcomes_of_the_statements_in_every_order(
    tmp_path: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking._Check, "_explain", lambda check, found: named(found))
    for program in itertools.islice(container_programs.programs(SEED if drawn else 0), PROGRAMS):
        expected = program.run()
        counts: dict[str, int] = {}
        for algorithm in ALGORITHMS:
            result = check(program.source(), tmp_path, algorithm=algorithm, max_executions=20_000)
            told = f"{algorithm}\n{program.source()}"
            assert result.verdict is Verdict.VERIFIED, told
            assert differential_sink.take() == expected, told
            counts[algorithm] = result.executions + result.blocked
        assert counts["optimal"] == counts["unfolding"], (counts, program.source())


@pytest.mark.parametrize("memory_model", ["tso", "pso"])
def test_store_buffers_lose_none_of_these_outcomes(
    tmp_path: Path, memory_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking._Check, "_explain", lambda check, found: named(found))
    compared = 0
    programs = PROGRAMS // 2
    for program in itertools.islice(container_programs.programs(SEED), programs):
        expected = program.run()
        found = {}
        for algorithm in BUFFERING:
            options = {"algorithm": algorithm, "memory_model": memory_model, "max_executions": 4_000}
            result = check(program.source(), tmp_path, **options)
            outcomes = differential_sink.take()
            if result.verdict is not Verdict.INCOMPLETE:
                assert result.verdict is Verdict.VERIFIED, program.source()
                assert outcomes >= expected, (algorithm, program.source())
                found[algorithm] = outcomes
        compared += len(found) > 1
        assert len(set(found.values())) <= 1, program.source()
    assert compared > programs // 2
