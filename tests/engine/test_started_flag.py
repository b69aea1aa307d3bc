"""Code that looks at `_started` of a thread finds whether it was started, and can change nothing there."""

from __future__ import annotations

from pathlib import Path

import pytest
from either_order import EitherOrder

from dpor.errors import Code, DporError

HEADER = """
import threading

def nothing():
    pass
"""
MADE = "threading.Thread(target=nothing)"


def test_who_looks_beside_a_start_finds_either(tmp_path: Path) -> None:
    EitherOrder(HEADER, tmp_path).require_both(MADE, "s.start()", "s._started.is_set()")


@pytest.mark.parametrize("use", ["s._started.set()", "s._started.clear()", "s._started.wait(1)"])
def test_what_the_library_does_with_it_is_refused(tmp_path: Path, use: str) -> None:
    with pytest.raises(DporError) as caught:
        EitherOrder(HEADER, tmp_path).check(MADE, use, "1")
    assert caught.value.code is Code.UNCONTROLLED
