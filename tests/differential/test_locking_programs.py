"""Random programs with locks on files: every algorithm gives the outcomes that the system's own locks give."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import differential_sink
import pytest
from amount import PROGRAMS, SEED
from checked_programs import check, named

from dpor.checking import check as checking
from dpor.results import Verdict, ViolationKind

if sys.platform == "win32":
    pytest.skip("only POSIX has flock", allow_module_level=True)

import locking_programs

# Those that give each class once, which are as many for all.
OPTIMAL = ("optimal", "parsimonious")
OTHERS = ("source", "unfolding", "graph", "concolic")
# The most steps of all threads of a program whose interleavings are all tried.
_FEW_STEPS = 5


@pytest.mark.parametrize("drawn", [False, True], ids=["always the same", "drawn"])
def test_all_algorithms_find_the_outcomes_of_the_locks_of_the_system(
    tmp_path: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking._Check, "_explain", lambda check, found: named(found))
    for name in locking_programs.NAMES:
        (tmp_path / name).touch()
    (tmp_path / "checked").mkdir()
    for program in itertools.islice(locking_programs.programs(SEED if drawn else 0), max(1, PROGRAMS // 6)):
        expected = program.run(tmp_path)
        counts: set[int] = set()
        is_small = sum(map(len, program.threads)) <= _FEW_STEPS
        for algorithm in (*OPTIMAL, *OTHERS, *(("exhaustive",) if is_small else ())):
            result = check(program.source(), tmp_path / "checked", algorithm=algorithm)
            told = f"{algorithm}\n{program.source()}"
            assert differential_sink.take() == expected.ended, told
            kinds = {violation.kind for violation in result.violations}
            assert kinds == ({ViolationKind.DEADLOCK} if expected.deadlock else set()), told
            assert result.verdict is (Verdict.VIOLATED if expected.deadlock else Verdict.VERIFIED), told
            if algorithm in OPTIMAL:
                counts.add(result.executions)
        assert len(counts) == 1, program.source()
