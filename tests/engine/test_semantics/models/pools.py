"""concurrent.futures.ThreadPoolExecutor, without asyncio."""

import concurrent.futures
import threading
from concurrent.futures import ThreadPoolExecutor

from outcomes import outcome

import dpor

EXPECTED = {
    "submit_and_result": "verified",
    "map_keeps_the_order": "verified",
    "map_raises_at_its_place": "verified",
    "as_completed": ["0 1", "1 0"],
    "wait_for_the_first": ["0", "1", "0 1"],
    "exception_in_a_task": ["DPOR202 ValueError: bad"],
    "exception_that_is_looked_at": "verified",
    "exception_that_nobody_asks_for": "verified",
    "assertion_in_a_map_that_nobody_reads": ["DPOR201 assertion failed: 0"],
    "pool_without_shutdown": "verified",
    "module_level_pool": "verified",
    "tasks_finish_after_the_model": ["DPOR201 assertion failed: late"],
    "assertion_in_a_task": ["DPOR201 assertion failed: wrong"],
    "shutdown_waits": "verified",
    "submit_after_shutdown": ["DPOR202 RuntimeError: cannot schedule new futures after shutdown"],
    "nested_pools": "verified",
    "pool_that_waits_for_itself": ["deadlock"],
    "cancel_races_with_the_start": ["True", "False"],
    "result_with_timeout": ["TimeoutError", "1"],
    "done_callback": "verified",
    "worker_names": "verified",
    "initializer": "verified",
    "lost_update_between_two_tasks": ["1", "2"],
    "one_worker_runs_one_task_at_a_time": "verified",
}
COUNTS = {}


@dpor.model
def submit_and_result():
    with ThreadPoolExecutor(max_workers=1) as pool:
        assert pool.submit(pow, 2, 3).result() == 8


@dpor.model
def map_keeps_the_order():
    with ThreadPoolExecutor(max_workers=2) as pool:
        assert list(pool.map(lambda x: x * x, [1, 2])) == [1, 4]


@dpor.model
def map_raises_at_its_place():
    with ThreadPoolExecutor(max_workers=1) as pool:
        results = pool.map(lambda x: 1 // x, [1, 0])
        assert next(results) == 1
        try:
            next(results)
        except ZeroDivisionError:
            return
    raise AssertionError("no error")


@dpor.model
def as_completed():
    with ThreadPoolExecutor(max_workers=2) as pool:
        futures = {pool.submit(lambda: None): number for number in range(2)}
        order = [futures[future] for future in concurrent.futures.as_completed(futures)]
    outcome(*order)


@dpor.model
def wait_for_the_first():
    with ThreadPoolExecutor(max_workers=2) as pool:
        futures = {pool.submit(lambda: None): number for number in range(2)}
        done, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED)
        numbers = sorted(futures[future] for future in done)
    outcome(*numbers)


def _fail():
    raise ValueError("bad")


@dpor.model
def exception_in_a_task():
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(_fail).result()


@dpor.model
def exception_that_is_looked_at():
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(_fail)
    assert str(future.exception()) == "bad"


@dpor.model
def assertion_in_a_task():
    def check():
        raise AssertionError("wrong")

    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(check).result()


@dpor.model
def shutdown_waits():
    done = []
    pool = ThreadPoolExecutor(max_workers=1)
    pool.submit(done.append, 1)
    pool.shutdown()
    assert done == [1]


@dpor.model
def submit_after_shutdown():
    pool = ThreadPoolExecutor(max_workers=1)
    pool.shutdown()
    pool.submit(print)


@dpor.model
def nested_pools():
    def outer():
        with ThreadPoolExecutor(max_workers=1) as inner:
            return inner.submit(lambda: 7).result()

    with ThreadPoolExecutor(max_workers=1) as pool:
        assert pool.submit(outer).result() == 7


@dpor.model
def pool_that_waits_for_itself():
    pool = ThreadPoolExecutor(max_workers=1)
    pool.submit(lambda: pool.submit(lambda: 1).result()).result()


@dpor.model
def cancel_races_with_the_start():
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(lambda: None)
        cancelled = future.cancel()
    assert cancelled == future.cancelled()
    outcome(cancelled)


@dpor.model
def result_with_timeout():
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(lambda: 1)
        try:
            found = future.result(timeout=1)
        except concurrent.futures.TimeoutError:
            found = "TimeoutError"
    outcome(found)


@dpor.model
def done_callback():
    seen = []
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(lambda: 3).add_done_callback(lambda future: seen.append(future.result()))
    assert seen == [3]


@dpor.model
def worker_names():
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="hand") as pool:
        assert pool.submit(lambda: threading.current_thread().name).result() == "hand_0"
    with ThreadPoolExecutor(max_workers=1) as pool:
        assert pool.submit(lambda: threading.current_thread().name).result() == "ThreadPoolExecutor-0_0"


@dpor.model
def initializer():
    started = []
    with ThreadPoolExecutor(max_workers=1, initializer=started.append, initargs=(1,)) as pool:
        assert pool.submit(lambda: list(started)).result() == [1]


@dpor.model
def lost_update_between_two_tasks():
    total = 0

    def add():
        nonlocal total
        total += 1

    with ThreadPoolExecutor(max_workers=2) as pool:
        pool.submit(add)
        pool.submit(add)
    outcome(total)


@dpor.model
def one_worker_runs_one_task_at_a_time():
    total = 0

    def add():
        nonlocal total
        total += 1

    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(add)
        pool.submit(add)
    assert total == 2


@dpor.model
def exception_that_nobody_asks_for():
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(_fail)


@dpor.model
def assertion_in_a_map_that_nobody_reads():
    def check(number):
        assert number, number

    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.map(check, [1, 0])


@dpor.model
def pool_without_shutdown():
    pool = ThreadPoolExecutor(max_workers=1)
    assert pool.submit(pow, 2, 2).result() == 4
    pool.myself = pool


POOL = ThreadPoolExecutor(max_workers=1)


@dpor.model
def module_level_pool():
    assert POOL.submit(pow, 2, 2).result() == 4
    POOL.submit(_fail)


@dpor.model
def tasks_finish_after_the_model():
    def check():
        raise AssertionError("late")

    pool = ThreadPoolExecutor(max_workers=1)
    pool.submit(check)
