"""Functions that built-in code holds are copied and pickled as what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

HEADER = """
import copy, functools, itertools, operator, pickle
import dpor

def twice(value):
    return 2 * value

@dpor.model
def model():
"""


@pytest.mark.parametrize(
    ("held", "given"),
    [
        ("itertools.starmap(operator.pow, [(2, 3)])", [8]),
        ("map(operator.neg, [1, 2])", [-1, -2]),
        ("itertools.accumulate([1, 2], operator.add)", [1, 3]),
        ("itertools.accumulate([1, None], operator.is_)", [1, False]),
        ("filter(operator.truth, [0, 1])", [1]),
        ("map(int, ['1'])", [1]),
        ("map(twice, [1, 2])", [2, 4]),
        ("map('a'.join, ['bc'])", ["bac"]),
    ],
)
@pytest.mark.parametrize(
    "copied", ["copy.copy(held)", "copy.deepcopy(held)", "pickle.loads(pickle.dumps(held))"]
)
def test_a_copy_of_an_iterator_calls_the_same(
    tmp_path: Path, held: str, given: list[object], copied: str
) -> None:
    (tmp_path / "model.py").write_text(
        f"{HEADER}    held = {held}\n    other = {copied}\n    assert list(other) == {given!r}\n"
    )
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert result.verdict is Verdict.VERIFIED, result


def test_what_a_copied_iterator_calls_is_an_operation(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        HEADER
        + """
    items = [1]
    found = []
    held = copy.copy(map(operator.length_hint, [items]))
    threads = [dpor.spawn(items.append, 2), dpor.spawn(lambda: found.extend(held))]
    for thread in threads:
        thread.join()
    assert found == [2]
"""
    )
    assert check_model(CheckRequest("model.py", "model", str(tmp_path))).verdict is Verdict.VIOLATED
