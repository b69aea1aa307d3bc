"""An execution that does not end is reported at its loop, and not at what came before."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.results import CheckRequest

HEAD = """
import threading
import dpor

class Shared:
    def made(self):
        self.stop = threading.Event()
        return self

    def step(self):
        self.last = dpor.choose((1, 2))
        self.more = self.last

def step_and_step(s):
    s.step()
    s.step()
"""
LOOPS = {
    "a loop in the model": """
        s = Shared().made()
        while not s.stop.is_set():  # here
            dpor.choose((1, 2))
            s.other = 1
    """,
    "a loop that calls": """
        s = Shared()
        s.made()
        s.made()
        for _ in iter(int, 1):  # here
            s.step()
            s.step()
    """,
    "a loop that calls what calls": """
        s = Shared().made()
        while True:
            step_and_step(s)  # here
    """,
    "a loop in a function": """
        def look(s):
            s.made()
            while s.last:  # here
                s.step()

        s = Shared()
        s.step()
        look(s)
    """,
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_does_not_end_has_its_own_line(tmp_path: Path, loop: str) -> None:
    text = (
        HEAD
        + "\n@dpor.model(max_steps=20)\ndef model():\n"
        + textwrap.indent(textwrap.dedent(LOOPS[loop]), "    ")
    )
    file = tmp_path / "model.py"
    file.write_text(text, encoding="utf-8")
    reason = check_model(CheckRequest(str(file), "model", str(tmp_path))).reason
    assert reason is not None
    assert reason.code is Code.MAX_STEPS
    assert reason.location is not None
    assert text.splitlines()[reason.location.line - 1].endswith("# here")
