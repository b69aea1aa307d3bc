"""Threads, tasks, futures and functions as keys: each is a key of its own, and nothing of it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.results import CheckRequest

HEAD = """
import asyncio, dpor, threading
from concurrent.futures import Future

class Named(threading.Thread):
    pass

class Equal(threading.Thread):
    def __eq__(self, other): return isinstance(other, Equal)
    def __hash__(self): return 1

def spawn(first, second, make=threading.Thread):
    threads = [make(target=first), make(target=second)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

@dpor.model
def model():
    kept, seen = {}, set()
"""
COUNTS = {
    "threads that put themselves into a dict": (
        "spawn(*[lambda: kept.setdefault(threading.current_thread(), 1)] * 2)",
        1,
    ),
    "a thread that puts itself into a dict beside its length": (
        "spawn(lambda: kept.update({threading.current_thread(): 1}), lambda: len(kept))",
        2,
    ),
    "threads of a class that derives from Thread": (
        "spawn(*[lambda: seen.add(threading.current_thread())] * 2, Named)",
        1,
    ),
    "threads that compare as equal": ("spawn(*[lambda: seen.add(threading.current_thread())] * 2, Equal)", 6),
    "threads that are compared": (
        "spawn(*[lambda: threading.current_thread() == threading.main_thread()] * 2)",
        1,
    ),
    "one future that is put into a set and looked for": (
        "one = Future(); spawn(lambda: seen.add(one), lambda: one in seen)",
        2,
    ),
    "a function that its id stands for": (
        "one = lambda: 0\n"
        "    spawn(lambda: (kept.update({id(one): 1}), seen.add(id(one))), lambda: kept and id(one) in seen)",
        3,
    ),
    "a class that its id stands for": (
        "class One: pass\n"
        "    spawn(lambda: (kept.update({id(One): 1}), seen.add(id(One))), lambda: kept and id(One) in seen)",
        3,
    ),
    "a generator that its id stands for": (
        "one = (number for number in ())\n"
        "    spawn(lambda: (kept.update({id(one): 1}), seen.add(id(one))), lambda: kept and id(one) in seen)",
        3,
    ),
    "a future that is a key while it gets a result": (
        "one = Future(); spawn(lambda: seen.add(one), lambda: one.set_result(1))",
        1,
    ),
}


COUNTS |= {
    f"{what} of asyncio that are put into a set": (
        f"""
    async def main():
        async def work(): pass
        ones = {made}, {made}
        spawn(lambda: seen.add(ones[0]), lambda: seen.add(ones[1]))
        for one in ones: one.cancel()
        await asyncio.gather(*ones, return_exceptions=True)
    asyncio.run(main())""",
        1,
    )
    for what, made in {
        "futures": "asyncio.get_running_loop().create_future()",
        "tasks": "asyncio.create_task(work())",
    }.items()
}


@pytest.mark.parametrize("name", COUNTS)
def test_operations_on_other_keys_commute(name: str, tmp_path: Path) -> None:
    body, count = COUNTS[name]
    (tmp_path / "model.py").write_text(f"{HEAD}    {body}\n")
    result = check_model(CheckRequest("model.py", "model", str(tmp_path)))
    assert (result.verdict.value, result.executions) == ("verified", count)


ORDER = """
import dpor, itertools, threading

@dpor.model
def model():
    seen = set()
    threads = [threading.Thread(target=lambda: seen.add(threading.current_thread())) for _ in range(12)]
    pairs = itertools.combinations(threads, 2)
    pair = next(pair for pair in pairs if hash(pair[0]) % 8 == hash(pair[1]) % 8)
    for thread in pair: thread.start()
    for thread in pair: thread.join()
    assert False, [pair.index(thread) for thread in seen]
"""


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive", "parsimonious"])
def test_the_order_of_threads_that_want_one_place_in_a_set_is_that_in_which_they_came(
    algorithm: str, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(ORDER)
    options = {"algorithm": algorithm}
    request = CheckRequest("model.py", "model", str(tmp_path), options=options, all_violations=True)
    messages = {violation.message for violation in check_model(request).violations}
    assert messages == {"assertion failed: [0, 1]", "assertion failed: [1, 0]"}
