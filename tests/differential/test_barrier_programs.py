"""Random programs with barriers: every algorithm gives the outcomes of a machine that runs every interleaving.

Whether barriers are primitives or run on the library's own code makes no difference.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import barrier_programs
import differential_sink
import pytest
from amount import PROGRAMS, SEED
from checked_programs import check, named

from dpor.checking import check as checking
from dpor.results import Verdict, ViolationKind

# Those that give each class once; where a primitive is one location for the explorer there are as many or more.
ONCE = ("optimal", "unfolding", "parsimonious", "graph")
OTHERS = ("source", "concolic", "value-centric")
# The most steps of all threads of a program of which all interleavings are tried, on the library's code or not.
_FEW_STEPS = 6
# More are needed on the library's code alone, where a barrier of three has thousands, and by what cannot treat it.
_MOST_EXECUTIONS = 1_500


@pytest.mark.parametrize("drawn", [False, True], ids=["always the same", "drawn"])
def test_all_algorithms_find_the_outcomes_of_the_machine(
    tmp_path: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking._Check, "_explain", lambda check, found: named(found))
    for program in itertools.islice(barrier_programs.programs(SEED if drawn else 0), PROGRAMS):
        expected = program.run()
        counts: dict[str, int] = {}
        steps = sum(map(len, program.threads))
        ways = [(algorithm, "kernel") for algorithm in (*ONCE, *OTHERS)]
        ways += [("exhaustive", "kernel")] if steps <= _FEW_STEPS else []
        ways += [("optimal", "library")] if steps <= _FEW_STEPS else []
        for algorithm, primitives in ways:
            options = {"algorithm": algorithm, "primitives": primitives, "max_executions": _MOST_EXECUTIONS}
            result = check(program.source(), tmp_path, **options)
            told = f"{algorithm} {primitives}\n{program.source()}"
            is_primitive = primitives == "kernel" and not program.needs_library()
            if result.verdict is Verdict.INCOMPLETE and not (is_primitive and algorithm in ONCE):
                continue
            assert differential_sink.take() == expected.ended, told
            kinds = {violation.kind for violation in result.violations}
            assert kinds == ({ViolationKind.DEADLOCK} if expected.deadlock else set()), told
            assert result.verdict is (Verdict.VIOLATED if expected.deadlock else Verdict.VERIFIED), told
            counts[algorithm if primitives == "kernel" else primitives] = result.executions + result.blocked
        if "optimal" in counts:
            assert counts["optimal"] == counts["unfolding"] <= counts["parsimonious"], program.source()
            assert counts["optimal"] <= counts.get("library", counts["optimal"]), program.source()
