"""The oracle sees what it is there to see, and nothing that cannot be."""

from __future__ import annotations

import pytest

from oracle.programs import build
from oracle.running import observe
from oracle.scheduler import DEADLOCK
from oracle.schedules import Effort, Observed
from oracle.tables.kinds import Kind

EFFORT = Effort(executions=600, preemptions=2)


def outcomes(make: str, look: str, *bodies: str) -> Observed:
    program = build("test", [Kind("test", make, look, ())], [[body] for body in bodies])
    return observe(program.text, EFFORT, 0)


def final(observed: Observed) -> set[str]:
    """The final states, without what the threads saw."""
    return {outcome.partition("], (")[2].removesuffix(",))") for outcome in observed.outcomes}


def test_an_update_can_be_lost():
    assert final(outcomes("[0]", "s[0]", "s[0] += 1", "s[0] += 1")) == {"1", "2"}


def test_an_update_under_a_lock_cannot_be_lost():
    seen = outcomes("[0]", "s[0]", "with lock: s[0] += 1", "with lock: s[0] += 1")
    assert final(seen) == {"2"}
    assert seen.complete >= 2


def test_an_append_cannot_be_lost():
    seen = outcomes("[]", "s", "s.append(1)", "s.append(2)")
    assert final(seen) == {"[1, 2]", "[2, 1]"}
    assert seen.complete >= 2


def test_three_updates_can_leave_one():
    assert final(outcomes("[0]", "s[0]", "s[0] += 1", "s[0] += 1", "s[0] += 1")) == {"1", "2", "3"}


def test_a_factory_in_python_can_lose_what_another_thread_put_in():
    make = "collections.defaultdict(lambda: [])"
    assert final(outcomes(make, "s['x']", "s['x'].append(1)", "s['x'].append(2)")) == {
        "[1]",
        "[2]",
        "[1, 2]",
        "[2, 1]",
    }


def test_a_factory_in_c_loses_nothing():
    make = "collections.defaultdict(list)"
    assert final(outcomes(make, "s['x']", "s['x'].append(1)", "s['x'].append(2)")) == {"[1, 2]", "[2, 1]"}


def test_a_sort_with_a_key_in_python_can_be_disturbed():
    seen = outcomes("[2, 1]", "s", "s.sort(key=lambda x: x)", "s.append(0)")
    assert any("ValueError" in outcome for outcome in seen.outcomes)


def test_a_sort_without_a_key_cannot_be_disturbed():
    assert final(outcomes("[2, 1]", "s", "s.sort()", "s.append(0)")) == {"[1, 2, 0]", "[0, 1, 2]"}


def test_locks_in_opposite_order_can_deadlock():
    make = "(threading.Lock(), threading.Lock())"
    first, second = "with s[0]:\n    with s[1]: pass", "with s[1]:\n    with s[0]: pass"
    assert set(outcomes(make, "0", first, second).outcomes) == {DEADLOCK, "([[], []], (0,))"}
    assert DEADLOCK not in outcomes(make, "0", first, first).outcomes


def test_a_wait_for_an_event_that_nobody_sets_is_a_deadlock():
    assert set(outcomes("threading.Event()", "0", "s.wait()", "pass").outcomes) == {DEADLOCK}


def test_a_time_out_can_expire_before_and_after():
    seen = outcomes("threading.Event()", "s.is_set()", "o.append(s.wait(1))", "s.set()")
    assert set(seen.outcomes) == {"([[True], []], (True,))", "([[False], []], (True,))"}


def test_a_condition_can_lose_a_wakeup():
    body = "with s:\n    s.wait()\no.append(1)"
    assert set(outcomes("threading.Condition()", "0", body, "with s: s.notify()").outcomes) == {
        DEADLOCK,
        "([[1], []], (0,))",
    }


def test_a_thread_that_waits_for_a_queue_goes_on_when_something_is_put_in():
    assert set(outcomes("queue.Queue()", "0", "o.append(s.get())", "s.put(5)").outcomes) == {
        "([[5], []], (0,))"
    }


def test_a_generator_that_runs_cannot_be_entered():
    seen = outcomes("count()", "list(s)", "o.append(next(s))", "o.append(next(s))")
    assert "([[0], ['ValueError']], ([1, 2],))" in seen.outcomes


def test_library_code_in_python_is_switched_inside():
    seen = outcomes("collections.ChainMap({})", "s.maps", "s.setdefault('a', 1)", "s.setdefault('a', 2)")
    # Both find nothing, and both put theirs in.
    assert {"[{'a': 1}]", "[{'a': 2}]"} == final(seen)
    seen = outcomes(
        "collections.ChainMap({})", "0", "o.append(s.setdefault('a', 1))", "o.append(s.setdefault('a', 2))"
    )
    assert "([[1], [2]], (0,))" in seen.outcomes


def test_a_thread_that_outlives_main_and_waits_for_ever_is_a_deadlock_besides_the_outcome():
    start = "threading.Thread(target=s.wait).start()"
    assert set(outcomes("threading.Event()", "0", start, "pass").outcomes) == {DEADLOCK, "([[], []], (0,))"}


def test_a_thread_that_is_given_up_leaves_nothing_to_the_next_execution():
    body = "async def f(): s.acquire()\nasyncio.run(f())"
    seen = outcomes("threading.Semaphore(1)", "0", body, body)
    assert set(seen.outcomes) == {DEADLOCK}


def test_a_pool_runs_what_is_submitted():
    make = "concurrent.futures.ThreadPoolExecutor(1)"
    seen = outcomes(make, "(s.shutdown(), sorted(box))", "s.submit(box.append, 1)", "s.submit(box.append, 2)")
    assert final(seen) == {"(None, [0, 1, 2])"}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_gives_the_same_answer(seed):
    program = build("test", [Kind("test", "[1, 2]", "s", ())], [["s.append(3)"], ["for x in s: o.append(x)"]])
    effort = Effort(executions=50, preemptions=1)
    assert observe(program.text, effort, seed) == observe(program.text, effort, seed)
