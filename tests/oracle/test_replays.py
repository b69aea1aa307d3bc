"""A counterexample to any outcome of a random program can be replayed: it breaks the model again, in the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle.checker import check, prepared, replayed
from oracle.programs import made

PROGRAMS = range(80_000, 80_016)
CHUNK = 4
MOST = 4


@pytest.mark.parametrize("first", PROGRAMS[::CHUNK])
def test_counterexamples_break_the_model_again(first: int, tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    replays: dict[tuple[int, str], str] = {}
    with prepared():
        for seed in range(first, first + CHUNK):
            program = made(str(seed))
            checked = check(program, folder, executions=2000)
            # When objects end and what is drawn can differ from one execution to the next.
            if not checked.assumptions and checked.bounded is None:
                for outcome in sorted(checked.outcomes)[:MOST]:
                    replays[seed, outcome] = replayed(program, outcome, folder)
    assert replays
    assert {key: wrong for key, wrong in replays.items() if wrong} == {}
