"""Objects are the same in all executions, whatever was made before them: what was learned of them is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.hosted import HostedModel

MODEL = """
import threading
import dpor

@dpor.model
def model():
    seen = set()
    dpor.spawn(seen.add, 1)
    {made}
    lock, total = threading.Lock(), [0]

    def add():
        with lock:
            total[0] += 1

    dpor.spawn(add)
    dpor.spawn(add)
    dpor.join_all()
    assert total[0] == 2
"""


def facts_learned(tmp_path: Path, made: str) -> int:
    """How often the exploration began anew, since it had learned that a location is visible."""
    file = tmp_path / "model.py"
    file.write_text(MODEL.format(made=made))
    with HostedModel(str(file), "model", str(tmp_path), {}, {}) as hosted:
        outcome = hosted.host.explore(hosted.main, hosted.patches.main_thread)
    assert outcome.complete
    return len(outcome.learned)


@pytest.mark.parametrize("made", ["{}", "threading.Semaphore()", "threading.Thread()"])
def test_what_is_made_under_a_condition_leaves_the_identity_of_other_types_alone(
    tmp_path: Path, made: str
) -> None:
    assert (
        facts_learned(tmp_path, f"if seen: other = {made}")
        == facts_learned(tmp_path, "if seen: other = None")
        > 0
    )
