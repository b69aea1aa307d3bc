"""Which lines of the model's file its executions reach."""

from __future__ import annotations

from pathlib import Path

from dpor.checking import check_model
from dpor.results import CheckRequest, Coverage, Verdict

MODEL = '''"""A file."""
import dpor


class Counter:
    """Counts."""

    def __init__(self):
        self.value = 0

    def never(self):
        return self.value


def work(counter):
    """Adds one."""
    if counter.value > 5:
        counter.value = 0
    elif counter.value > 1:
        counter.value = 1
    else:
        counter.value += 1
    try:
        assert counter.value
    except AssertionError:
        return
    finally:
        counter.value += 0


@dpor.model
def model(broken: bool = False):
    counter = Counter()
    dpor.spawn(work, counter)
    dpor.spawn(work, counter)
    dpor.join_all()
    assert not broken
    if counter.value == 1:
        counter.value = 3
    print(counter.value)
'''


def checked(folder: Path, **parameters: object) -> tuple[Verdict, Coverage | None]:
    (folder / "covered.py").write_text(MODEL, encoding="utf-8")
    request = CheckRequest(file="covered.py", model="model", root=str(folder), parameters=parameters)
    result = check_model(request)
    return result.verdict, result.coverage


def lines_with(*texts: str) -> tuple[int, ...]:
    return tuple(
        number for number, line in enumerate(MODEL.splitlines(), 1) if any(text in line for text in texts)
    )


def test_lines_that_some_schedule_reaches_are_told_from_those_that_none_does(tmp_path: Path) -> None:
    verdict, coverage = checked(tmp_path)
    assert verdict is Verdict.VERIFIED
    # A method that nothing calls says nothing of the model; a branch that nothing takes does.
    assert coverage == Coverage(reached=15, missed=(18, 20, 26))


def test_what_a_violation_keeps_from_running_is_missed(tmp_path: Path) -> None:
    verdict, coverage = checked(tmp_path, broken=True)
    assert verdict is Verdict.VIOLATED
    assert coverage is not None
    assert set(lines_with("counter.value == 1", "counter.value = 3", "print(")) <= set(coverage.missed)
