"""Queues as primitives: how many schedules they have, and where the library's own code runs."""

from __future__ import annotations

import queue
import sys
import textwrap
from pathlib import Path

import pytest

from dpor.checking import check_model
from dpor.codes import Code
from dpor.counterexample.replay import replay_model
from dpor.errors import DporError
from dpor.options import Algorithm
from dpor.results import CheckRequest, ModelResult, ReplayRequest, Verdict, ViolationKind

HEADER = """
import copy, queue, threading
import dpor

def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
SAMPLING = (Algorithm.RANDOM, Algorithm.PCT)
ALGORITHMS = [algorithm.value for algorithm in Algorithm if algorithm not in SAMPLING]


def check(
    tmp_path: Path,
    body: str,
    at_top: str = "",
    parameters: dict[str, object] | None = None,
    **options: object,
) -> ModelResult:
    names = "".join(f"{name}: int = 0, " for name in parameters or ())
    model = f"@dpor.model\ndef model({names}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    (tmp_path / "model.py").write_text(HEADER + textwrap.dedent(at_top) + model)
    request = CheckRequest("model.py", "model", str(tmp_path), parameters=parameters or {}, options=options)
    return check_model(request)


PRODUCERS_AND_CONSUMER = """
    items, got = queue.Queue(), []

    def produce(name):
        for number in range(2):
            items.put((name, number))

    def consume():
        got.extend(items.get() for _ in range(4))

    run(lambda: produce("a"), lambda: produce("b"), consume)
    assert [number for name, number in got if name == "a"] == [0, 1]
"""
BOUNDED = """
    items = queue.Queue(2)
    run(lambda: [items.put(n) for n in range(4)], lambda: [items.get() for _ in range(4)])
"""
WORKERS = """
    jobs, done = queue.Queue(), []

    def work():
        while (job := jobs.get()) is not None:
            done.append(job)
            jobs.task_done()

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers: worker.start()
    for number in range(3): jobs.put(number)
    jobs.join()
    assert sorted(done) == [0, 1, 2]
    for _ in workers: jobs.put(None)
    for worker in workers: worker.join()
