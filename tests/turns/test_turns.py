"""Turns that are events lose no outcome and invent none, and independent ones are not reordered."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from joined.compare import Answer

from dpor.checking import check_model
from dpor.results import CheckRequest, Verdict
from turns.compare import compared, explored
from turns.programs import made

PROGRAMS = 60
CHUNK = 10


@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_random_programs_have_the_outcomes_of_all_orders(tmp_path: Path, first: int) -> None:
    compared_by_turns = 0
    different: list[int] = []
    for number in range(first, first + CHUNK):
        program = tmp_path / f"program_{number}.py"
        program.write_text(made(number))
        comparison = compared(program, 1.0)
        if comparison.answer is Answer.DIFFERENT:
            different.append(number)
        compared_by_turns += comparison.answer is Answer.SAME and comparison.joined.is_joined
    assert not different
    assert compared_by_turns


# Each lost outcomes by a mistake in what depends on what.
LOST = {
    "a background task that is cancelled in the end, or ends before": """
        event = asyncio.Event()
        async def work(end):
            await asyncio.sleep(0.1)
            end()
        closing = asyncio.create_task(work(event.set))
        await asyncio.wait([asyncio.create_task(work(event.clear)), asyncio.create_task(asyncio.sleep(0))])
        return event.is_set()
        """,
    "an end that is the last of a group or not": """
        event, future, seen = asyncio.Event(), asyncio.get_running_loop().create_future(), []
        async def first():
            for _ in range(3):
                await asyncio.sleep(0.1)
            event.clear()
        async def second():
            seen.append(await future)
            await asyncio.sleep(0.1)
        async def close():
            await asyncio.sleep(0.1)
            event.set()
            future.set_result(1)
        closing = asyncio.create_task(close())
        await asyncio.gather(first(), second())
        await asyncio.sleep(0.1)
        return event.is_set(), seen
        """,
    "a sleep between the ends of a group": """
        lock, log, events = asyncio.Lock(), [], []
        async def child(number):
            await asyncio.sleep(0.1)
            log.append(number)
        async def first():
            await asyncio.sleep(0.1)
            events.append(1)
            await asyncio.sleep(0.1)
            async with lock:
                log.append("first")
        async def second():
            await asyncio.gather(child(0), child(1))
            async with lock:
                log.append("second")
            log.append(len(events))
        async def close():
            await asyncio.sleep(0.1)
            events.append(2)
        closing = asyncio.create_task(close())
        async with asyncio.TaskGroup() as group:
            group.create_task(first())
            group.create_task(second())
        return log, events
        """,
    "a time limit that is over while another callback is not": """
        called = []
        async def limited():
            asyncio.get_running_loop().call_later(1, called.append, 1)
            try:
                await asyncio.wait_for(asyncio.sleep(0.1), 1)
            except TimeoutError:
                called.append("late")
        await asyncio.gather(limited(), asyncio.sleep(0.1))
        await asyncio.sleep(0.1)
        return called
        """,
    "a turn of the loop that is planned and not possible": """
        found, seen = {}, []
        async def child(number):
            await asyncio.sleep(0.1)
            found[number] = number
        async def wait():
            _, left = await asyncio.wait([asyncio.create_task(child(2))], timeout=1)
            seen.append(len(left))
        async with asyncio.TaskGroup() as group:
            group.create_task(child(1))
            group.create_task(wait())
        return seen, list(found)
        """,
    "a timer that the last end of a group makes": """
        seen, future = [0, 0], asyncio.get_running_loop().create_future()
        async def write():
            await asyncio.sleep(0.1)
            seen[0] = 1
        async def read():
            await asyncio.sleep(0.1)
            future.set_result(None)
            await asyncio.sleep(0.1)
            seen[1] = seen[0]
        writing, reading = asyncio.create_task(write()), asyncio.create_task(read())
        await asyncio.gather(writing, future)
        await reading
        return seen
        """,
    "somebody who waits for one of a group": """
        log = []
        async def watch():
            await first
            await asyncio.sleep(0)
            log.append("watch")
        first, second = (asyncio.create_task(asyncio.sleep(0.1)) for _ in range(2))
        watching = asyncio.create_task(watch())
        await asyncio.gather(first, second)
        log.append("all")
        await watching
        return log
        """,
    "an end that completes several groups": """
        log = []
        async def wait(name, *tasks):
            await asyncio.wait(tasks)
            log.append(name)
        tasks = [asyncio.create_task(asyncio.sleep(0.1)) for _ in range(3)]
        await asyncio.gather(wait(0, *tasks[:2]), wait(1, *tasks[1:]), wait(2, *tasks[:2]))
        return log
        """,
    "a timer that is asked whether it is cancelled": """
        seen = [None, None]
        later = asyncio.get_running_loop().call_later(5, seen.__setitem__, 0, 1)
        async def cancel():
            await asyncio.sleep(0.1)
            later.cancel()
        async def ask():
            await asyncio.sleep(0.1)
            seen[1] = later.cancelled()
        await asyncio.gather(cancel(), ask())
        return seen
        """,
    "a callback that is over before the loop ends or never": """
        called = []
        async def work():
            await asyncio.sleep(0.1)
        asyncio.get_running_loop().call_later(2, called.append, 1)
        await asyncio.gather(work(), work())
        return called
        """,
    "a generator that is advanced while it runs": """
        async def generate():
            for number in range(2):
                await asyncio.sleep(0.1)
                yield number
        shared, seen = generate(), []
        async def take(sleeps):
            for _ in range(sleeps):
                await asyncio.sleep(0.1)
            try:
                seen.append(await anext(shared, "end"))
            except RuntimeError as error:
                seen.append(str(error))
        await asyncio.gather(take(0), take(1))
        return seen
        """,
}


@pytest.mark.parametrize("name", LOST)
def test_programs_that_showed_a_mistake_have_the_outcomes_of_all_orders(tmp_path: Path, name: str) -> None:
    assert_all_outcomes(_program(tmp_path, LOST[name]))


def assert_all_outcomes(program: Path) -> None:
    comparison = compared(program, 20.0)
    assert comparison.joined.outcomes == comparison.single.outcomes
    assert len(comparison.single.outcomes) > 1
    assert comparison.answer is Answer.SAME


COUNTED = {
    "tasks that share nothing": (
        1,
        """
        found = {}
        async def work(number):
            await asyncio.sleep(0.1)
            found[number] = number
            await asyncio.sleep(0.1)
        await asyncio.gather(*(work(number) for number in range(8)))
        assert len(found) == 8
        """,
    ),
    "tasks of a group that share nothing": (
        1,
        """
        found = {}
        async def work(number):
            await asyncio.sleep(0.1)
            found[number] = number
            await asyncio.sleep(0.1)
        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(work(number))
        assert len(found) == 8
        """,
    ),
    "tasks that are waited for and share nothing": (
        1,
        """
        found = {}
        async def work(number):
            await asyncio.sleep(0.1)
            found[number] = number
        await asyncio.wait([asyncio.create_task(work(number)) for number in range(8)])
        assert len(found) == 8
        """,
    ),
    "an update each": (
        24,
        """
        numbers = []
        async def work(number):
            await asyncio.sleep(0.1)
            numbers.append(number)
        await asyncio.gather(*(work(number) for number in range(4)))
        assert len(numbers) == 4
        """,
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_only_orders_of_turns_that_access_the_same_are_explored(tmp_path: Path, name: str) -> None:
    executions, body = COUNTED[name]
    result = explored(_program(tmp_path, body), True, 20.0)
    assert (result.verdict, result.executions, result.redundant) == (Verdict.VERIFIED, executions, 0)
    assert result.is_joined


LOOPS = {
    "a callback that stops the loop": """
        loop, count = asyncio.new_event_loop(), [0]
        async def tick():
            for _ in range(2):
                await asyncio.sleep(0.1)
                count[0] += 1
        ticking = loop.create_task(tick())
        loop.call_later(5, loop.stop)
        loop.run_forever()
        counted = count[0]
        ticking.cancel()
        loop.run_until_complete(asyncio.wait([ticking]))
        loop.close()
        return counted
        """,
    "a timer that is left where another loop runs": """
        seen = [0, 0]
        async def first():
            await asyncio.sleep(0.1)
            asyncio.get_running_loop().call_later(1, seen.__setitem__, 0, 1)
        async def second():
            await asyncio.sleep(0.1)
        asyncio.run(first())
        asyncio.run(second())
        return seen
        """,
    "a handler that is set while a callback fails": """
        loop, handled = asyncio.new_event_loop(), []
        async def work():
            await asyncio.sleep(0.1)
            loop.set_exception_handler(lambda *_: handled.append(1))
        loop.set_exception_handler(lambda *_: handled.append(0))
        loop.call_later(1, int, "")
        loop.run_until_complete(loop.create_task(work()))
        loop.close()
        return handled
        """,
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_that_a_model_makes_have_the_outcomes_of_all_orders(tmp_path: Path, name: str) -> None:
    assert_all_outcomes(_program(tmp_path, LOOPS[name], "def"))


FAILING = {
    "a time limit": """
        async def work():
            await asyncio.sleep(0.1)
            async with asyncio.timeout(1):
                await asyncio.sleep(0.1)
        await asyncio.gather(work(), asyncio.sleep(0.1))
        """,
    "an update between a read and a write of another task": """
        total = 0
        async def work():
            nonlocal total
            before = total
            await asyncio.sleep(0.1)
            total = before + 1
        await asyncio.gather(work(), work(), *(asyncio.sleep(0.1) for _ in range(3)))
        assert total == 2
        """,
    "a task that is stuck in some orders": """
        event = asyncio.Event()
        async def clear():
            await asyncio.sleep(0.1)
            event.clear()
        async def wait():
            await asyncio.sleep(0.1)
            await event.wait()
        event.set()
        await asyncio.gather(clear(), wait())
        """,
    "a background task that is cancelled too early": """
        written = []
        async def write():
            await asyncio.sleep(0.1)
            written.append(1)
        writing = asyncio.create_task(write())
        await asyncio.sleep(0.1)
        writing.cancel()
        assert written
        """,
}


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_is_told_of_as_where_decisions_are_drawn(tmp_path: Path, name: str) -> None:
    program = _program(tmp_path, FAILING[name])
    turns, drawn = (
        check_model(CheckRequest(str(program), "model", str(tmp_path), options={"turns": turns}))
        for turns in (True, False)
    )
    assert turns.verdict is drawn.verdict is Verdict.VIOLATED
    first, second = turns.violations[0], drawn.violations[0]
    assert (first.kind, first.message, first.location) == (second.kind, second.message, second.location)
    assert first.trace is not None


NOT_TREATED = {
    "a thread": "await asyncio.gather(asyncio.sleep(0.1), asyncio.to_thread(len, ''))",
    "a drawn value": "await asyncio.sleep(0.1)\ndpor.choose(range(2))",
    "a clock": "await asyncio.sleep(0.1)\nasyncio.get_running_loop().time()",
    "a context that tasks share": """
        import contextvars
        number, context = contextvars.ContextVar("number", default=0), contextvars.copy_context()
        async def add():
            before = number.get()
            await asyncio.sleep(0.1)
            number.set(before + 1)
        await asyncio.gather(*(asyncio.create_task(add(), context=context) for _ in range(2)))
        assert context[number] in (1, 2)
        """,
    "a generator that tasks share": """
        async def generate():
            for number in range(3):
                await asyncio.sleep(0.1)
                yield number
        shared, errors = generate(), []
        async def take():
            try:
                await anext(shared)
            except RuntimeError as error:
                errors.append(error)
        await asyncio.gather(take(), take())
        """,
}


@pytest.mark.parametrize("name", NOT_TREATED)
def test_what_no_access_tells_is_explored_in_all_orders(tmp_path: Path, name: str) -> None:
    program = _program(tmp_path, NOT_TREATED[name])
    turns, drawn = explored(program, True, 20.0), explored(program, False, 20.0)
    assert not turns.is_joined
    assert turns == drawn


def test_a_package_that_only_another_calls_is_named_where_turns_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "near_package.py").write_text(
        "import far_package\ndef go(x):\n    return far_package.go(x)\n"
    )
    (packages / "far_package.py").write_text("def go(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(packages))
    program = _program(
        tmp_path,
        """
        import near_package
        async def work(number):
            await asyncio.sleep(0.1)
            return near_package.go(number)
        return await asyncio.gather(work(1), work(2))
        """,
    )
    comparison = compared(program, 10.0)
    assert comparison.answer is Answer.SAME
    assert comparison.joined.assumptions == {("unseen-code", "near_package"), ("unseen-code", "far_package")}


def _program(folder: Path, body: str, kind: str = "async def") -> Path:
    program = folder / "program.py"
    lines = textwrap.dedent(body).strip().splitlines()
    program.write_text(
        f"import asyncio\nimport dpor\n\n@dpor.model\n{kind} model():\n"
        + "".join(f"    {line}\n" for line in lines)
    )
    return program
