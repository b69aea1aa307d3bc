"""The orders that asyncio promises: a model comes to what plain asyncio comes to, and to nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from fake_kernel import Explore, passes

Log = list[Any]
Body = Callable[[Log], Coroutine[Any, Any, None]]
BODIES: dict[str, Body] = {}


def body(function: Body) -> Body:
    """Add a program, which writes down what it does."""
    BODIES[function.__name__] = function
    return function


async def steps(log: Log, name: str, number: int = 3) -> str:
    for step in range(number):
        log.append((name, step))
        await asyncio.sleep(0)
    return name


@body
async def tasks_take_turns(log: Log) -> None:
    log.append(await asyncio.gather(steps(log, "a"), steps(log, "b", 2), steps(log, "c")))


@body
async def callbacks_and_tasks_share_one_row(log: Log) -> None:
    loop = asyncio.get_running_loop()
    loop.call_soon(log.append, "first")
    task = asyncio.create_task(steps(log, "task"))
    loop.call_soon(lambda: (log.append("second"), loop.call_soon(log.append, "third")))
    other = asyncio.create_task(steps(log, "other"))
    await asyncio.wait({task, other})


@body
async def waiters_of_an_event_wake_in_their_order(log: Log) -> None:
    event = asyncio.Event()

    async def wait(name: str) -> None:
        await event.wait()
        await steps(log, name, 2)

    waiting = [asyncio.create_task(wait(name)) for name in "abc"]
    await asyncio.sleep(0)
    event.set()
    log.append("set")
    await asyncio.gather(*waiting)


@body
async def a_lock_goes_to_who_came_first(log: Log) -> None:
    lock = asyncio.Lock()

    async def work(name: str) -> None:
        async with lock:
            await steps(log, name, 2)
        async with lock:
            log.append(name)

    await asyncio.gather(*(work(name) for name in "abc"))


@body
async def a_queue_serves_in_order(log: Log) -> None:
    items: asyncio.Queue[int] = asyncio.Queue(maxsize=1)

    async def take(name: str) -> None:
        log.append((name, await items.get()))
        items.task_done()

    async def put(number: int) -> None:
        await items.put(number)
        log.append(number)

    takers = [asyncio.create_task(take(name)) for name in "abc"]
    await asyncio.gather(*(put(number) for number in range(3)))
    await items.join()
    await asyncio.gather(*takers)


@body
async def semaphores_and_conditions_serve_in_order(log: Log) -> None:
    semaphore, condition = asyncio.Semaphore(2), asyncio.Condition()

    async def work(name: str) -> None:
        async with semaphore:
            await steps(log, name, 2)
        async with condition:
            await condition.wait()
            log.append(name)

    working = [asyncio.create_task(work(name)) for name in "abcd"]
    while len(log) < 8 or not condition._waiters or len(condition._waiters) < 4:  # type: ignore[attr-defined]
        await asyncio.sleep(0)
    async with condition:
        condition.notify(2)
    async with condition:
        condition.notify_all()
    await asyncio.gather(*working)


@body
async def results_come_as_tasks_end(log: Log) -> None:
    tasks = [asyncio.create_task(steps(log, "abc"[number], 3 - number)) for number in range(3)]
    for next_one in asyncio.as_completed(tasks):
        log.append(await next_one)


@body
async def the_first_is_the_first(log: Log) -> None:
    tasks = [asyncio.create_task(steps(log, name, 2)) for name in "ab"]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    log.append((sorted(task.result() for task in done), len(pending)))
    await asyncio.wait(tasks)


@body
async def done_callbacks_run_in_their_order(log: Log) -> None:
    task = asyncio.create_task(steps(log, "task", 1))
    for name in "abc":
        task.add_done_callback(lambda done, name=name: log.append(name))
    log.append(await task)
    await asyncio.sleep(0)


@body
async def a_cancelled_task_hears_of_it_in_its_turn(log: Log) -> None:
    async def wait(name: str) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            log.append(name)

    tasks = [asyncio.create_task(wait(name)) for name in "abc"]
    other = asyncio.create_task(steps(log, "other"))
    await asyncio.sleep(0)
    for task in reversed(tasks):
        task.cancel()
    log.append(await asyncio.gather(other, *tasks, return_exceptions=True))


@body
async def a_group_ends_with_its_last_task(log: Log) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(steps(log, name, 3))
            await asyncio.sleep(0)
            group.create_task(fail(log))
    except ExceptionGroup as errors:
        log.append([str(error) for error in errors.exceptions])


async def fail(log: Log) -> None:
    log.append("fails")
    raise ValueError("failed")


@body
async def timers_keep_their_order(log: Log) -> None:
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.call_soon(log.append, "soon")
    loop.call_later(0.01, log.append, 1)
    loop.call_later(0.01, log.append, 2)
    now = loop.time()
    loop.call_at(now + 0.02, log.append, 3)
    cancelled = loop.call_at(now + 0.03, log.append, 4)
    loop.call_at(now + 0.04, ended.set_result, 5)
    cancelled.cancel()
    log.append(await ended)


@body
async def what_a_timer_schedules_comes_behind_it(log: Log) -> None:
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def over() -> None:
        log.append("over")
        loop.call_soon(log.append, "then")
        ended.set_result("ended")

    loop.call_later(0.01, over)
    log.append(await ended)
    log.append("on")


def run(function: Body) -> Log:
    log: Log = []
    asyncio.run(function(log))
    return log


@pytest.mark.parametrize("name", BODIES)
def test_a_program_comes_to_what_asyncio_promises(explore: Explore, name: str) -> None:
    function = BODIES[name]
    expected = run(function)
    found: list[Log] = []
    passes(explore(lambda: found.append(run(function))))
    assert [log for log in found if repr(log) != repr(expected)] == []


def logs_of(explore: Explore, function: Body) -> set[str]:
    found: set[str] = set()
    passes(explore(lambda: found.add(" ".join(map(str, run(function))))))
    return found


def test_sleepers_wake_in_any_order_and_between_all_rounds(explore: Explore) -> None:
    async def sleepers(log: Log) -> None:
        async def sleep(seconds: int) -> None:
            await asyncio.sleep(seconds)
            log.append(seconds)

        await asyncio.gather(sleep(1), sleep(2))

    async def sleeper(log: Log) -> None:
        async def sleep() -> None:
            await asyncio.sleep(1)
            log.append("woke")

        async def go_on() -> None:
            for step in range(4):
                log.append(step)
                await asyncio.sleep(0)

        await asyncio.gather(sleep(), go_on())

    assert logs_of(explore, sleepers) == {"1 2", "2 1"}
    # Its time can have come when the round of 1 begins; what it wakes then follows those of the next round.
    assert logs_of(explore, sleeper) == {"0 1 2 woke 3", "0 1 2 3 woke"}


def test_a_later_timer_that_was_scheduled_first_may_be_over_first(explore: Explore) -> None:
    # Between two calls any time can pass, more than the difference too.
    async def timers(log: Log) -> None:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        loop.call_later(2, log.append, 2)
        loop.call_later(1, log.append, 1)
        loop.call_later(3, ended.set_result, None)
        await ended

    assert logs_of(explore, timers) == {"1 2", "2 1"}


def test_timers_for_the_same_time_run_in_one_round(explore: Explore) -> None:
    async def timers(log: Log) -> None:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        time = loop.time() + 1
        loop.call_at(time, lambda: (log.append(1), loop.call_soon(log.append, "then")))
        loop.call_at(time, lambda: (log.append(2), loop.call_soon(ended.set_result, None)))
        await ended

    assert logs_of(explore, timers) == {"1 2 then", "2 1 then"}


def test_timers_that_are_over_together_run_before_what_they_schedule(explore: Explore) -> None:
    async def timers(log: Log) -> None:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        loop.call_later(1, lambda: (log.append(1), loop.call_soon(log.append, "then")))
        loop.call_later(1, lambda: (log.append(2), ended.set_result(None)))
        await ended

    assert logs_of(explore, timers) == {"1 2 then", "1 then 2"}


def test_stopping_finishes_the_round(explore: Explore) -> None:
    def stopped() -> Log:
        log: Log = []
        loop = asyncio.new_event_loop()
        loop.call_soon(loop.stop)
        loop.call_soon(lambda: (log.append(1), loop.call_soon(log.append, 2)))
        loop.run_forever()
        log.append("stopped")
        loop.stop()
        loop.run_forever()
        loop.close()
        return log

    expected = stopped()
    found: list[Log] = []
    passes(explore(lambda: found.append(stopped())))
    assert found == [expected]