"""


@pytest.mark.parametrize(
    ("body", "most"),
    [
        # The orders of four puts of two threads.
        (PRODUCERS_AND_CONSUMER, 6),
        (BOUNDED, 1),
        ("items = queue.Queue()\nrun(lambda: items.put(1), items.get, lambda: items.put(2), items.get)", 4),
        ("items = queue.Queue()\nitems.put(1)\nitems.put(2)\nrun(lambda: items.put(3), items.empty, items.get)", 2),
        (WORKERS, 36),
    ],
    ids=["producers", "bounded", "both ends", "not empty either way", "tasks"],
)  # fmt: skip
def test_operations_of_a_queue_are_ordered_where_they_meet(tmp_path: Path, body: str, most: int) -> None:
    result = check(tmp_path, body)
    assert result.verdict is Verdict.VERIFIED
    assert result.executions == most
    assert result.blocked == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_finds_an_item_that_is_told_of_too_early(tmp_path: Path, algorithm: str) -> None:
    body = """
        items, done = queue.Queue(), []

        def work():
            item = items.get()
            items.task_done()
            done.append(item)

        worker = dpor.spawn(work)
        items.put(1)
        items.join()
        assert done == [1]
        worker.join()
    """
    result = check(tmp_path, body, algorithm=algorithm)
    assert [one.kind for one in result.violations] == [ViolationKind.ASSERTION]
    replayed = replay_model(
        ReplayRequest("model.py", "model", str(tmp_path), result.violations[0].schedule or "")
    )
    assert replayed.violation is not None


@pytest.mark.parametrize("primitives", ["kernel", "library"])
def test_a_schedule_says_which_code_of_queues_has_run(tmp_path: Path, primitives: str) -> None:
    body = """
        items, got = queue.Queue(), []
        run(lambda: items.put(1), lambda: items.put(2), lambda: got.append(items.get()))
        assert got == [1]
    """
    schedule = check(tmp_path, body, primitives=primitives).violations[0].schedule or ""
    # The model's own options are another matter than those that the schedule was made with.
    replayed = replay_model(ReplayRequest("model.py", "model", str(tmp_path), schedule))
    assert replayed.violation is not None
    assert not replayed.divergence


@pytest.mark.parametrize("algorithm", ["optimal", "source", "unfolding", "parsimonious", "graph"])
def test_a_join_may_end_between_two_rounds_of_tasks(tmp_path: Path, algorithm: str) -> None:
    body = """
        items, order = queue.Queue(), []

        def first():
            items.put(1)
            items.get()
            items.task_done()

        def second():
            items.put(2)
            order.append("put")
            items.get()
            items.task_done()

        other = dpor.spawn(first)
        later = dpor.spawn(second)
        other.join()
        items.join()
        order.append("joined")
        later.join()
        assert order == [{order}]
    """
    for wrong in ("'put', 'joined'", "'joined', 'put'"):
        result = check(tmp_path, body.format(order=wrong), algorithm=algorithm)
        assert [one.kind for one in result.violations] == [ViolationKind.ASSERTION], wrong


INSIDES = {
    "the lock": "with items.mutex: assert list(items.queue) == [1]",
    "the number of tasks": "assert items.unfinished_tasks == 1",
    "another bound": "items.maxsize = 1; assert items.full()",
    "its state": "assert items.__getstate__()['queue']",
    "a condition": "assert not items.not_empty.acquire(False) or items.not_empty.release() is None",
    "a predicate that looks inside": "dpor.wait_until(lambda: len(items.queue) == 1)",
}


@pytest.mark.parametrize("use", INSIDES.values(), ids=INSIDES)
def test_a_queue_whose_insides_are_used_runs_on_the_librarys_code(tmp_path: Path, use: str) -> None:
    body = f"""
        items = queue.Queue()
        items.put(1)
        {use}
        run(lambda: items.put(2) if items.maxsize == 0 else None, items.get)
        assert items.qsize() in (0, 1)
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_class_that_says_how_items_are_kept_has_its_say(tmp_path: Path) -> None:
    at_top = """
        class Newest(queue.Queue):
            def _put(self, item):
                self.queue.appendleft(item)

        class Counting(queue.Queue):
            puts = 0

            def put(self, item, *rest, **options):
                self.puts += 1
                super().put(item, *rest, **options)

    """
    body = """
        newest, counting, least = Newest(), Counting(3), queue.PriorityQueue()
        for number in (2, 1):
            newest.put(number)
            counting.put(number)
            least.put(number)
        assert (newest.get(), counting.get(), least.get()) == (1, 2, 1)
        assert counting.puts == 2
        assert counting.maxsize == 3
        assert not counting.full()
        run(lambda: counting.put(3), lambda: counting.put(4))
        assert {counting.get() for _ in range(3)} == {1, 3, 4}
    """
    assert check(tmp_path, body, at_top).verdict is Verdict.VERIFIED


CHANGED = {
    "a method of its own": ("items._put = lost.append", "DPOR203"),
    "another class": (
        "items.put(0); items.put(1); items.__class__ = queue.LifoQueue; assert items.get() == 1",
        "verified",
    ),
    "a method of the class": ("queue.Queue._put = lambda self, item: lost.append(item)", "DPOR203"),
}


@pytest.mark.parametrize(("change", "expected"), CHANGED.values(), ids=CHANGED)
def test_a_queue_that_changes_how_it_keeps_items_runs_on_the_librarys_code(
    tmp_path: Path, change: str, expected: str
) -> None:
    body = f"""
        items, lost = queue.Queue(), []
        {change}
        worker = dpor.spawn(lambda: items.put(1))
        items.get()
        worker.join()
    """
    real = queue.Queue._put
    try:
        result = check(tmp_path, body)
    finally:
        queue.Queue._put = real
    codes = {violation.code.value for violation in result.violations}
    assert codes == ({expected} if expected != "verified" else set())


