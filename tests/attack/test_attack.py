"""A share of each attack; `run.py` tries as many cases as it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from attack.surfaces import Surface

# Cases that take some ten seconds on two cores.
SHARES = {
    Surface.COMMAND_LINES: 3,
    Surface.LANGUAGE_SERVER: 200,
    Surface.LIFE_CYCLES: 5,
    Surface.EDITS: 2,
    Surface.DEBUG_ADAPTER: 10,
    Surface.CACHES: 4,
    Surface.KILLS: 2,
    Surface.PYTEST_RUNS: 4,
}


@pytest.mark.parametrize("surface", Surface, ids=lambda surface: surface.value)
def test_nothing_is_lost_and_nothing_let_in(surface: Surface, tmp_path: Path) -> None:
    assert surface.attack()(0, SHARES[surface], tmp_path.resolve()) == []
