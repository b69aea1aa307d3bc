"""The model API outside of a check, and on the fake kernel inside of one."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import dpor
from dpor.codes import Code
from dpor.errors import DporError
from dpor.model import options_of
from dpor.options import (
    OPTIONS,
    Algorithm,
    Expectation,
    MemoryModel,
    ModelOptions,
    Races,
    check_options,
    override,
)


def test_a_model_is_the_function_itself_and_carries_its_options() -> None:
    def function(size: int = 2) -> int:
        return size

    assert dpor.model(function) is function
    assert options_of(function) == ModelOptions()
    marked = dpor.model(
        memory_model="tso", algorithm="source", timeout=3, expect="violated", instrument=["a"]
    )(function)
    assert marked is function
    assert function(5) == 5
    assert options_of(function) == ModelOptions(
        memory_model=MemoryModel.TSO,
        algorithm=Algorithm.SOURCE,
        timeout=3,
        expect=Expectation.VIOLATED,
        instrument=("a",),
    )
    assert options_of(len) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algoritm": "optimal"}, "did you mean 'algorithm'"),
        ({"algorithm": "optimale"}, "did you mean 'optimal'"),
        ({"memory_model": "x86"}, "sc, tso, pso, rc11"),
        ({"max_executions": 0}, "at least 1"),
        ({"max_steps": True}, "an integer"),
        ({"max_steps": None}, "an integer"),
        ({"timeout": 0}, "more than 0"),
        ({"timeout": float("nan")}, "at least 0"),
        ({"timeout": "1"}, "a number of seconds"),
        ({"spurious_wakeups": 1}, "True or False"),
        ({"instrument": 3}, "names"),
        ({"instrument": ("a", "")}, "names"),
    ],
)
def test_a_wrong_option_is_refused_where_it_is_written(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DporError, match=message) as caught:
        dpor.model(**options)
    assert caught.value.code is Code.BAD_OPTION


def test_only_functions_are_models() -> None:
    with pytest.raises(DporError) as caught:
        dpor.model(3)  # type: ignore[type-var]
    assert caught.value.code is Code.UNSUPPORTED_CONSTRUCT


def test_options_have_a_text_form_and_can_be_overridden() -> None:
    assert OPTIONS["timeout"].parse("2.5") == 2.5
    assert OPTIONS["races"].parse("error") is Races.ERROR
    assert OPTIONS["max_executions"].parse("none") is None
    assert OPTIONS["instrument"].parse("a, b") == ("a", "b")
    assert OPTIONS["spurious_wakeups"].parse("true") is True
    with pytest.raises(DporError, match="an integer"):
        OPTIONS["k"].parse("many")
    options = check_options({"seed": 3, "algorithm": "source"})
    assert override(options, {"algorithm": "optimal"}) == ModelOptions(seed=3)
    assert [option.default for option in OPTIONS.values()] == [
        getattr(ModelOptions(), name) for name in OPTIONS
    ]


def test_the_algorithms_are_those_of_the_kernel() -> None:
    kernel = pytest.importorskip("dpor._kernel")
    # PCT is the kernel's random explorer with a depth.
    assert {algorithm.value for algorithm in Algorithm} == {*kernel.Host.algorithms(), "pct"}


def test_an_option_of_another_algorithm_is_refused_rather_than_ignored() -> None:
    assert check_options({"k": None}) == check_options({"k": "optimal"}) == ModelOptions()
    assert OPTIONS["k"].parse("optimal") is None
    assert check_options({"k": 2, "algorithm": "unfolding"}).k == 2
    for call in (lambda: check_options({"k": 2}), lambda: override(ModelOptions(), {"k": 2})):
        with pytest.raises(DporError, match="has no k") as caught:
            call()
        assert caught.value.code is Code.BAD_OPTION


def test_spawn_and_join_all_use_real_threads_outside_of_a_check() -> None:
    seen: list[Any] = []
    threads = [
        dpor.spawn(lambda value: seen.append((value, threading.current_thread())), n) for n in range(2)
    ]
    dpor.join_all()
    dpor.join_all()
    assert sorted(value for value, _ in seen) == [0, 1]
    assert {thread for _, thread in seen} == set(threads)


def test_a_failed_assumption_ends_a_real_thread_silently(capfd: pytest.CaptureFixture[str]) -> None:
    reached: list[int] = []

    def work() -> None:
        dpor.assume(True)
        reached.append(1)
        dpor.assume(False)
        reached.append(2)

    dpor.spawn(work)
    dpor.join_all()
    assert reached == [1]
    assert capfd.readouterr() == ("", "")


def test_waiting_and_choosing_outside_of_a_check() -> None:
    flag = threading.Event()
    dpor.spawn(flag.set)
    dpor.wait_until(flag.is_set)
    dpor.join_all()
    assert dpor.choose("abc") in "abc"
    assert dpor.choose(x for x in [7]) == 7
    assert dpor.nondet_bool("flag") in (False, True)
    assert 3 <= dpor.nondet_int("n", 3, 4) <= 4
    assert dpor.nondet_int(low=10**12) >= 10**12
    assert dpor.nondet_int(high=-(10**12)) <= -(10**12)
    with pytest.raises(ValueError, match="at least one option"):
        dpor.choose([])
    with pytest.raises(ValueError, match="no integer"):
        dpor.nondet_int(low=2, high=1)


def test_atomic_operations_outside_of_a_check() -> None:
    cell = dpor.Atomic(5)
    assert cell.load(order="acquire") == 5
    cell.store(6, order="release")
    assert cell.exchange(7) == 6
    assert cell.compare_exchange(7, 8)
    assert not cell.compare_exchange(7, 9)
    assert (cell.fetch_add(4), cell.fetch_sub(2), cell.fetch_or(1), cell.fetch_and(3)) == (8, 12, 10, 11)
    cell.value += 1
    assert cell.value == 4
    dpor.fence(order="acq_rel")
    with pytest.raises(ValueError, match="seq_cst, acquire, relaxed"):
        cell.load(order="release")
    with pytest.raises(ValueError, match="order 'sc' is not one of"):
        dpor.fence(order="sc")


def test_importing_dpor_brings_in_nothing_heavy() -> None:
    heavy = (
        "typing asyncio concurrent.futures random logging inspect dataclasses importlib.metadata dpor.results"
    )
    code = f"import sys, dpor; print([name for name in {heavy.split()!r} if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_the_version_is_known() -> None:
    assert isinstance(dpor.__version__, str)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        dpor.missing  # type: ignore[attr-defined]  # noqa: B018
