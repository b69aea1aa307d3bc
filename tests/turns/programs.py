"""Random asyncio programs, each made from a number."""

from __future__ import annotations

import random

_PROGRAM = """import asyncio
import itertools
import json
import threading

import dpor


class Box:
    pass


numbers = itertools.count()
local = threading.local()
{of_module}

@dpor.model
async def model():
    seen = [[] for _ in range({tasks})]
    found, log, count = {{}}, [], 0
    {of_model}
    future = asyncio.get_running_loop().create_future()
    data, box = json.loads('{{"a": [0], "b": [[1]]}}'), Box()
    box.part = data["a"]
    reader, ranked, barrier = asyncio.StreamReader(), asyncio.PriorityQueue(), asyncio.Barrier(2)
    {timer}
    local.value = 0
    tasks = []

    async def child(number, key):
        await asyncio.sleep(0.1)
        found[key] = number
        return key

    async def generate():
        for number in range(2):
            await asyncio.sleep(0.1)
            yield number

    shared = generate()
    coroutine = child(9, "coroutine")

{bodies}
    async def close():
        await asyncio.sleep(0.1)
        event.set()
        if not future.done():
            future.set_result("closed")
        for _ in range(3):
            if not queue.full():
                queue.put_nowait("closed")
        async with condition:
            condition.notify_all()
        reader.feed_eof()
        await barrier.abort()

    {closing}
    {running}
    {ending}
    coroutine.close()
    return (
        seen, list(found.items()), log, count, queue.qsize(), event.is_set(), lock.locked(), future.done(), data
    )
"""

