"""A schedule that leads through code of the library can be replayed where that code is not known yet: what the checker
does before an execution is no part of it, whichever of the library's functions it uses.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ReplayRequest, Verdict

MODEL = """
import contextlib, os, random, tempfile, threading, uuid
import dpor

@dpor.model
def model():
    folder = {made}
    first, second = threading.Lock(), threading.Lock()
    def both(one, other, name):
        open(os.path.join(folder, name), "w").close()
        with one:
            with other:
                pass
    threads = [dpor.spawn(both, first, second, "p"), dpor.spawn(both, second, first, "q")]
    for thread in threads:
        thread.join()
"""
MADE = {
    "a temporary folder": "tempfile.mkdtemp()",
    "a folder that ends": "contextlib.ExitStack().enter_context(tempfile.TemporaryDirectory())",
    "a name that is drawn": "os.getcwd() + os.sep * random.randint(1, 1)",
    "a name that is drawn by its kind": "os.getcwd() + os.sep * (uuid.uuid4().version == 4)",
}


@pytest.mark.parametrize("name", MADE)
def test_a_deadlock_behind_code_of_the_library_is_replayed(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(made=MADE[name]), encoding="utf-8")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED
    schedule = result.violations[0].schedule
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), schedule, {}))
    assert replayed.divergence is None
    assert replayed.violation is not None
    assert replayed.violation.kind is result.violations[0].kind