def test_a_class_that_sees_the_insides_runs_on_the_librarys_code(tmp_path: Path) -> None:
    at_top = """
        class One(queue.Queue):
            maxsize = property(lambda self: 1, lambda self, size: None)

        class Named(queue.Queue):
            mutex: object = None

        class Seeing(queue.Queue):
            def __setattr__(self, name, value):
                SEEN.append(name)
                super().__setattr__(name, value)

        SEEN = []

    """
    body = """
        assert Named().mutex is not None
        SEEN.clear()
        Seeing()
        assert "mutex" in SEEN
        one = One()
        one.put(1)
        try:
            one.put_nowait(2)
        except queue.Full:
            pass
        else:
            assert False
    """
    assert check(tmp_path, body, at_top).verdict is Verdict.VERIFIED


def test_there_may_be_more_items_than_a_number_of_sixteen_bits_tells(tmp_path: Path) -> None:
    body = """
        items = queue.Queue()
        for number in range(70_000):
            items.put(number)
        assert items.qsize() == 70_000
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_queue_that_is_one_location_refuses_more_items_than_its_state_tells(tmp_path: Path) -> None:
    with pytest.raises(DporError) as refused:
        check(tmp_path, "items = queue.LifoQueue()\nfor number in range(40_000):\n    items.put(number)")
    assert refused.value.code is Code.UNCONTROLLED
    assert "items into a queue" in refused.value.message


def test_methods_take_their_arguments_by_name_and_look_at_them_once(tmp_path: Path) -> None:
    body = """
        class Once:
            asked = 0

            def __bool__(self):
                Once.asked += 1
                return True

        items = queue.Queue(2)
        queue.Queue.put(self=items, item=1, block=Once(), timeout=1)
        assert items.get(block=Once(), timeout=1) == 1
        assert Once.asked == 2
        try:
            items.put()
        except TypeError as error:
            assert str(error) == "Queue.put() missing 1 required positional argument: 'item'"
        else:
            assert False
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("last_first", [False, True], ids=["Queue", "LifoQueue"])
def test_a_queue_of_a_module_is_empty_in_each_execution(tmp_path: Path, last_first: bool) -> None:
    at_top = f"ITEMS = queue.{'LifoQueue' if last_first else 'Queue'}()\n"
    body = """
        assert ITEMS.empty()
        run(lambda: ITEMS.put(1), lambda: ITEMS.put(2))
        assert {ITEMS.get(), ITEMS.get_nowait()} == {1, 2}
        ITEMS.put(3)
    """
    result = check(tmp_path, body, at_top)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 2)


def test_a_queue_that_a_module_fills_has_these_items_in_each_execution(tmp_path: Path) -> None:
    at_top = """
        FILLED = queue.Queue()
        FILLED.put("first")
        OPENED = queue.Queue()
        OPENED.put("second")
        ITEMS = OPENED.queue
    """
    body = """
        assert FILLED.get() == "first"
        run(lambda: FILLED.put(1), lambda: FILLED.put(2))
        assert list(ITEMS) == ["second"]
        assert OPENED.get() == "second"
        assert not ITEMS
    """
    assert check(tmp_path, body, at_top).verdict is Verdict.VERIFIED


def test_a_wait_until_a_queue_is_long_enough_ends(tmp_path: Path) -> None:
    body = """
        items, got = queue.Queue(), []

        def take():
            dpor.wait_until(lambda: items.qsize() == 2)
            got.append(items.get())

        run(take, lambda: items.put(1), lambda: items.put(2))
        assert got == [1]
    """
    assert check(tmp_path, body).verdict is Verdict.VIOLATED
    assert check(tmp_path, body.replace("== [1]", "in ([1], [2])")).verdict is Verdict.VERIFIED


