"""The clock of a thread is never behind what has happened before, and moves on by nothing else than sleeping."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.errors import DporError
from dpor.results import CheckRequest, ModelResult, Verdict

HEADER = """
import queue, threading, time
from concurrent.futures import ThreadPoolExecutor
import dpor
"""
HANDED_ON = {
    "a lock": """
        lock, last = threading.Lock(), [0.0]
        def look():
            with lock:
                now = time.monotonic()
                assert now >= last[0]
                last[0] = now
        def sleep_and_look():
            time.sleep(1)
            look()
        dpor.spawn(sleep_and_look)
        look()
    """,
    "an event": """
        event, start = threading.Event(), time.monotonic()
        dpor.spawn(lambda: (time.sleep(5), event.set()))
        event.wait()
        assert time.monotonic() - start >= 5
    """,
    "a condition": """
        condition, done, start = threading.Condition(), [], time.monotonic()
        def work():
            time.sleep(5)
            with condition:
                done.append(1)
                condition.notify()
        dpor.spawn(work)
        with condition:
            while not done:
                condition.wait()
        assert time.monotonic() - start >= 5
    """,
    "a queue": """
        items = queue.Queue()
        dpor.spawn(lambda: (time.sleep(5), items.put(time.time())))
        assert items.get() <= time.time()
    """,
    "a variable": """
        class Box:
            at = None
        box = Box()
        def work():
            time.sleep(5)
            box.at = time.monotonic()
        dpor.spawn(work)
        at = box.at
        assert at is None or time.monotonic() >= at
    """,
    "an atomic": """
        flag, start = dpor.Atomic(0), time.monotonic()
        dpor.spawn(lambda: (time.sleep(5), flag.store(1)))
        assert not flag.load() or time.monotonic() - start >= 5
    """,
    "the end of a thread": """
        start = time.monotonic()
        thread = dpor.spawn(time.sleep, 5)
        assert thread.is_alive() or time.monotonic() - start >= 5
    """,
    "the beginning of a thread": """
        time.sleep(5)
        start, seen = time.monotonic(), []
        dpor.spawn(lambda: seen.append(time.monotonic()))
        dpor.join_all()
        assert seen == [start]
    """,
    "a pool": """
        start = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(time.sleep, 5).result()
        assert time.monotonic() - start >= 5
    """,
    "two threads": """
        first, second, start = threading.Event(), threading.Event(), time.monotonic()
        dpor.spawn(lambda: (time.sleep(5), first.set()))
        dpor.spawn(lambda: (first.wait(), second.set()))
        second.wait()
        assert time.monotonic() - start >= 5
    """,
}


def check(folder: Path, body: str, **options: object) -> ModelResult:
    path = folder / "model.py"
    path.write_text(f"{HEADER}\n@dpor.model\ndef model():\n{body}\n", encoding="utf-8")
    return check_model(CheckRequest(str(path), "model", str(folder), options=options))


@pytest.mark.parametrize("algorithm", ["optimal", "parsimonious", "graph"])
@pytest.mark.parametrize("name", HANDED_ON)
def test_a_clock_is_not_behind_what_happened_before(name: str, algorithm: str, tmp_path: Path) -> None:
    result = check(tmp_path, HANDED_ON[name], algorithm=algorithm)
    assert result.verdict is Verdict.VERIFIED, result


def test_a_clock_knows_nothing_of_what_did_not_happen_before(tmp_path: Path) -> None:
    body = """
        start, slept = time.monotonic(), []
        dpor.spawn(lambda: (time.sleep(5), slept.append(1)))
        assert time.monotonic() - start >= 5
    """
    assert check(tmp_path, body).verdict is Verdict.VIOLATED


def test_a_wait_for_a_condition_ends_when_the_time_of_others_has_passed(tmp_path: Path) -> None:
    body = """
        condition, told = threading.Condition(), []
        def work():
            time.sleep(5)
            with condition:
                told.append(time.monotonic())
                condition.notify()
        with condition:
            dpor.spawn(work)
            start = time.monotonic()
            done = condition.wait_for(lambda: len(told) > 1, 3)
        assert not done and time.monotonic() - start >= 3
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_classes_of_values_do_not_tell_when_a_value_was_stored(tmp_path: Path) -> None:
    body = """
        flag, start = dpor.Atomic(0), time.monotonic()
        dpor.spawn(lambda: (time.sleep(5), flag.store(1)))
        dpor.spawn(lambda: flag.store(1))
        assert not flag.load() or time.monotonic() - start < 5
    """
    assert check(tmp_path, body).verdict is Verdict.VIOLATED
    with pytest.raises(DporError) as caught:
        check(tmp_path, body, algorithm="value-centric")
    assert caught.value.code is Code.UNSUPPORTED_PAIR
    assert "clock" in str(caught.value)


@pytest.mark.parametrize("asked", ["now()", "now(datetime.timezone.utc)", "utcnow()", "today()"])
def test_a_class_that_derives_from_datetime_is_called_for_the_time_of_now(tmp_path: Path, asked: str) -> None:
    body = f"""
        import datetime, warnings
        class Marked(datetime.datetime):
            def __new__(cls, *args, **kwargs):
                made = super().__new__(cls, *args, **kwargs)
                made.extra = 7
                return made
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert Marked.{asked}.extra == 7
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED
