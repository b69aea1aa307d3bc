"""Random programs with queues: every algorithm gives the outcomes of a machine that runs every interleaving.

Whether queues are primitives or run on the library's own code makes no difference.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import differential_sink
import pytest
import queue_programs
from amount import PROGRAMS, SEED
from checked_programs import check, named

from dpor.checking import check as checking
from dpor.results import Verdict, ViolationKind

# Those that give each class once where a queue has parts, and where it is one location; classes are as many for both.
BY_PARTS = ("optimal", "unfolding")
WHOLE = ("parsimonious", "graph")
OTHERS = ("source", "concolic", "value-centric")
# The most steps of all threads of a program that runs on the library's code, and of one of which all interleavings are
# tried.
_FEW_STEPS = 6
_VERY_FEW_STEPS = 4
_MOST_EXECUTIONS = 20_000


@pytest.mark.parametrize("drawn", [False, True], ids=["always the same", "drawn"])
def test_all_algorithms_find_the_outcomes_of_the_machine(
    tmp_path: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking._Check, "_explain", lambda check, found: named(found))
    for program in itertools.islice(queue_programs.programs(SEED if drawn else 0), PROGRAMS):
        expected = program.run()
        counts: dict[str, int] = {}
        steps = sum(map(len, program.threads))
        ways = [(algorithm, "kernel") for algorithm in (*BY_PARTS, *WHOLE, *OTHERS)]
        ways += [("exhaustive", "kernel")] if steps <= _VERY_FEW_STEPS else []
        ways += [("optimal", "library")] if steps <= _FEW_STEPS else []
        for algorithm, primitives in ways:
            options = {"algorithm": algorithm, "primitives": primitives, "max_executions": _MOST_EXECUTIONS}
            result = check(program.source(), tmp_path, **options)
            told = f"{algorithm} {primitives}\n{program.source()}"
            if result.verdict is Verdict.INCOMPLETE and (
                primitives == "library" or algorithm == "value-centric"
            ):
                continue
            assert differential_sink.take() == expected.ended, told
            kinds = {violation.kind for violation in result.violations}
            assert kinds == ({ViolationKind.DEADLOCK} if expected.deadlock else set()), told
            assert result.verdict is (Verdict.VIOLATED if expected.deadlock else Verdict.VERIFIED), told
            counts[algorithm if primitives == "kernel" else primitives] = result.executions + result.blocked
        parts, whole = ([counts[algorithm] for algorithm in ways] for ways in (BY_PARTS, WHOLE))
        assert parts[0] == parts[1] <= whole[0] == whole[1], program.source()
        assert whole[0] <= counts.get("library", whole[0]), program.source()
