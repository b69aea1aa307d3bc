"""Barriers as primitives: how many schedules they have, and where the library's own code runs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.counterexample.replay import replay_model
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict, Violation

HEADER = """
import copy, threading
from concurrent.futures import ThreadPoolExecutor
import dpor

def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
ALGORITHMS = ["optimal", "source", "unfolding", "parsimonious", "graph", "concolic"]


def check(tmp_path: Path, body: str, header: str = "", **options: object) -> ModelResult:
    model = "@dpor.model\ndef model():\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    (tmp_path / "model.py").write_text(HEADER + textwrap.dedent(header) + model)
    return check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))


def few(result: ModelResult) -> int:
    """How many executions verify the model."""
    assert result.verdict is Verdict.VERIFIED, result.violations or result.reason
    return result.executions


def violation(result: ModelResult) -> Violation:
    assert result.verdict is Verdict.VIOLATED, result.reason
    return result.violations[0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_threads_that_meet_come_in_no_order(tmp_path: Path, algorithm: str) -> None:
    body = """
        barrier, arrived = threading.Barrier(4), [0] * 4
        def work(number):
            arrived[number] = 1
            barrier.wait()
            assert sum(arrived) == 4
        run(*[lambda number=number: work(number) for number in range(4)])
    """
    executions = few(check(tmp_path, body, algorithm=algorithm))
    # Where a primitive is one location for the explorer, those who come are ordered.
    assert executions == (1 if algorithm in ("optimal", "source", "unfolding") else 24)


def test_threads_may_meet_many_times(tmp_path: Path) -> None:
    body = """
        barrier, turn = threading.Barrier(3), [0]
        def work(number):
            for other in range(3):
                if number == other:
                    assert turn[0] == other
                    turn[0] += 1
                barrier.wait()
        run(*[lambda number=number: work(number) for number in range(3)])
        assert turn == [3]
    """
    assert few(check(tmp_path, body)) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_places_of_threads_are_those_of_their_order(tmp_path: Path, algorithm: str) -> None:
    body = """
        barrier, places = threading.Barrier(3), [0] * 3
        def work(number):
            places[number] = barrier.wait()
        run(*[lambda number=number: work(number) for number in range(3)])
        assert sorted(places) == [0, 1, 2]
        assert places != [1, 2, 0]
    """
    assert violation(check(tmp_path, body, algorithm=algorithm)).code.value == "DPOR201"
    assert few(check(tmp_path, body.replace("assert places !=", "places !="), algorithm=algorithm)) == 6


@pytest.mark.parametrize(
    "use",
    [
        "places = [barrier.wait()]",
        "if not barrier.wait(): places.append(0)",
        "places.append(barrier.wait())",
        "places.extend(map(threading.Barrier.wait, [barrier]))",
        "list(map(places.append, map(lambda one: one.wait(), [barrier])))",
        "found = barrier.wait; places.append(found())",
        "getattr(barrier, 'wait')() or places.append(0)",
    ],
)
def test_a_place_is_seen_in_whatever_way_it_is_looked_at(tmp_path: Path, use: str) -> None:
    body = f"""
        barrier, firsts = threading.Barrier(2), []
        def work(number):
            places = []
            {use}
            if places == [0]:
                firsts.append(number)
        run(lambda: work(0), lambda: work(1))
        assert firsts == [0]
    """
    assert violation(check(tmp_path, body)).code.value == "DPOR201"


def test_what_follows_a_meeting_is_ordered_with_nothing(tmp_path: Path) -> None:
    body = """
        barrier, counts = threading.Barrier(2), [0]
        def work():
            barrier.wait()
            counts[0] += 1
        run(work, work)
        assert counts[0] == 2
    """
    found = check(tmp_path, body)
    schedule = violation(found).schedule or ""
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), schedule))
    assert replayed.violation is not None
    assert not replayed.divergence


def test_a_barrier_that_too_few_come_to_is_a_deadlock_that_names_it(tmp_path: Path) -> None:
    body = """
        barrier = threading.Barrier(3)
        def work():
            barrier.wait()
        run(work, work)
    """
    found = violation(check(tmp_path, body))
    assert found.code.value == "DPOR203"
    assert sorted(wait.operation for wait in found.waiting) == ["join", "meet", "meet"]


# What only the library's own code can do, in one of two threads of which the other waits; the verdict as in CPython.
INSIDES = {
    "abort": ("barrier.abort()", "broken"),
    "reset": ("barrier.reset()", "either"),
    "a time limit": ("attempt(lambda: barrier.wait(timeout=1))", "either"),
    "a time limit in a statement": (
        "try: barrier.wait(timeout=1)\n            except threading.BrokenBarrierError: pass",
        "either",
    ),
    "a time limit by position": (
        "try: barrier.wait(1)\n            except threading.BrokenBarrierError: pass",
        "either",
    ),
    "n_waiting": ("barrier.n_waiting; attempt(barrier.wait)", "met"),
    "the text": ("repr(barrier); attempt(barrier.wait)", "met"),
    "the condition": ("barrier._cond.acquire(); barrier._cond.release(); attempt(barrier.wait)", "met"),
    "a copy of the state": ("barrier.__getstate__(); attempt(barrier.wait)", "met"),
    "broken": ("assert not barrier.broken; attempt(barrier.wait)", "met"),
}


