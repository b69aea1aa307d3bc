"""Waiting for a predicate: exact counts, and what a predicate may not do."""

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict

MODELS = '''
import dpor


@dpor.model
def pulse():
    """The predicate holds only between the first store and the second."""
    flag = dpor.Atomic(0)

    def change():
        flag.store(1)
        flag.store(0)
        flag.store(2)

    dpor.spawn(change)
    dpor.spawn(lambda: dpor.wait_until(lambda: flag.load() == 1))
    dpor.join_all()


@dpor.model
def two_variables():
    a, b = dpor.Atomic(0), dpor.Atomic(0)

    def first():
        a.store(1)
        b.store(1)
        a.store(0)

    def second():
        b.store(5)
        b.store(1)

    dpor.spawn(first)
    dpor.spawn(lambda: dpor.wait_until(lambda: a.load() == 1 and b.load() == 1))
    dpor.spawn(second)
    dpor.join_all()


@dpor.model
def predicate_that_writes():
    flag = dpor.Atomic(0)
    dpor.spawn(lambda: dpor.wait_until(lambda: flag.fetch_add(1) >= 2))
    dpor.spawn(flag.store, 1)
    dpor.join_all()
'''


def check(folder: Path, model: str, algorithm: str):
    file = folder / "waits.py"
    file.write_text(MODELS)
    request = CheckRequest(
        str(file), model, str(folder), options={"algorithm": algorithm}, all_violations=True
    )
    return check_model(request)


@pytest.mark.parametrize("algorithm", ["optimal", "source", "exhaustive"])
# Writes to variables that one predicate reads together are ordered among each other: without that, there are 6 and 3.
@pytest.mark.parametrize(("model", "executions", "blocked"), [("pulse", 1, 1), ("two_variables", 16, 10)])
def test_each_class_is_found_though_the_wait_was_not_possible_just_before_the_last_write(
    tmp_path, model, executions, blocked, algorithm
):
    result = check(tmp_path, model, algorithm)
    assert (result.executions, result.blocked) == (executions, blocked)
    assert algorithm != "optimal" or result.redundant == 0


def test_a_predicate_that_writes_is_refused_where_it_stands(tmp_path):
    result = check(tmp_path, "predicate_that_writes", "optimal")
    assert result.verdict is Verdict.VIOLATED
    assert "may only read shared state" in result.violations[0].message


def test_parsimonious_refuses_a_predicate_over_several_locations_and_names_another_algorithm(tmp_path):
    from dpor.checking import check_model
    from dpor.codes import Code
    from dpor.errors import DporError
    from dpor.results import CheckRequest, Verdict

    source = (
        "import dpor\nclass Shared:\n    x = y = 0\n"
        "def write(s):\n    s.x = 1\n    s.y = 1\n"
        "@dpor.model\ndef model():\n    s = Shared()\n    s.x = s.y = 0\n    dpor.spawn(write, s)\n"
        "    dpor.wait_until(lambda: {})\n"
    )
    file = tmp_path / "model.py"
    request = CheckRequest(str(file), "model", str(tmp_path), options={"algorithm": "parsimonious"})
    file.write_text(source.format("s.x == 1 and s.y == 1"), encoding="utf-8")
    with pytest.raises(DporError) as refused:
        check_model(request)
    assert refused.value.code is Code.UNSUPPORTED_PAIR
    assert "optimal" in refused.value.mend
    file.write_text(source.format("s.x == 1"), encoding="utf-8")
    assert check_model(request).verdict is Verdict.VERIFIED
