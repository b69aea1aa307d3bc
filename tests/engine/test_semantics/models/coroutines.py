"""asyncio inside a model: tasks, locks, queues, timeouts, cancellation, threads."""

import asyncio
import contextlib
import sys
import threading

from outcomes import outcome

import dpor

EXPECTED = {
    "async_model": "verified",
    "gather_gives_results_in_order": "verified",
    "check_then_act_across_an_await": ["1", "2"],
    "check_then_act_under_a_lock": "verified",
    "no_await_no_interleaving": "verified",
    "order_of_two_tasks": ["0 1", "1 0"],
    "order_of_two_sleepers": ["0 1", "1 0"],
    "order_of_two_tasks_in_the_loop": ["0 1"],
    "order_of_two_sleepers_in_the_loop": ["0 1", "1 0"],
    "posted_between_callbacks": ["1 2 posted", "1 posted 2", "posted 1 2"],
    "queue_between_tasks": "verified",
    "event_between_tasks": "verified",
    "semaphore_admits_two": ["1", "2"],
    "condition_between_tasks": "verified",
    "wait_for_that_times_out_or_not": ["TimeoutError", "done"],
    "wait_for_nothing": ["TimeoutError"],
    "timeout_block": ["TimeoutError", "done"],
    "cancelled_task": ["cancelled", "ran"],
    "cancelled_before_it_ran": "verified",
    "finally_runs_when_cancelled": "verified",
    "exception_in_a_gathered_task": ["DPOR202 ValueError: bad"],
    "exception_that_nobody_asks_for": ["DPOR202 ValueError: bad"],
    "gather_with_exceptions_as_results": "verified",
    "task_group": "verified",
    "task_group_cancels_the_others": ["cancelled", "ended"],
    "deadlock_of_coroutines": ["deadlock"],
    "deadlock_of_two_locks": ["deadlock", "ended"],
    "to_thread": "verified",
    "lost_update_between_threads": ["1", "2"],
    "run_in_executor": "verified",
    "call_soon_threadsafe": "verified",
    "run_coroutine_threadsafe": "verified",
    "as_completed": ["0 1", "1 0"],
    "wait_for_the_first": ["0", "1", "0 1"],
    "shielded": "verified",
    "two_loops_in_two_threads": "verified",
    "async_generator": "verified",
    "task_names": "verified",
}
COUNTS = {
    "async_model": (1, 0),
    "no_await_no_interleaving": (2, 0),
    "order_of_two_tasks": (2, 0),
    "order_of_two_tasks_in_the_loop": (1, 0),
    "order_of_two_sleepers_in_the_loop": (2, 0),
    "deadlock_of_coroutines": (0, 1),
}


@dpor.model
async def async_model():
    await asyncio.sleep(0)
    assert asyncio.current_task() is not None


@dpor.model
async def gather_gives_results_in_order():
    async def double(number):
        await asyncio.sleep(1)
        return 2 * number

    assert await asyncio.gather(double(1), double(2)) == [2, 4]


class Counter:
    def __init__(self):
        self.value = 0

    async def add(self):
        before = self.value
        await asyncio.sleep(0)
        self.value = before + 1


@dpor.model(task_order="any")
async def check_then_act_across_an_await():
    counter = Counter()
    await asyncio.gather(counter.add(), counter.add())
    outcome(counter.value)


@dpor.model
async def check_then_act_under_a_lock():
    counter, lock = Counter(), asyncio.Lock()

    async def add():
        async with lock:
            await counter.add()

    await asyncio.gather(add(), add())
    assert counter.value == 2


@dpor.model(task_order="any")
async def no_await_no_interleaving():
    total = 0

    async def add():
        nonlocal total
        before = total
        total = before + 1

    await asyncio.gather(add(), add())
    assert total == 2


@dpor.model(task_order="any")
async def order_of_two_tasks():
    order = []

    async def note(number):
        order.append(number)

    await asyncio.gather(note(0), note(1))
    outcome(*order)


@dpor.model(task_order="any")
async def order_of_two_sleepers():
    order = []

    async def note(number):
        await asyncio.sleep(number)
        order.append(number)

    await asyncio.gather(note(0), note(1))
    outcome(*order)


@dpor.model
async def order_of_two_tasks_in_the_loop():
    order = []

    async def note(number):
        order.append(number)
        await asyncio.sleep(0)

    await asyncio.gather(note(0), note(1))
    outcome(*order)


@dpor.model
async def order_of_two_sleepers_in_the_loop():
    order = []

    async def note(number):
        await asyncio.sleep(1)
        order.append(number)

    await asyncio.gather(note(0), note(1))
    outcome(*order)


@dpor.model
async def posted_between_callbacks():
    log, loop = [], asyncio.get_running_loop()
    posting = loop.run_in_executor(None, loop.call_soon_threadsafe, log.append, "posted")
    loop.call_soon(log.append, 1)
    loop.call_soon(log.append, 2)
    await posting
    while len(log) < 3:
        await asyncio.sleep(0)
    outcome(*log)


@dpor.model
async def queue_between_tasks():
    items = asyncio.Queue(maxsize=1)

    async def produce():
        for number in range(2):
            await items.put(number)

    producer = asyncio.create_task(produce())
    assert [await items.get(), await items.get()] == [0, 1]
    await producer


@dpor.model
async def event_between_tasks():
    event, box = asyncio.Event(), []

    async def wait():
        await event.wait()
        assert box == [1]

    waiter = asyncio.create_task(wait())
    await asyncio.sleep(0)
    box.append(1)
    event.set()
    await waiter


@dpor.model(task_order="any")
async def semaphore_admits_two():
    semaphore, inside, most = asyncio.Semaphore(2), 0, 0

    async def enter():
        nonlocal inside, most
        async with semaphore:
            inside += 1
            most = max(most, inside)
            assert inside <= 2
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(enter(), enter())
    outcome(most)


