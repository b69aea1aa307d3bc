"""Classes that derive from threading.Thread: the names of their attributes are the program's."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict
from dpor.runtime.bare_threads import DummyThread
from dpor.runtime.thread import Thread
from dpor.runtime.timer import Timer

MODEL = """
import dpor, threading

class Worker(threading.Thread):
    _started_index = None

    def __init__(self):
        super().__init__()
        self._is_stale = self._has_ended = False
        self._passed = 0

    def run(self):
        self._passed += 1
        self._has_ended = True

    def _is_started(self):
        raise NotImplementedError

@dpor.model
def model():
    worker = Worker()
    worker.start()
    worker.join()
    assert worker._has_ended and worker._passed == 1 and not worker.is_alive()
    assert "stopped" in repr(worker)
"""


@pytest.mark.parametrize("owner", [Thread, Timer, DummyThread])
def test_a_thread_has_no_names_beside_those_of_the_library_and_the_checker(owner: Any) -> None:
    library = {*dir(threading.Timer), *vars(threading.Thread(name="never started"))}
    others = [name for name in dir(owner) if name not in library]
    assert [name for name in others if not name.startswith(("dpor_", "__"))] == []


def test_a_class_of_threads_has_the_names_that_it_wants(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    request = CheckRequest(file=str(tmp_path / "model.py"), model="model", root=str(tmp_path))
    assert check_model(request).verdict is Verdict.VERIFIED
