"""Pools and futures as primitives: how many schedules they have, and where the library's own code runs."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.replay import replay_model
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict, ViolationKind

HEADER = """
import contextvars, threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait
import dpor

variable = contextvars.ContextVar("variable", default=0)
"""
MANY = 5_000


def check(tmp_path: Path, body: str, **options: object) -> ModelResult:
    model = "@dpor.model\ndef model():\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    (tmp_path / "model.py").write_text(HEADER + model)
    return check_model(CheckRequest("model.py", "model", str(tmp_path), options=options))


def few(result: ModelResult) -> int:
    """How many executions verify the model."""
    assert result.verdict is Verdict.VERIFIED, result.violations or result.reason
    return result.executions


def test_tasks_that_share_nothing_have_one_schedule(tmp_path: Path) -> None:
    body = """
        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(abs, [1, -2, -3])) == [1, 2, 3]
    """
    assert few(check(tmp_path, body)) == 1


def test_as_completed_sees_the_orders_of_what_ends_while_it_watches(tmp_path: Path) -> None:
    # Of three tasks k are done when it begins, in no order: 3! + 3 * 2! + 3 + 1.
    body = """
        with ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(abs, number) for number in range(3)]
            assert sorted(future.result() for future in as_completed(futures)) == [0, 1, 2]
    """
    assert few(check(tmp_path, body)) == 16


def test_waiting_for_all_futures_orders_nothing(tmp_path: Path) -> None:
    body = """
        with ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(abs, number) for number in range(3)]
            assert wait(futures).done == set(futures)
    """
    assert few(check(tmp_path, body)) == 1


def test_a_task_that_waits_for_a_place_begins_after_the_first_that_ends(tmp_path: Path) -> None:
    body = """
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(abs, range(3))) == [0, 1, 2]
    """
    assert few(check(tmp_path, body)) == 2


@pytest.mark.parametrize(
    "algorithm", ["optimal", "source", "exhaustive", "unfolding", "parsimonious", "graph"]
)
def test_tasks_of_one_worker_run_in_the_order_of_submission(tmp_path: Path, algorithm: str) -> None:
    body = """
        order = []
        with ThreadPoolExecutor(1) as pool:
            for number in range(2):
                pool.submit(order.append, number)
        assert order == [0, 1]
    """
    assert few(check(tmp_path, body, algorithm=algorithm))


def test_a_task_that_waits_for_one_behind_it_is_a_deadlock_for_one_worker(tmp_path: Path) -> None:
    body = """
        later = Future()
        with ThreadPoolExecutor({workers}) as pool:
            pool.submit(later.result)
            pool.submit(later.set_result, 1)
    """
    (violation,) = check(tmp_path, body.format(workers=1)).violations
    assert violation.kind is ViolationKind.DEADLOCK
    assert few(check(tmp_path, body.format(workers=2))) == 1


def test_a_cancel_and_the_begin_of_the_task_come_in_either_order(tmp_path: Path) -> None:
    body = """
        ran = []
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(ran.append, 1)
            cancelled = future.cancel()
        assert bool(ran) != cancelled
        assert {outcome}
    """
    # Before the task, while it runs, and after its end.
    assert few(check(tmp_path, body.format(outcome=True))) == 3
    for outcome in ("cancelled", "not cancelled"):
        assert check(tmp_path, body.format(outcome=outcome)).verdict is Verdict.VIOLATED


def test_a_violation_in_a_task_is_replayed(tmp_path: Path) -> None:
    body = """
        total = [0]
        def add():
            found = total[0]
            total[0] = found + 1
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(add) for _ in range(2)]
            for future in as_completed(futures):
                future.result()
        assert total == [2]
    """
    result = check(tmp_path, body)
    (violation,) = result.violations
    request = ReplayRequest("model.py", "model", str(tmp_path), schedule=violation.schedule)
    replayed = replay_model(request)
    assert replayed.divergence is None
    assert replayed.violation is not None
    assert replayed.violation.message == violation.message


@pytest.mark.parametrize(
    "options",
    [
        {"primitives": "library"},
        {"algorithm": "random", "seed": 3},
        {"races": "error"},
        {"algorithm": "value-centric"},
        {"algorithm": "graph"},
    ],
    ids=lambda options: " ".join(map(str, options.values())),
)
@pytest.mark.parametrize(
    "asked", ["as_completed(futures)", "wait(futures, return_when='FIRST_COMPLETED').done"]
)
def test_a_schedule_is_followed_whichever_primitives_it_was_found_with(
    tmp_path: Path, asked: str, options: dict[str, object]
) -> None:
    body = f"""
        seen = []
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(seen.append, number) for number in range(2)]
            for future in {asked}:
                future.result()
        assert seen == [0, 1]
    """
    (violation, *_) = check(tmp_path, body, **options).violations
    # A race breaks a model only where it is looked for.
    asked_for = {name: value for name, value in options.items() if name == "races"}
    request = ReplayRequest("model.py", "model", str(tmp_path), violation.schedule, options=asked_for)
    replayed = replay_model(request)
    assert replayed.divergence is None
    assert replayed.violation is not None


ASKING = {
    "the name of the thread": "threading.current_thread().name.startswith('ThreadPoolExecutor-0_')",
    "the number of the thread": "threading.get_ident() > 0",
    "how many threads there are": "threading.active_count() in (2, 3)",
    "data of the thread": "not hasattr(local, 'seen') and setattr(local, 'seen', True) is None",
    "a variable that it leaves behind": "variable.set(variable.get() + 1) is not None and variable.get() in (1, 2)",
    "a lock that it keeps": "lock.acquire() and lock.acquire() and lock.release() is None",
}


@pytest.mark.parametrize("asked", ASKING)
def test_what_tells_workers_apart_runs_on_the_code_of_the_library(tmp_path: Path, asked: str) -> None:
    body = f"""
        local, lock = threading.local(), threading.RLock()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(lambda: {ASKING[asked]})
            assert future.result()
    """
    found, library = (check(tmp_path, body, primitives=name) for name in ("kernel", "library"))
    assert (found.verdict, found.executions) == (library.verdict, library.executions)
    assert found.verdict is Verdict.VERIFIED


def test_two_tasks_of_one_worker_share_the_data_of_its_thread(tmp_path: Path) -> None:
    body = """
        local = threading.local()
        def count():
            local.count = getattr(local, "count", 0) + 1
            return local.count
        with ThreadPoolExecutor(1) as pool:
            assert [pool.submit(count).result() for _ in range(2)] == [1, 2]
    """
    assert few(check(tmp_path, body)) > 1


INSIDE = {
    "the threads": "len(pool._threads) == 1",
    "the lock of a future": "future._condition is not None and future.result() == 1",
    "the state of a future": "future.result() == 1 and future._state == 'FINISHED'",
    "the first that ends": "len(wait([future], return_when=FIRST_COMPLETED).done) == 1",
    "a wait with a limit": "len(wait([future], timeout=None).done) == 1 and wait([future], timeout=1) is not None",
    "the end with what is cancelled": "pool.shutdown(cancel_futures=True) is None",
}


@pytest.mark.parametrize("looked", INSIDE)
def test_what_is_inside_is_that_of_the_library(tmp_path: Path, looked: str) -> None:
    body = f"""
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(abs, -1)
            assert {INSIDE[looked]}
    """
    found, library = (check(tmp_path, body, primitives=name) for name in ("kernel", "library"))
    assert (found.verdict, found.executions) == (library.verdict, library.executions)
    assert found.verdict is Verdict.VERIFIED


def test_a_pool_with_an_initializer_runs_it_once_a_worker(tmp_path: Path) -> None:
    body = """
        begun = []
        with ThreadPoolExecutor(1, initializer=lambda: begun.append(1)) as pool:
            pool.submit(abs, 1)
            pool.submit(abs, 2)
        assert begun == [1]
    """
    assert few(check(tmp_path, body, max_executions=MANY)) > 1


@pytest.mark.parametrize("primitives", ["kernel", "library"])
def test_a_predicate_that_asks_a_future_is_refused(tmp_path: Path, primitives: str) -> None:
    body = """
        future = Future()
        dpor.spawn(future.set_result, 1)
        dpor.wait_until(lambda: future.done())
    """
    with pytest.raises(DporError) as caught:
        check(tmp_path, body, primitives=primitives)
    assert caught.value.code is Code.PREDICATE


def test_a_pool_that_is_shut_down_takes_no_task(tmp_path: Path) -> None:
    body = """
        pool = ThreadPoolExecutor(2)
        pool.shutdown()
        try:
            pool.submit(abs, 1)
        except RuntimeError as error:
            assert str(error) == "cannot schedule new futures after shutdown"
        else:
            assert False
    """
    assert few(check(tmp_path, body)) == 1


def test_a_result_that_is_there_twice_is_refused_as_the_library_does(tmp_path: Path) -> None:
    body = """
        future = Future()
        threads = [threading.Thread(target=attempt) for attempt in [lambda: attempts.append(end(future))] * 2]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert sorted(attempts) == ["FINISHED: <Future at", "ended"]
    """
    top = """
        attempts = []
        def end(future):
            try:
                future.set_result(1)
            except Exception as error:
                return str(error)[:20]
            return "ended"
    """
    # Either thread ends it, and either is the first to say so.
    assert few(check(tmp_path, textwrap.dedent(top) + textwrap.dedent(body))) == 4
