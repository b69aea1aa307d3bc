"""The variables of a module as a dict: who looks at all of them sees what other threads store, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import AssumptionKind, CheckRequest, ModelResult, Verdict

MODEL = """
import sys
import threading
import types
import dpor

SELF = sys.modules[__name__]
MADE = types.ModuleType("made")

def store_first():
    global new_first
    new_first = 1

def store_second():
    global new_second
    new_second = 2

def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

@dpor.model
def model():
    BODY
"""
LOOKS = [
    "'new_first' in list(globals())",
    "'new_first' in globals().copy()",
    "'new_first' in dict(vars(SELF))",
    "'new_first' in {**globals()}",
    "'new_first' in [*SELF.__dict__]",
    "'new_first' in globals().keys()",
    "any(name == 'new_first' for name in globals())",
    "len(globals()) > count",
]
STORES = {
    "by statements": "run(store_first, store_second)",
    "by attributes": "run(lambda: setattr(SELF, 'new_first', 1), lambda: setattr(SELF, 'new_second', 2))",
    "by items": "run(lambda: globals().update(new_first=1) if False else globals().__setitem__('new_first', 1), "
    "lambda: vars(SELF).__setitem__('new_second', 2))",
    "in two ways": "run(store_first, lambda: setattr(SELF, 'new_second', 2))",
}


def check(tmp_path: Path, *body: str, algorithm: str = "optimal") -> ModelResult:
    (tmp_path / "model.py").write_text(MODEL.replace("BODY", "\n    ".join(body)))
    return check_model(CheckRequest("model.py", "model", str(tmp_path), options={"algorithm": algorithm}))


@pytest.mark.parametrize("algorithm", ["optimal", "source", "parsimonious", "unfolding", "graph"])
@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_all_variables_sees_a_store_before_and_after(
    tmp_path: Path, look: str, algorithm: str
) -> None:
    for seen in (True, False):
        result = check(
            tmp_path,
            "seen = []",
            "count = len(globals())",
            f"run(store_first, lambda: seen.append({look}))",
            f"assert seen == [{seen}]",
            algorithm=algorithm,
        )
        assert result.verdict is Verdict.VIOLATED, (seen, result)


@pytest.mark.parametrize("stores", STORES.values(), ids=STORES.keys())
def test_a_look_at_the_end_sees_which_variable_was_stored_first(tmp_path: Path, stores: str) -> None:
    for first, second in (("new_first", "new_second"), ("new_second", "new_first")):
        result = check(
            tmp_path,
            stores,
            f"assert [name for name in globals() if name.startswith('new_')] == [{first!r}, {second!r}]",
        )
        assert result.verdict is Verdict.VIOLATED


def test_stores_are_in_no_order_if_nobody_looks(tmp_path: Path) -> None:
    result = check(tmp_path, "run(store_first, store_second)", "assert new_first < new_second")
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


@pytest.mark.parametrize("module", ["MADE", "types.ModuleType('other')"])
def test_variables_of_a_module_without_code_of_its_own_are_an_assumption(tmp_path: Path, module: str) -> None:
    result = check(
        tmp_path,
        f"module = {module}",
        "run(lambda: setattr(module, 'a', 1), lambda: setattr(module, 'b', 2))",
        "assert list(vars(module))[-2:] == ['a', 'b']",
    )
    assert result.verdict is Verdict.VERIFIED
    assert (AssumptionKind.UNSEEN_CODE, "builtins.module.__dict__") in {
        (one.kind, one.subject) for one in result.assumptions
    }
