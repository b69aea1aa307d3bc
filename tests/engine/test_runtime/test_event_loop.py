"""asyncio inside a model, on the fake kernel."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from fake_kernel import Explore, passes

from dpor.options import TaskOrder

Body = Callable[[], Coroutine[Any, Any, Any]]


def collect(
    explore: Explore, body: Body, samples: int = 0, task_order: TaskOrder = TaskOrder.LOOP
) -> set[Any]:
    """Every result that `body` has; all executions must end, none may fail."""
    results: set[Any] = set()

    def model() -> None:
        results.add(asyncio.run(body()))

    outcomes = passes(explore(model, samples, task_order))
    assert not any(outcome.blocked for outcome in outcomes)
    return results


def test_two_tasks_lose_an_update_only_if_they_await_in_between(explore: Explore) -> None:
    async def run(pause: Callable[[], Awaitable[None]] | None) -> int:
        count = 0

        async def increment() -> None:
            nonlocal count
            seen = count
            if pause is not None:
                await pause()
            count = seen + 1

        await asyncio.gather(increment(), increment())
        return count

    assert collect(explore, lambda: run(None), task_order=TaskOrder.ANY) == {2}
    for seconds in (0, 1):
        pause = functools.partial(asyncio.sleep, seconds)
        assert collect(explore, lambda pause=pause: run(pause), task_order=TaskOrder.ANY) == {1, 2}
        # The loop lets both begin before one goes on.
        assert collect(explore, lambda pause=pause: run(pause)) == {1}


def test_a_lock_keeps_the_update(explore: Explore) -> None:
    async def body() -> int:
        count = 0
        lock = asyncio.Lock()

        async def increment() -> None:
            nonlocal count
            async with lock:
                seen = count
                await asyncio.sleep(0)
                count = seen + 1

        await asyncio.gather(*(increment() for _ in range(2)))
        return count

    assert collect(explore, body) == {2}


def test_ready_tasks_go_in_every_order_if_asked_to_and_callbacks_in_theirs(explore: Explore) -> None:
    async def tasks() -> tuple[int, ...]:
        order: list[int] = []

        async def note(number: int) -> None:
            order.append(number)

        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(note(number))
        return tuple(order)

    async def callbacks() -> tuple[int, ...]:
        order: list[int] = []
        loop = asyncio.get_running_loop()
        for number in range(3):
            loop.call_soon(order.append, number)
        while len(order) < 3:
            future = loop.create_future()
            loop.call_soon(future.set_result, None)
            await future
        return tuple(order)

    assert len(collect(explore, tasks, task_order=TaskOrder.ANY)) == 6
    assert collect(explore, callbacks, task_order=TaskOrder.ANY) == {(0, 1, 2)}


def test_the_first_execution_is_the_one_that_the_standard_loop_would_give(explore: Explore) -> None:
    first: list[tuple[int, ...]] = []

    def model() -> None:
        async def main() -> None:
            order: list[int] = []

            async def note(number: int) -> None:
                order.append(number)
                await asyncio.sleep(0)
                order.append(number)

            await asyncio.gather(*(note(number) for number in range(3)))
            first.append(tuple(order))

        asyncio.run(main())

    passes(explore(model, task_order=TaskOrder.ANY))
    assert first[0] == (0, 1, 2, 0, 1, 2)
    assert len(first) == len(set(first)) == 90


def test_a_timeout_may_come_before_and_after_the_result(explore: Explore) -> None:
    async def by_wait_for() -> str:
        async def work() -> str:
            # Two rounds more than it takes the waiting task to hear of the timeout.
            for _ in range(3):
                await asyncio.sleep(0)
            return "done"

        try:
            return await asyncio.wait_for(work(), 1)
        except TimeoutError:
            return "timeout"

    async def by_timeout() -> str:
        try:
            async with asyncio.timeout(1):
                await asyncio.sleep(5)
                return "done"
        except TimeoutError:
            return "timeout"

    assert collect(explore, by_wait_for) == {"done", "timeout"}
    assert collect(explore, by_timeout) == {"done", "timeout"}


def test_sleeping_takes_virtual_time(explore: Explore) -> None:
    async def body() -> bool:
        start = asyncio.get_running_loop().time(), time.monotonic()
        await asyncio.sleep(5)
        return asyncio.get_running_loop().time() - start[0] >= 5 and time.monotonic() - start[1] >= 5

    assert collect(explore, body) == {True}


def test_queues_events_and_semaphores_work(explore: Explore) -> None:
    async def body() -> tuple[int, ...]:
        items: asyncio.Queue[int] = asyncio.Queue(1)
        taken: list[int] = []
        limit = asyncio.Semaphore(1)

        async def produce() -> None:
            for number in range(2):
                await items.put(number)

        async def consume() -> None:
            for _ in range(2):
                async with limit:
                    taken.append(await items.get())

        await asyncio.gather(produce(), consume())
        return tuple(taken)

    assert collect(explore, body) == {(0, 1)}


def test_cancelling_shield_and_wait_work(explore: Explore) -> None:
    async def body() -> tuple[bool, int, int]:
        async def work() -> int:
            await asyncio.sleep(1)
            return 1

        cancelled = asyncio.create_task(work())
        cancelled.cancel()
        done, pending = await asyncio.wait([cancelled, asyncio.create_task(work())])
        inner = asyncio.ensure_future(work())
        outer = asyncio.shield(inner)
        outer.cancel()
        await inner
        return cancelled.cancelled(), len(done), len(pending)

    assert collect(explore, body) == {(True, 2, 0)}


def test_a_thread_of_the_executor_interleaves_with_the_loop(explore: Explore) -> None:
    async def body() -> int:
        count = 0

        def read() -> int:
            return count

        pending = asyncio.create_task(asyncio.to_thread(read))
        await asyncio.sleep(0)
        await pending
        return threading.active_count()

    assert collect(explore, body, samples=200) == {2}


def test_a_coroutine_is_run_from_another_thread(explore: Explore) -> None:
    def model() -> None:
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        async def answer() -> str:
            assert threading.current_thread() is thread
            await asyncio.sleep(0)
            return "answer"

        assert asyncio.run_coroutine_threadsafe(answer(), loop).result() == "answer"
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    assert not any(outcome.blocked for outcome in passes(explore(model, samples=200)))


def test_two_threads_run_loops_of_their_own(explore: Explore) -> None:
    def model() -> None:
        async def main() -> asyncio.AbstractEventLoop:
            await asyncio.sleep(0)
            task = asyncio.current_task()
            assert task is not None
            assert task.get_loop() is asyncio.get_running_loop()
            return asyncio.get_running_loop()

        loops: list[asyncio.AbstractEventLoop] = []
        threads = [threading.Thread(target=lambda: loops.append(asyncio.run(main()))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert loops[0] is not loops[1]
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()

    passes(explore(model, samples=200))


def test_a_task_that_nobody_awaits_cannot_fail_unseen(explore: Explore) -> None:
    def model() -> None:
        async def main() -> None:
            async def fail() -> None:
                raise ValueError("unseen")

            task = asyncio.create_task(fail())
            await asyncio.sleep(0)
            assert task is not None

        asyncio.run(main())

    errors = {type(outcome.error) for outcome in explore(model)}
    assert ValueError in errors


def test_an_exception_in_a_callback_fails_the_model(explore: Explore) -> None:
    def model() -> None:
        async def main() -> None:
            asyncio.get_running_loop().call_soon(lambda: 1 // 0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        asyncio.run(main())

    assert ZeroDivisionError in {type(outcome.error) for outcome in explore(model)}


def test_an_await_that_nobody_answers_blocks_the_thread_of_the_loop(explore: Explore) -> None:
    waiting: list[str] = []

    def model() -> None:
        async def forever() -> None:
            loop: Any = asyncio.get_running_loop()
            waiting.extend(task.get_name() for task in loop.suspended_tasks())
            await loop.create_future()

        asyncio.run(forever())

    assert [outcome.blocked for outcome in passes(explore(model))] == [["main"]]
    assert waiting == ["Task-1"]


def test_a_thread_lock_held_across_an_await_blocks_the_whole_loop(explore: Explore) -> None:
    def model() -> None:
        async def main() -> None:
            lock = threading.Lock()

            async def hold() -> None:
                with lock:
                    await asyncio.sleep(0)

            await asyncio.gather(hold(), hold())

        asyncio.run(main())

    assert any(outcome.blocked for outcome in passes(explore(model)))


def test_context_variables_belong_to_tasks(explore: Explore) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    async def body() -> tuple[int, ...]:
        async def change(value: int) -> int:
            variable.set(value)
            await asyncio.sleep(0)
            return variable.get()

        return (*await asyncio.gather(change(1), change(2)), variable.get())

    assert collect(explore, body) == {(1, 2, 0)}


def test_call_soon_from_another_thread_is_an_error(explore: Explore) -> None:
    def model() -> None:
        async def main() -> None:
            loop = asyncio.get_running_loop()
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                posted = pool.submit(loop.call_soon, print)
            with pytest.raises(RuntimeError, match="Non-thread-safe operation"):
                posted.result()

        asyncio.run(main())

    passes(explore(model, samples=200))


def test_task_names_start_afresh_in_every_execution(explore: Explore) -> None:
    async def body() -> tuple[str, ...]:
        async def name() -> str:
            task = asyncio.current_task()
            assert task is not None
            return task.get_name()

        return tuple(await asyncio.gather(name(), name()))

    assert collect(explore, body) == {("Task-2", "Task-3")}


def test_futures_and_tasks_written_in_c_are_those_of_the_model(explore: Explore) -> None:
    async def give() -> int:
        await asyncio.sleep(0)
        return 1

    async def main() -> bool:
        import _asyncio

        native: Any = _asyncio
        future: Any = native.Future()
        kind: object = type(future)
        assert kind is asyncio.Future
        assert future.get_loop() is asyncio.get_running_loop()
        future.set_result(1)
        assert vars(asyncio.futures)["_CFuture"] is native.Future
        return bool(await native.Task(give()) == await future)

    assert collect(explore, main) == {True}