# How often a task does this, and what. {i} is the task, {o} another one or the same, {k} the number of the statement.
_STATEMENTS = (
    (6, "await asyncio.sleep(0.1)"),
    (2, "await asyncio.sleep(0)"),
    (2, "log.append({i})"),
    (2, "count += 1"),
    (1, "before = count; await asyncio.sleep(0.1); count = before + 1"),
    (1, "found[{i}] = {k}"),
    (1, "found['key'] = {i}"),
    (1, "found.pop('key', None)"),
    (1, "seen[{i}].append(len(found))"),
    (1, "seen[{i}].append(list(found))"),
    (1, "seen[{i}].append(count)"),
    (2, "async with lock:\n    seen[{i}].append(count)\n    await asyncio.sleep(0.1)\n    count += 1"),
    (1, "async with lock:\n    log.append({i})"),
    (1, "async with limit:\n    await asyncio.sleep(0.1)\n    log.append({i})"),
    (1, "seen[{i}].append(lock.locked())"),
    (1, "event.set()"),
    (1, "event.clear()"),
    (1, "await event.wait(); log.append({i})"),
    (1, "seen[{i}].append(event.is_set())"),
    (2, "await queue.put({i})"),
    (2, "seen[{i}].append(await queue.get())"),
    (1, "seen[{i}].append(queue.empty())"),
    (
        1,
        "try:\n    seen[{i}].append(queue.get_nowait())\nexcept asyncio.QueueEmpty:\n    seen[{i}].append('empty')",
    ),
    (1, "if not future.done():\n    future.set_result({i})"),
    (1, "seen[{i}].append(await future)"),
    (1, "seen[{i}].append(future.done())"),
    (1, "async with condition:\n    condition.notify_all()"),
    (1, "async with condition:\n    await condition.wait()\nlog.append({i})"),
    (2, "tasks[{o}].cancel()"),
    (1, "seen[{i}].append(tasks[{o}].done())"),
    (1, "seen[{i}].append(await child({i}, {k}))"),
    (1, "own = asyncio.create_task(child({i}, {k})); await asyncio.sleep(0.1); seen[{i}].append(await own)"),
    (1, "seen[{i}].append(await asyncio.gather(child({i}, {k}), child({i}, 'gathered')))"),
    (
        1,
        "done, _ = await asyncio.wait([asyncio.create_task(child({i}, key)) for key in ('a', 'b')],"
        " return_when=asyncio.FIRST_COMPLETED)\nseen[{i}].append(sorted(task.result() for task in done))",
    ),
    (
        1,
        "async with asyncio.TaskGroup() as group:\n    group.create_task(child({i}, {k}))\n"
        "    group.create_task(child({i}, 'grouped'))",
    ),
    (1, "await asyncio.shield(child({i}, {k}))"),
    (
        1,
        "try:\n    async with asyncio.timeout({k} + 1):\n        await asyncio.sleep(0.1)\n"
        "        log.append('in time {i}')\nexcept TimeoutError:\n    log.append('late {i}')",
    ),
    (
        1,
        "try:\n    seen[{i}].append(await asyncio.wait_for(queue.get(), 1))\n"
        "except TimeoutError:\n    log.append('no item')",
    ),
    (1, "asyncio.get_running_loop().call_later({k} + 1, log.append, 'later {i}')"),
    (
        1,
        "_, left = await asyncio.wait([asyncio.create_task(child({i}, {k}))], timeout=1)\nseen[{i}].append(len(left))",
    ),
    (
        1,
        "try:\n    await asyncio.sleep(0.1)\nexcept asyncio.CancelledError:\n    log.append('end {i}')\n    raise",
    ),
    (
        1,
        "try:\n    await asyncio.sleep(0.1)\nfinally:\n    await asyncio.sleep(0)\n    log.append('finally {i}')",
    ),
    (1, "asyncio.get_running_loop().call_soon(log.append, 'soon {i}')"),
    (
        1,
        "for ended in asyncio.as_completed([child({i}, {k}), child({i}, 'first')]):\n    seen[{i}].append(await ended)",
    ),
    (
        1,
        "get = asyncio.create_task(queue.get()); await asyncio.sleep(0.1); seen[{i}].append(get.done()); get.cancel()",
    ),
    (1, "later = event.wait(); await asyncio.sleep(0.1); event.set(); await later"),
    (1, "if {i}:\n    raise ValueError({i})"),
    (1, "async for number in generate():\n    log.append(({i}, number))"),
    (
        1,
        "try:\n    seen[{i}].append(await anext(shared, 'end'))\n"
        "except RuntimeError as error:\n    seen[{i}].append(str(error))",
    ),
    (1, "seen[{i}].append([task is tasks[0] for task in {{tasks[0], tasks[-1], future}}])"),
    (
        1,
        "try:\n    seen[{i}].append(await coroutine)\n"
        "except RuntimeError as error:\n    seen[{i}].append(str(error))",
    ),
    (1, "data['a'].append({i})"),
    (1, "seen[{i}].append(list(data['a']))"),
    (1, "data[{i}] = data['b']"),
    (1, "data['b'][0].append({k})"),
    (1, "box.part, box.last = data['b'], box.part"),
    (1, "box.part.append({i})"),
    (1, "own = json.loads('[0]'); await asyncio.sleep(0.1); own.append({i}); found[{k}] = own"),
    (1, "found[{i}] = json.loads('[{k}]')"),
    (1, "for item in list(found.values()):\n    if isinstance(item, list):\n        item.append({i})"),
    (1, "if not future.done():\n    future.set_result(data['a'])"),
    (1, "given = await future\nif isinstance(given, list):\n    given.append({i})"),
    (1, "seen[{i}].append(local.value); local.value = {i}"),
    (1, "seen[{i}].append(next(numbers))"),
    (1, "reader.feed_data(b'{i}')"),
    (1, "seen[{i}].append(await reader.read(1))"),
    (1, "seen[{i}].append(reader.at_eof())"),
    (1, "ranked.put_nowait(-{i})"),
    (
        1,
        "try:\n    seen[{i}].append(ranked.get_nowait())\nexcept asyncio.QueueEmpty:\n    seen[{i}].append('none')",
    ),
    (
        1,
        "try:\n    seen[{i}].append(await barrier.wait())\n"
        "except asyncio.BrokenBarrierError:\n    seen[{i}].append('broken')",
    ),
    (1, "seen[{i}].append(barrier.n_waiting)"),
    (1, "later.cancel()"),
    (1, "seen[{i}].append(later.cancelled())"),
    (1, "try:\n    queue.task_done()\nexcept ValueError:\n    seen[{i}].append('too often')"),
    (
        1,
        "every = await asyncio.gather(child({i}, {k}), *tasks[:{i}], return_exceptions=True)\n"
        "seen[{i}].append(sorted(every, key=str))",
    ),
    (1, "future.add_done_callback(lambda _: seen[{i}].append({k}))"),
    (1, "seen[{i}].append(len(asyncio.all_tasks()))"),
    (1, "seen[{i}] += [number async for number in generate()]"),
)

# What lives in the module or in the model.
_OBJECTS = """
lock, limit, event = asyncio.Lock(), asyncio.Semaphore(2), asyncio.Event()
queue, condition = asyncio.Queue({room}), asyncio.Condition()
"""

_TIMER = 'later = asyncio.get_running_loop().call_later(9, found.setdefault, "later", 1)'
_TASKS = "tasks += [asyncio.create_task(work()) for work in ({works})]\n"
_CAUGHT = "\nexcept (ValueError, asyncio.CancelledError) as error:\n    log.append(type(error).__name__)"
# How the tasks are run and waited for.
_RUNNING = (
    _TASKS + "await asyncio.gather(*tasks, return_exceptions=True)",
    _TASKS + "await asyncio.wait(tasks)",
    _TASKS + "for task in tasks:\n    try:\n        await task" + _CAUGHT.replace("\n", "\n    "),
    _TASKS + "try:\n    await asyncio.gather(*tasks)" + _CAUGHT,
    "try:\n    async with asyncio.TaskGroup() as group:\n"
    "        tasks += [group.create_task(work()) for work in ({works})]\n"
    "except* (ValueError, asyncio.CancelledError) as error:\n    log.append(len(error.exceptions))",
)


def made(number: int) -> str:
    """The text of a program: a module with a model of the name `model`, which returns its outcome."""
    drawn = random.Random(number)
    tasks = drawn.randint(2, 4)
    bodies: list[str] = []
    keeps_log = drawn.random() < 0.5
    for task in range(tasks):
        lines = [f"async def work{task}():", "    nonlocal count"]
        for statement in range(drawn.randint(1, 5 - tasks // 2)):
            text = drawn.choices([text for _, text in _STATEMENTS], [often for often, _ in _STATEMENTS])[0]
            text = text.format(i=task, k=statement, o=drawn.randrange(tasks))
            if not keeps_log:
                # A log that all write orders them all.
                text = text.replace("log.append(", f"seen[{task}].append(")
            lines += [f"    {line}" for line in text.split("\n")]
        bodies.append("\n".join(f"    {line}" for line in lines) + "\n")
    works = "".join(f"work{task}, " for task in range(tasks))
    running = drawn.choice(_RUNNING).format(works=works)
    objects = _OBJECTS.format(room=drawn.choice((0, 0, 1)))
    is_of_module = drawn.random() < 0.5
    return _PROGRAM.format(
        tasks=tasks,
        timer=_TIMER if any("later." in body for body in bodies) else "pass",
        of_module=objects if is_of_module else "",
        of_model="pass" if is_of_module else objects.strip().replace("\n", "\n    "),
        bodies="\n".join(bodies),
        closing=drawn.choice(
            ("pass", "closing = asyncio.create_task(close())", "closing = asyncio.create_task(close())")
        ),
        running=running.replace("\n", "\n    "),
        ending=drawn.choice(("pass", "await asyncio.sleep(0.1)")),
    )