def test_a_predicate_that_takes_an_item_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DporError) as refused:
        check(tmp_path, "items = queue.Queue()\nitems.put(1)\ndpor.wait_until(lambda: items.get() == 1)")
    assert refused.value.code is Code.PREDICATE


def test_a_loop_that_waits_for_an_item_by_looking_ends(tmp_path: Path) -> None:
    body = """
        items = queue.Queue()

        def take():
            while items.empty():
                pass
            assert items.get_nowait() == 1

        run(take, lambda: items.put(1))
    """
    result = check(tmp_path, body)
    assert (result.verdict, result.executions) == (Verdict.VERIFIED, 1)


def test_wrong_arguments_raise_what_the_library_raises(tmp_path: Path) -> None:
    body = """
        items = queue.Queue(1)
        items.put(1)
        for call, error, text in (
            (lambda: items.put(2, timeout=-1), ValueError, "'timeout' must be a non-negative number"),
            (lambda: items.get(timeout=-1), ValueError, "'timeout' must be a non-negative number"),
            (lambda: items.put(2, timeout="1"), TypeError, "'<' not supported between instances of 'str' and 'int'"),
            (lambda: items.put(2, timeout=1e10), OverflowError, None),
            (lambda: queue.Queue("1"), None, None),
            (lambda: items.nothing, AttributeError, "'Queue' object has no attribute 'nothing'"),
            (lambda: (items.task_done(), items.task_done()), ValueError, "task_done() called too many times"),
        ):
            try:
                call()
            except Exception as caught:
                assert type(caught) is error, caught
                assert text in (None, str(caught)), caught
            else:
                assert error is None
        # Without a bound there is no wait that could be too short.
        queue.Queue().put(1, timeout=-1)
        assert type(items) is queue.Queue
        assert queue.Queue.put.__name__ == "put"
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


@pytest.mark.skipif(sys.version_info < (3, 13), reason="queues cannot be shut down before 3.13")
def test_a_queue_that_is_shut_down_ends_the_waits(tmp_path: Path) -> None:
    body = """
        items, ended = queue.Queue(), []

        def take():
            try:
                items.get()
            except queue.ShutDown:
                ended.append(1)

        assert not items.is_shutdown
        run(take, items.shutdown)
        assert ended == [1]
        assert items.is_shutdown
    """
    assert check(tmp_path, body).verdict is Verdict.VERIFIED


def test_a_deadlock_of_queues_names_what_each_thread_waits_for(tmp_path: Path) -> None:
    body = """
        full, tasks = queue.Queue(1), queue.Queue()
        full.put(1)
        tasks.put(1)
        run(lambda: full.put(2), tasks.join)
    """
    violation = check(tmp_path, body).violations[0]
    assert violation.kind is ViolationKind.DEADLOCK
    assert {wait.operation for wait in violation.waiting} == {"put", "join-tasks", "join"}


@pytest.mark.parametrize("where", ["the module", "the model"])
def test_a_queue_of_a_second_copy_of_its_module_is_one_of_the_check(tmp_path: Path, where: str) -> None:
    copy = """
        import sys
        first = sys.modules.pop("_queue")
        import _queue as second
        sys.modules["_queue"] = first
    """
    body = """
        items = second.SimpleQueue()
        thread = threading.Thread(target=items.put, args=(1,))
        thread.start()
        try:
            items.get_nowait()
            taken = True
        except second.Empty:
            taken = False
        thread.join()
        assert items.qsize() == (not taken)
        assert items.qsize() == {}
        assert type(items) is second.SimpleQueue
    """
    inside, at_top = (copy, "") if where == "the model" else ("", copy)
    for number in (0, 1):
        result = check(tmp_path, textwrap.dedent(inside) + textwrap.dedent(body.format(number)), at_top)
        assert result.verdict is Verdict.VIOLATED
        assert "items.qsize()" in result.violations[0].message
