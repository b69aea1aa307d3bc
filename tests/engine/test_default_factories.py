"""What a `defaultdict` makes for a missing key: in one step if code in C makes it, as in CPython."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODEL = """
import queue, threading, _thread
from collections import defaultdict
import dpor

class Own:
    def __init__(self):
        super().__init__()
        self.count = 0

class Bare:
    def __init__(self):
        object.__init__(self)
        self.count = 0

@dpor.model(strict={strict})
def model():
    made, found = defaultdict({factory}), []
    def work():
        found.append(made["key"])
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert found[0] is found[1]
"""


def verdict(tmp_path: Path, factory: str, strict: bool = False) -> Verdict:
    (tmp_path / "model.py").write_text(MODEL.format(factory=factory, strict=strict))
    return check_model(CheckRequest("model.py", "model", str(tmp_path))).verdict


@pytest.mark.parametrize(
    "factory", ["list", "threading.Lock", "_thread.allocate_lock", "_thread.RLock", "queue.SimpleQueue"]
)
def test_no_thread_comes_between_where_it_is_made_in_c(tmp_path: Path, factory: str) -> None:
    assert verdict(tmp_path, factory) is Verdict.VERIFIED


@pytest.mark.parametrize(
    "factory", ["threading.RLock", "threading.Event", "threading.Condition", "queue.Queue", "Own"]
)
def test_two_threads_can_make_one_each_where_it_is_made_in_python(tmp_path: Path, factory: str) -> None:
    assert verdict(tmp_path, factory) is Verdict.VIOLATED


@pytest.mark.parametrize("factory", ["Own", "Bare"])
def test_the_constructor_of_object_is_no_code_that_nobody_sees(tmp_path: Path, factory: str) -> None:
    text = MODEL.format(factory="list", strict=True).replace(
        "found.append(made", f"{factory}(); found.append(made"
    )
    (tmp_path / "model.py").write_text(text)
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result.reason
    shared = text.replace("made, found = defaultdict(list), []", f"made, found = {{'key': {factory}()}}, []")
    shared = shared.replace("found.append(made", f"{factory}.__init__(made['key']); found.append(made")
    (tmp_path / "model.py").write_text(shared)
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result.reason
