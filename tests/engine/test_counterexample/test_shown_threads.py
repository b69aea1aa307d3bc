"""Reports name a thread where its state is read or changed, and nothing that the runtime keeps for it."""

from __future__ import annotations

from pathlib import Path

from dpor.checking import check_model
from dpor.counterexample.phrases import effect_text
from dpor.results import CheckRequest, Verdict

MODEL = """
import threading
import dpor

class Job:
    def __init__(self):
        self.thread = threading.Thread(target=lambda: None)

@dpor.model
def model():
    job, seen = Job(), []
    asking = threading.Thread(target=lambda: seen.append(job.thread.is_alive()))
    asking.start()
    job.thread.start()
    asking.join()
    assert seen == [False]
"""


def test_starting_a_thread_and_asking_whether_it_is_alive_name_the_thread(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VIOLATED
    texts = [effect_text(step) for step in result.violations[0].trace]
    assert [text for text in texts if "dict#" in text or "started" in text] == []
    assert "changes main.1" in texts
    assert "reads main.1" in texts