@pytest.mark.parametrize("use", INSIDES)
@pytest.mark.parametrize("algorithm", ["optimal", "graph"])
def test_what_only_the_library_can_do_runs_on_its_code(tmp_path: Path, use: str, algorithm: str) -> None:
    statement, outcome = INSIDES[use]
    body = f"""
        barrier, met = threading.Barrier(2), []
        def attempt(wait):
            try:
                wait()
                met.append(True)
            except threading.BrokenBarrierError:
                met.append(False)
        def other():
            {statement}
        run(lambda: attempt(lambda: barrier.wait()), other)
        assert {{"broken": met == [False], "either": True, "met": met == [True, True]}}[{outcome!r}]
    """
    result = check(tmp_path, body, algorithm=algorithm)
    if use == "reset":
        # Who comes after it waits for ever.
        assert violation(result).code.value == "DPOR203"
    else:
        assert few(result) >= 1


def test_more_threads_than_meet_run_on_the_librarys_code(tmp_path: Path) -> None:
    body = """
        barrier, met = threading.Barrier(2), []
        def work(number):
            barrier.wait()
            met.append(number)
        run(*[lambda number=number: work(number) for number in range({count})])
        assert len(met) == {count}
    """
    assert violation(check(tmp_path, body.format(count=3))).code.value == "DPOR203"
    assert few(check(tmp_path, body.format(count=2))) == 2


@pytest.mark.parametrize(
    "made",
    [
        "threading.Barrier(2, action=lambda: acted.append(1))",
        "Own(2)",
        "threading.Barrier(2, timeout=None)",
        "threading.Barrier(parties=2)",
        "copy.copy(threading.Barrier)(2)",
        "MADE_BEFORE",
    ],
)
def test_barriers_of_all_kinds_let_threads_meet(tmp_path: Path, made: str) -> None:
    header = """
        class Own(threading.Barrier):
            def wait(self, timeout=None):
                return super().wait(timeout)

        MADE_BEFORE = threading.Barrier(2)
    """
    body = f"""
        acted, arrived = [], [0, 0]
        barrier = {made}
        def work(number):
            arrived[number] = 1
            barrier.wait()
            assert sum(arrived) == 2
            barrier.wait()
            arrived[number] = 0
        run(lambda: work(0), lambda: work(1))
        assert acted in ([], [1, 1]) and arrived == [0, 0]
    """
    assert few(check(tmp_path, body, header)) >= 1


def test_tasks_of_a_pool_may_meet(tmp_path: Path) -> None:
    body = """
        barrier, met = threading.Barrier(2), []
        def work(number):
            met.append(number)
            barrier.wait()
            assert len(met) == 2
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(2)))
    """
    assert few(check(tmp_path, body)) == 2


def test_a_thread_may_meet_itself(tmp_path: Path) -> None:
    body = """
        barrier = threading.Barrier(1)
        assert [barrier.wait() for _ in range(3)] == [0, 0, 0]
        barrier.wait()
        assert not barrier.broken and barrier.parties == 1
    """
    assert few(check(tmp_path, body)) == 1


@pytest.mark.parametrize("changed", ["barrier.wait", "threading.Barrier.wait"])
def test_a_method_that_is_put_in_its_place_is_called(tmp_path: Path, changed: str) -> None:
    body = f"""
        barrier, called = threading.Barrier(2), []
        {changed} = lambda *arguments: called.append(1)
        barrier.wait()
        barrier.wait()
        assert called == [1, 1]
    """
    assert few(check(tmp_path, body)) == 1


@pytest.mark.parametrize("primitives", ["kernel", "library"])
def test_wrong_arguments_raise_what_the_library_raises(tmp_path: Path, primitives: str) -> None:
    body = """
        barrier, told = threading.Barrier(1), []
        try:
            barrier.wait(1, 2)
        except TypeError as error:
            told.append(str(error))
        try:
            barrier.wait(limit=1)
        except TypeError as error:
            told.append(str(error))
        assert told == [
            "Barrier.wait() takes from 1 to 2 positional arguments but 3 were given",
            "Barrier.wait() got an unexpected keyword argument 'limit'",
        ], told
        barrier.wait(timeout=None)
        barrier.wait(None)
    """
    assert few(check(tmp_path, body, primitives=primitives)) == 1


@pytest.mark.parametrize("primitives", ["kernel", "library"])
def test_a_copy_of_its_state_shows_what_the_library_keeps(tmp_path: Path, primitives: str) -> None:
    body = """
        barrier = threading.Barrier(1)
        assert sorted(barrier.__getstate__()) == ["_action", "_cond", "_count", "_parties", "_state", "_timeout"]
    """
    assert few(check(tmp_path, body, primitives=primitives)) == 1
