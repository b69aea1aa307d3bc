"""What copying and pickling an object does beside giving its state."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest, ModelResult, Verdict

MODEL = """
import copy, functools, pickle, dpor

class K:
    def __init__(self):
        self.a = 1

class Slotted:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 1

class Own(Exception):
    pass

def both(first, second):
    threads = [dpor.spawn(first), dpor.spawn(second)]
    for thread in threads:
        thread.join()

@dpor.model
def model():
{body}
"""
COPIES = {
    "copy": "copy.copy({})",
    "deepcopy": "copy.deepcopy({})",
    "reduce": "{}.__reduce_ex__(4)",
    "getstate": "{}.__getstate__()",
    "pickle": "pickle.dumps({})",
}


def check(body: str, folder: Path) -> ModelResult:
    """The result of a model with this body."""
    path = folder / "model.py"
    path.write_text(MODEL.replace("{body}", textwrap.indent(textwrap.dedent(body).strip(), "    ")))
    return check_model(CheckRequest(str(path), "model", str(folder)))


@pytest.mark.parametrize("name", ["K", "Slotted"])
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_every_execution_begins_with_classes_that_keep_no_slot_names(
    copy: str, name: str, tmp_path: Path
) -> None:
    result = check(
        f"""
        assert "__slotnames__" not in vars({name})
        s = {name}()
        both(lambda: setattr(s, "a", 2), lambda: setattr(s, "a", 3))
        {copy.format("s")}
        assert "__slotnames__" in vars({name})
        """,
        tmp_path,
    )
    assert result.verdict is Verdict.VERIFIED, result
    assert result.executions == 2


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_the_first_copy_of_an_object_changes_its_class(copy: str, tmp_path: Path) -> None:
    result = check(
        f"""
        s = K()
        both(lambda: {copy.format("s")}, lambda: [name for name in vars(K)])
        """,
        tmp_path,
    )
    assert result.verdict is Verdict.VIOLATED, result
    assert "RuntimeError: dictionary changed size during iteration" in str(result)


def test_copies_in_two_threads_are_one_class_of_executions(tmp_path: Path) -> None:
    result = check("s = K()\nboth(lambda: copy.copy(s), lambda: copy.copy(s))", tmp_path)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


def test_slots_that_change_while_a_pickle_asks_for_their_names_are_seen(tmp_path: Path) -> None:
    result = check(
        """
        s, found = Slotted(), []
        both(lambda: found.append(pickle.loads(pickle.dumps(s)).a), lambda: setattr(s, "a", 2))
        assert found == [1]
        """,
        tmp_path,
    )
    assert result.verdict is Verdict.VIOLATED, result


@pytest.mark.parametrize(
    ("made", "without"),
    [("Own()", "(Own, ())"), ("functools.partial(len)", "None")],
    ids=["an exception", "a partial"],
)
def test_looking_at_an_object_does_not_make_its_dict(made: str, without: str, tmp_path: Path) -> None:
    reduced = "s.__reduce_ex__(4)" if made == "Own()" else "s.__reduce_ex__(4)[2][3]"
    result = check(
        f"""
        s = {made}
        both(lambda: copy.copy(s), lambda: copy.deepcopy(s))
        assert {reduced} == {without}
        """,
        tmp_path,
    )
    assert result.verdict is Verdict.VERIFIED, result
