"""queue, concurrent.futures, randomness and what cannot be controlled inside a model, on the fake kernel."""

from __future__ import annotations

import _thread
import concurrent.futures
import concurrent.futures.thread
import os
import queue
import random
import secrets
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import fake_kernel
import pytest
from fake_kernel import Explore, passes


def test_a_pool_runs_tasks_in_every_order(explore: Explore) -> None:
    orders: set[tuple[str, ...]] = set()

    def model() -> None:
        done: list[str] = []
        lock = threading.Lock()

        def task(name: str) -> str:
            with lock:
                done.append(name)
            return name

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(task, name) for name in "a"]
            assert [future.result() for future in futures] == ["a"]
        orders.add(tuple(done))

    passes(explore(model))
    assert orders == {("a",)}


def test_pools_leave_nothing_behind_for_the_interpreters_exit(explore: Explore) -> None:
    def model() -> None:
        pool = concurrent.futures.ThreadPoolExecutor(1)
        pool.submit(int)

    explore(model)
    assert not list(concurrent.futures.thread._threads_queues.items())  # type: ignore[attr-defined]
    assert isinstance(concurrent.futures.thread._global_shutdown_lock, _thread.LockType)  # type: ignore[attr-defined]


def test_a_queue_times_out_or_delivers(explore: Explore) -> None:
    seen: set[str] = set()

    def model() -> None:
        items: queue.Queue[str] = queue.Queue()
        thread = threading.Thread(target=items.put, args=("item",))
        thread.start()
        try:
            seen.add(items.get(timeout=0.3))
        except queue.Empty:
            seen.add("empty")

    passes(explore(model))
    assert seen == {"item", "empty"}


def test_a_barrier_releases_everyone(explore: Explore) -> None:
    def model() -> None:
        barrier = threading.Barrier(2)
        thread = threading.Thread(target=barrier.wait)
        thread.start()
        barrier.wait()
        thread.join()

    assert not any(outcome.blocked for outcome in passes(explore(model)))


def test_subclasses_of_primitives_are_controlled(explore: Explore) -> None:
    def model() -> None:
        class Flag(threading.Event):
            extra = 1

        flag = Flag()
        assert isinstance(flag, fake_kernel.Event)
        assert isinstance(flag, threading.Event)
        threading.Thread(target=flag.set).start()
        flag.wait()

    passes(explore(model))


def test_randomness_is_the_same_in_every_execution(explore: Explore) -> None:
    seen: set[tuple[Any, ...]] = set()

    def model() -> None:
        drawn: dict[str, Any] = {}

        def draw(name: str) -> None:
            drawn[name] = random.random(), os.urandom(4), random.Random().random()

        threads = [threading.Thread(target=draw, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        drawn["main"] = (
            random.randint(0, 10**9),
            secrets.token_hex(),
            uuid.uuid4(),
            random.SystemRandom().random(),
        )
        seen.add(tuple(sorted((name, str(value)) for name, value in drawn.items())))
        assert drawn["a"] != drawn["b"]

    assert len(passes(explore(model))) > 1
    assert len(seen) == 1


@pytest.mark.parametrize(
    "escape",
    [
        lambda: subprocess.run(["true"], check=False),
        lambda: os.fork(),
        lambda: os.system("true"),
        lambda: input(),
        lambda: os.waitpid(-1, 0),
        lambda: __import__("select").select([], [], [], 1),
        lambda: __import__("socket").create_connection(("127.0.0.1", 9)),
        lambda: __import__("socket").socketpair(),
        lambda: os.read(os.pipe()[0], 1),
        lambda: __import__("multiprocessing").Process(target=int).start(),
        lambda: __import__("multiprocessing").Lock(),
    ],
)
def test_what_cannot_be_controlled_is_reported(explore: Explore, escape: Callable[[], Any]) -> None:
    with pytest.raises(fake_kernel.Uncontrolled, match="cannot be controlled"):
        explore(escape)


def test_a_thread_started_in_native_code_is_reported(explore: Explore) -> None:
    import ctypes

    library = ctypes.CDLL(None)
    pause = ctypes.cast(library.usleep, ctypes.c_void_p)

    def model() -> None:
        thread = ctypes.c_ulong()
        library.pthread_create(ctypes.byref(thread), None, pause, ctypes.c_void_p(300_000))

    with pytest.raises(fake_kernel.Uncontrolled, match="native code"):
        explore(model)


def test_starting_a_bare_thread_is_controlled(explore: Explore) -> None:
    def model() -> None:
        done = threading.Event()
        ident = _thread.start_new_thread(done.set, ())
        done.wait()
        assert ident != _thread.get_ident()

    passes(explore(model))


def test_the_calendar_follows_the_models_clock(explore: Explore) -> None:
    import datetime

    def model() -> None:
        before = datetime.datetime.now(datetime.UTC)
        time.sleep(60)
        after = datetime.datetime.now(datetime.UTC)
        assert 60 <= (after - before).total_seconds() < 61
        assert after.timestamp() == time.time()
        assert isinstance(after, datetime.datetime)

    passes(explore(model))


def test_the_classes_of_dates_are_pythons_own(explore: Explore) -> None:
    import datetime

    classes = (datetime.date, datetime.datetime)
    methods = [vars(owner)[name] for owner, name in zip(classes, ("today", "now"), strict=True)]

    def model() -> None:
        assert (datetime.date, datetime.datetime) == classes
        assert type(datetime.datetime.now()) is classes[1]
        assert datetime.datetime.today().timestamp() == time.time()

    passes(explore(model))
    assert methods == [vars(owner)[name] for owner, name in zip(classes, ("today", "now"), strict=True)]
