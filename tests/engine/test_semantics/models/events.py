"""threading.Event, Barrier and Timer."""

import threading

from outcomes import outcome

import dpor

EXPECTED = {
    "wait_until_set": "verified",
    "wait_for_an_event_that_is_set": "verified",
    "woken_waiter_stays_woken": "verified",
    "cleared_before_the_wait": ["deadlock", "ended"],
    "timed_wait": ["False", "True"],
    "timed_wait_for_nothing": ["False"],
    "is_set": ["False", "True"],
    "set_wakes_everybody": "verified",
    "barrier": "verified",
    "barrier_gives_each_thread_a_number": "verified",
    "barrier_can_be_used_again": "verified",
    "barrier_with_too_few_threads": ["deadlock"],
    "barrier_action": "verified",
    "aborted_barrier": ["broken broken"],
    "abort_races_with_the_last_arrival": ["broken broken", "passed broken", "passed passed", "broken passed"],
    "barrier_that_times_out": ["broken broken", "passed passed"],
    "barrier_that_times_out_alone": ["broken True"],
    "barrier_reset": ["broken"],
    "arrivals_counted_without_a_lock": ["0", "1"],
    "timer_fires": "verified",
    "timer_cancelled_or_fired": ["cancelled", "fired"],
    "timer_cancelled_before_the_start": "verified",
}
COUNTS = {"barrier_that_times_out_alone": (1, 0), "timer_cancelled_before_the_start": (1, 0)}


@dpor.model
def wait_until_set():
    event, box = threading.Event(), []

    def fill():
        box.append(1)
        event.set()

    dpor.spawn(fill)
    assert event.wait()
    assert box == [1]


@dpor.model
def wait_for_an_event_that_is_set():
    event = threading.Event()
    assert not event.is_set()
    event.set()
    event.set()
    assert event.is_set()
    assert event.wait()
    assert event.wait(0)


@dpor.model
def woken_waiter_stays_woken():
    condition_reached, event, seen = [], threading.Event(), []

    def wait():
        condition_reached.append(True)
        seen.append(event.wait())

    dpor.spawn(wait)
    event.set()
    dpor.wait_until(lambda: seen)
    event.clear()
    dpor.join_all()
    assert seen == [True]


@dpor.model
def cleared_before_the_wait():
    event = threading.Event()
    thread = dpor.spawn(event.wait)
    event.set()
    event.clear()
    thread.join()
    outcome("ended")


@dpor.model
def timed_wait():
    event, seen = threading.Event(), []
    thread = dpor.spawn(lambda: seen.append(event.wait(1)))
    event.set()
    thread.join()
    outcome(seen[0])


@dpor.model
def timed_wait_for_nothing():
    outcome(threading.Event().wait(timeout=3))


@dpor.model
def is_set():
    event = threading.Event()
    dpor.spawn(event.set)
    outcome(event.is_set())


@dpor.model
def set_wakes_everybody():
    event = threading.Event()
    for _ in range(3):
        dpor.spawn(event.wait)
    event.set()
    dpor.join_all()


def _meet(barrier, seen, number):
    try:
        barrier.wait()
    except threading.BrokenBarrierError:
        seen[number] = "broken"
    else:
        seen[number] = "passed"


@dpor.model
def barrier():
    meeting, arrived = threading.Barrier(2), []

    def arrive():
        arrived.append(1)
        meeting.wait()
        assert len(arrived) == 2

    dpor.spawn(arrive)
    dpor.spawn(arrive)
    dpor.join_all()
    assert meeting.n_waiting == 0


@dpor.model
def barrier_gives_each_thread_a_number():
    meeting, numbers = threading.Barrier(2), []
    for _ in range(2):
        dpor.spawn(lambda: numbers.append(meeting.wait()))
    dpor.join_all()
    assert sorted(numbers) == [0, 1]


@dpor.model
def barrier_can_be_used_again():
    meeting, rounds = threading.Barrier(2), [0, 0]

    def arrive(number):
        for turn in range(2):
            rounds[number] += 1
            meeting.wait()
            assert rounds[1 - number] > turn

    dpor.spawn(arrive, 0)
    arrive(1)
    dpor.join_all()


@dpor.model
def barrier_with_too_few_threads():
    meeting = threading.Barrier(3)
    dpor.spawn(meeting.wait)
    meeting.wait()


@dpor.model
def barrier_action():
    done = []
    meeting = threading.Barrier(2, action=lambda: done.append(1))
    dpor.spawn(meeting.wait)
    meeting.wait()
    assert done == [1]


@dpor.model
def aborted_barrier():
    meeting, seen = threading.Barrier(3), {}
    dpor.spawn(_meet, meeting, seen, 0)
    dpor.spawn(_meet, meeting, seen, 1)
    meeting.abort()
    dpor.join_all()
    assert meeting.broken
    outcome(seen[0], seen[1])


@dpor.model
def abort_races_with_the_last_arrival():
    meeting, seen = threading.Barrier(2), {}
    dpor.spawn(_meet, meeting, seen, 0)
    dpor.spawn(_meet, meeting, seen, 1)
    meeting.abort()
    dpor.join_all()
    outcome(seen[0], seen[1])


@dpor.model
def barrier_that_times_out():
    meeting, seen = threading.Barrier(2, timeout=1), {}
    dpor.spawn(_meet, meeting, seen, 0)
    dpor.spawn(_meet, meeting, seen, 1)
    dpor.join_all()
    outcome(seen[0], seen[1])


@dpor.model
def barrier_that_times_out_alone():
    meeting, seen = threading.Barrier(2, timeout=1), {}
    _meet(meeting, seen, 0)
    outcome(seen[0], meeting.broken)


@dpor.model
def barrier_reset():
    meeting, seen = threading.Barrier(2), {}
    thread = dpor.spawn(_meet, meeting, seen, 0)
    dpor.wait_until(lambda: meeting.n_waiting == 1)
    meeting.reset()
    thread.join()
    assert not meeting.broken
    outcome(seen[0])


@dpor.model
def arrivals_counted_without_a_lock():
    meeting = threading.Barrier(2)
    threading.Thread(target=meeting.wait, daemon=True).start()
    outcome(meeting.n_waiting)


@dpor.model
def timer_fires():
    fired = []
    timer = threading.Timer(5, fired.append, [1])
    timer.start()
    timer.join()
    assert fired == [1]


@dpor.model
def timer_cancelled_or_fired():
    fired = []
    timer = threading.Timer(5, lambda: fired.append(1))
    timer.start()
    timer.cancel()
    timer.join()
    outcome("fired" if fired else "cancelled")


@dpor.model
def timer_cancelled_before_the_start():
    fired = []
    timer = threading.Timer(5, fired.append, [1])
    timer.cancel()
    timer.start()
    timer.join()
    assert not fired
