"""Random programs with a pool and futures: the algorithms give the outcomes of a machine that runs every interleaving.

Whether pools and futures are primitives or run on the library's own code makes no difference.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import differential_sink
import pool_programs
import pytest
from amount import PROGRAMS, SEED
from checked_programs import check, named

from dpor.checking import check as checking
from dpor.results import Verdict, ViolationKind

WAYS = (
    ("optimal", "kernel", 20_000),
    ("source", "kernel", 20_000),
    ("unfolding", "kernel", 20_000),
    ("exhaustive", "kernel", 3_000),
    ("optimal", "library", 1_500),
)

# Few of the programs are small enough for every way: as many more may be drawn until each has been compared.
_MOST_MORE = 24


@pytest.mark.parametrize("drawn", [False, True], ids=["always the same", "drawn"])
def test_all_algorithms_find_the_outcomes_of_the_machine(
    tmp_path: Path, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking._Check, "_explain", lambda check, found: named(found))
    compared = dict.fromkeys(WAYS, 0)
    programs, usual = pool_programs.programs(SEED if drawn else 0), max(1, PROGRAMS // 3)
    for number, program in enumerate(itertools.islice(programs, usual + _MOST_MORE)):
        if number >= usual and all(compared.values()):
            break
        expected = program.run()
        counts: dict[str, int] = {}
        for way in WAYS:
            algorithm, primitives, most = way
            options = {"algorithm": algorithm, "primitives": primitives, "max_executions": most}
            result = check(program.source(), tmp_path, **options)
            told = f"{way}\n{program.source()}"
            found = differential_sink.take()
            kinds = {violation.kind for violation in result.violations}
            if result.verdict is Verdict.INCOMPLETE:
                assert found <= expected.ended, told
                continue
            assert found == expected.ended, told
            assert kinds == ({ViolationKind.DEADLOCK} if expected.deadlock else set()), told
            counts[algorithm if primitives == "kernel" else primitives] = result.executions + result.blocked
            compared[way] += 1
        if "library" in counts:
            assert counts["optimal"] <= counts["library"], program.source()
        assert counts["optimal"] == counts["unfolding"], program.source()
    assert all(compared.values()), compared