@dpor.model
async def condition_between_tasks():
    condition, box = asyncio.Condition(), []

    async def take():
        async with condition:
            await condition.wait_for(lambda: box)
            box.pop()

    taker = asyncio.create_task(take())
    async with condition:
        box.append(1)
        condition.notify()
    await taker
    assert not box


@dpor.model
async def wait_for_that_times_out_or_not():
    async def work():
        await asyncio.sleep(1)
        return "done"

    try:
        result = await asyncio.wait_for(work(), timeout=2)
    except TimeoutError:
        result = "TimeoutError"
    outcome(result)


@dpor.model
async def wait_for_nothing():
    try:
        await asyncio.wait_for(asyncio.Event().wait(), timeout=2)
    except TimeoutError:
        outcome("TimeoutError")


@dpor.model
async def timeout_block():
    try:
        async with asyncio.timeout(1):
            await asyncio.sleep(1)
    except TimeoutError:
        outcome("TimeoutError")
    outcome("done")


@dpor.model(task_order="any")
async def cancelled_task():
    ran = []

    async def work():
        ran.append(True)
        await asyncio.sleep(1)
        ran.append(True)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        outcome("cancelled")
    outcome("ran")


@dpor.model
async def cancelled_before_it_ran():
    ran = []

    async def work():
        ran.append(True)

    task = asyncio.create_task(work())
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert not ran
    assert task.cancelled()


@dpor.model
async def finally_runs_when_cancelled():
    lock = asyncio.Lock()

    async def hold():
        async with lock:
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not lock.locked()


async def _fail():
    await asyncio.sleep(0)
    raise ValueError("bad")


@dpor.model
async def exception_in_a_gathered_task():
    await asyncio.gather(_fail(), asyncio.sleep(1))


@dpor.model
async def exception_that_nobody_asks_for():
    task = asyncio.create_task(_fail())
    await asyncio.wait([task])


@dpor.model
async def gather_with_exceptions_as_results():
    error, result = await asyncio.gather(_fail(), asyncio.sleep(0, 3), return_exceptions=True)
    assert str(error) == "bad"
    assert result == 3


@dpor.model
async def task_group():
    done = []

    async def work(number):
        await asyncio.sleep(0)
        done.append(number)

    async with asyncio.TaskGroup() as group:
        group.create_task(work(0))
        group.create_task(work(1))
    assert sorted(done) == [0, 1]


@dpor.model
async def task_group_cancels_the_others():
    log = []

    async def other():
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        log.append("ended")

    try:
        async with asyncio.TaskGroup() as group:
            sleeper = group.create_task(other())
            # A task that has not begun when it is cancelled never begins.
            await asyncio.sleep(0)
            dpor.assume(not sleeper.done())
            group.create_task(_fail())
    except ExceptionGroup as errors:
        log.extend(str(error) for error in errors.exceptions if str(error) != "bad")
    dpor.assume(log)
    outcome(*log)


@dpor.model
async def deadlock_of_coroutines():
    await asyncio.get_running_loop().create_future()


@dpor.model(task_order="any")
async def deadlock_of_two_locks():
    one, other = asyncio.Lock(), asyncio.Lock()

    async def take(first, second):
        async with first:
            await asyncio.sleep(0)
            async with second:
                pass

    await asyncio.gather(take(one, other), take(other, one))
    outcome("ended")


@dpor.model
async def to_thread():
    main = threading.get_ident()
    assert await asyncio.to_thread(threading.get_ident) != main
    assert await asyncio.to_thread(lambda: 5) == 5


@dpor.model
async def lost_update_between_threads():
    total = 0

    def add():
        nonlocal total
        total += 1

    work = asyncio.get_running_loop().run_in_executor(None, add)
    add()
    await work
    outcome(total)


@dpor.model
async def run_in_executor():
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(None, pow, 2, 3) == 8


@dpor.model
async def call_soon_threadsafe():
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.call_soon_threadsafe(event.set))
    thread.start()
    await event.wait()
    thread.join()


@dpor.model
def run_coroutine_threadsafe():
    async def work():
        return 4

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    assert asyncio.run_coroutine_threadsafe(work(), loop).result() == 4
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def _numbered(number):
    await asyncio.sleep(0)
    return number


@dpor.model(task_order="any")
async def as_completed():
    outcome(*[await next_one for next_one in asyncio.as_completed([_numbered(0), _numbered(1)])])


@dpor.model(task_order="any")
async def wait_for_the_first():
    tasks = [asyncio.create_task(_numbered(number)) for number in range(2)]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    outcome(*sorted(task.result() for task in done))


@dpor.model
async def shielded():
    done = []

    async def work():
        await asyncio.sleep(0)
        done.append(1)

    inner = asyncio.create_task(work())
    outer = asyncio.create_task(asyncio.wait_for(asyncio.shield(inner), 1))
    await asyncio.gather(outer, return_exceptions=True)
    await inner
    assert done == [1]


@dpor.model
def two_loops_in_two_threads():
    results = []

    async def work(number):
        await asyncio.sleep(0)
        results.append(number)

    for number in range(2):
        dpor.spawn(lambda number=number: asyncio.run(work(number)))
    dpor.join_all()
    assert sorted(results) == [0, 1]


@dpor.model
async def async_generator():
    async def count():
        for number in range(2):
            await asyncio.sleep(0)
            yield number

    assert [number async for number in count()] == [0, 1]


@dpor.model
async def task_names():
    task = asyncio.create_task(asyncio.sleep(0))
    assert task.get_name() == "Task-2"
    await task
    assert sys.version_info >= (3, 11)
