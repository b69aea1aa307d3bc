"""What a thread looks at before it calls its target is no step of a counterexample, unless somebody changes it."""

from __future__ import annotations

from pathlib import Path

from dpor.checking import check_model
from dpor.counterexample.text import render
from dpor.results import CheckRequest

LOST = """
import threading
import dpor

@dpor.model
def model():
    count = [0]
    def increment():
        count[0] += 1
    threads = [threading.Thread(target=increment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count[0] == 2
"""
CHANGED = """
import threading
import dpor

@dpor.model
def model():
    given, seen = [1], []
    thread = threading.Thread(target=seen.append, args=given)
    thread.start()
    given[0] = 2
    thread.join()
    assert seen == [2]
"""


def rendered(folder: Path, text: str) -> str:
    (folder / "model.py").write_text(text, encoding="utf-8")
    (violation,) = check_model(CheckRequest("model.py", "model", root=str(folder))).violations
    return render(violation, width=100, color=False, root=folder)


def test_a_thread_begins_with_what_its_target_does(tmp_path: Path) -> None:
    text = rendered(tmp_path, LOST)
    lines = [line for line in text.splitlines() if "┃" in line]
    # Main has started and joins both; the rest is the increments and the assertion.
    assert not any(" = increment" in line or " = ()" in line or " = {}" in line for line in lines), text
    assert sum("steps" in line for line in lines) == 2, text


def test_a_look_at_arguments_that_somebody_changes_is_a_step(tmp_path: Path) -> None:
    text = rendered(tmp_path, CHANGED)
    assert "reads all of thread._args: [1]" in text
    assert "thread._args[0] ← 2" in text
