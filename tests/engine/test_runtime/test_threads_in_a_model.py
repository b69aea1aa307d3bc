"""Threads, locals, timers and clocks inside a model, on the fake kernel."""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from typing import Any

import fake_kernel
import pytest
from fake_kernel import Explore, passes

from dpor.errors import DporError
from dpor.runtime.patching import Patches


def test_a_threads_target_runs_with_its_arguments(explore: Explore) -> None:
    def model() -> None:
        seen: list[Any] = []
        thread = threading.Thread(target=lambda *a, **k: seen.append((a, k)), args=(1,), kwargs={"b": 2})
        thread.start()
        thread.join()
        assert seen == [((1,), {"b": 2})]
        assert not thread.is_alive()

    passes(explore(model))


def test_thread_errors_are_worded_as_in_the_standard_library(explore: Explore) -> None:
    def model() -> None:
        thread = threading.Thread(target=lambda: None)
        with pytest.raises(RuntimeError, match=r"^cannot join thread before it is started$"):
            thread.join()
        thread.start()
        with pytest.raises(RuntimeError, match=r"^threads can only be started once$"):
            thread.start()
        with pytest.raises(RuntimeError, match=r"^cannot set daemon status of active thread$"):
            thread.daemon = True
        with pytest.raises(RuntimeError, match=r"^cannot join current thread$"):
            threading.current_thread().join()
        with pytest.raises(AssertionError, match=r"^group argument must be None for now$"):
            threading.Thread(group=1)  # type: ignore[arg-type]
        thread.join()

        class Unprepared(threading.Thread):
            def __init__(self) -> None:
                pass

        with pytest.raises(RuntimeError, match=r"^thread.__init__\(\) not called$"):
            Unprepared().start()

    passes(explore(model))


def test_names_daemon_flags_and_idents_are_as_in_the_standard_library(explore: Explore) -> None:
    def work() -> None:
        pass

    names: set[tuple[Any, ...]] = set()

    def model() -> None:
        first = threading.Thread(target=work)
        second = threading.Thread()
        third = threading.Thread(name="third", daemon=True)
        assert first.ident is None
        first.start()
        assert first.ident not in (None, threading.get_ident())
        names.add((first.name, second.name, third.name, first.ident, third.daemon, first.daemon))
        first.join()
        assert first.name == "Thread-1 (work)"
        assert threading.current_thread() is threading.main_thread()
        assert threading.current_thread().name == "MainThread"
        assert threading.enumerate() == [threading.main_thread()]

    passes(explore(model))
    assert len(names) == 1


def test_a_subclass_with_its_own_run_is_a_thread(explore: Explore) -> None:
    def model() -> None:
        class Worker(threading.Thread):
            result = 0

            def run(self) -> None:
                assert threading.current_thread() is self
                self.result = 42

        worker = Worker()
        worker.start()
        worker.join()
        assert worker.result == 42
        assert isinstance(worker, threading.Thread)

    passes(explore(model))


def test_an_exception_leaves_the_thread_and_system_exit_does_not(explore: Explore) -> None:
    def fail() -> None:
        raise ValueError("in thread")

    def model() -> None:
        threading.Thread(target=sys.exit).start()
        threading.Thread(target=fail).start()

    errors = {type(outcome.error) for outcome in explore(model)}
    assert errors == {ValueError}


def test_a_timed_join_may_give_up_and_takes_its_time(explore: Explore) -> None:
    seen: set[tuple[bool, bool]] = set()

    def model() -> None:
        event = threading.Event()
        thread = threading.Thread(target=event.wait)
        thread.start()
        start = time.monotonic()
        thread.join(0.5)
        seen.add((thread.is_alive(), time.monotonic() - start >= 0.5))
        event.set()

    explore(model)
    assert (True, True) in seen


def test_a_timer_may_fire_before_and_after_it_is_cancelled(explore: Explore) -> None:
    seen: set[tuple[str, ...]] = set()

    def model() -> None:
        fired: list[str] = []
        timer = threading.Timer(5, fired.append, ("fired",))
        timer.start()
        timer.cancel()
        timer.join()
        seen.add(tuple(fired))

    passes(explore(model))
    assert seen == {(), ("fired",)}


def test_locals_are_private_to_a_thread_and_initialised_in_each(explore: Explore) -> None:
    def model() -> None:
        class Values(threading.local):
            made = 0

            def __init__(self, start: int) -> None:
                self.value = start

        values = Values(7)
        seen: list[int] = []

        def work() -> None:
            seen.append(values.value)
            values.value += 1
            seen.append(values.value)

        threads = [threading.Thread(target=work) for _ in range(2)]
        values.value = 100
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen) == [7, 7, 8, 8]
        assert values.value == 100
        with pytest.raises(AttributeError):
            values.__dict__ = {}
        with pytest.raises(TypeError, match="Initialization arguments are not supported"):
            threading.local(1)

    passes(explore(model))


def test_sleeping_moves_the_clocks_of_the_sleeper_and_of_who_joins_it(explore: Explore) -> None:
    def model() -> None:
        before = time.time(), time.monotonic_ns()

        def work() -> None:
            start = time.monotonic()
            time.sleep(3)
            assert time.monotonic() - start >= 3

        thread = threading.Thread(target=work)
        thread.start()
        assert (time.time(), time.monotonic_ns()) == before
        thread.join()
        assert time.time() >= before[0] + 3
        assert time.monotonic_ns() >= before[1] + 3_000_000_000
        with pytest.raises(ValueError, match="sleep length must be non-negative"):
            time.sleep(-1)

    passes(explore(model))


def test_everything_is_put_back(explore: Explore) -> None:
    import random

    names = [(threading, name) for name in dir(threading)] + [(time, name) for name in dir(time)]
    names += [(random, name) for name in dir(random)]
    before = [getattr(module, name) for module, name in names]
    passes(explore(lambda: None))
    after = [getattr(module, name) for module, name in names]
    assert all(a is b or a == b for a, b in zip(before, after, strict=True))


def test_ordinary_threads_work_while_patched_and_threads_at_import_are_refused(
    host: fake_kernel.Host,
) -> None:
    with Patches(host, kernel=fake_kernel) as patches:
        results: list[int] = []
        thread = threading.Thread(target=lambda: results.append(1))
        thread.start()
        thread.join()
        assert not threading.Event().wait(0.001)
        assert not isinstance(threading.Lock(), fake_kernel.Lock)
        assert threading.current_thread() is threading.main_thread()
        with patches.importing():
            assert isinstance(threading.Lock(), fake_kernel.Lock)
            with pytest.raises(DporError, match="DPOR108"):
                threading.Thread(target=lambda: results.append(2)).start()
        assert results == [1]


def test_a_thread_begins_with_an_empty_context(explore: Explore) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    def model() -> None:
        assert variable.get() == 0
        variable.set(1)
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(variable.get()))
        thread.start()
        thread.join()
        assert seen == [0]

    passes(explore(model))
