"""Loops that only look until another thread writes, and loops that do more."""

import queue
import threading
import time

from outcomes import outcome

import dpor

EXPECTED = {
    "flag": "verified",
    "flag_after_data": "verified",
    "flag_that_nobody_sets": ["livelock"],
    "flags_crossed": ["livelock"],
    "flag_that_was_there_for_a_moment": ["livelock", "seen"],
    "nothing_to_look_at": ["livelock"],
    "sleeping": "verified",
    "timed_event": "verified",
    "timed_condition": "verified",
    "timed_condition_that_nobody_notifies": ["livelock"],
    "timed_queue": "verified",
    "lock_taken_to_look": "verified",
    "try_lock": "verified",
    "lock_held_while_looking": ["livelock"],
    "compare_exchange_lock": "verified",
    "exchange_lock": "verified",
    "peterson": "verified",
    "is_alive": "verified",
    "two_stages": "verified",
    "nested": "verified",
    "looking_at_items": "verified",
    "counting": "verified",
    "giving_up": ["gave up", "seen"],
    "clock": "verified",
    "drawing": "verified",
    "generator": "verified",
    "daemon_that_looks_for_ever": "verified",
    "failed_assumption_beside_a_loop": "verified",
    "looking_twice_while_it_changes": "verified",
    "compare_exchange_with_what_was_loaded": "verified",
    "looking_twice_for_ever": ["livelock"],
}
COUNTS = {
    "flag": (1, 1),
    "flag_that_nobody_sets": (0, 1),
    "flags_crossed": (0, 1),
    "timed_event": (1, 1),
    "lock_taken_to_look": (1, 1),
    "compare_exchange_lock": (2, 2),
    "counting": (1, 0),
}


class Shared:
    def __init__(self):
        self.flag = False
        self.data = 0


@dpor.model
def flag():
    shared = Shared()

    def write():
        shared.flag = True

    dpor.spawn(write)
    while not shared.flag:
        pass


@dpor.model
def flag_after_data():
    shared = Shared()

    def write():
        shared.data = 1
        shared.flag = True

    dpor.spawn(write)
    while not shared.flag:
        pass
    assert shared.data == 1


@dpor.model
def flag_that_nobody_sets():
    shared = Shared()

    def write():
        shared.data = 1

    dpor.spawn(write)
    while not shared.flag:
        time.sleep(0.1)


@dpor.model
def flags_crossed():
    shared = Shared()

    def one():
        while not shared.flag:
            pass
        shared.data = 1

    def two():
        while shared.data == 0:
            pass
        shared.flag = True

    dpor.spawn(one)
    dpor.spawn(two)
    dpor.join_all()


@dpor.model
def flag_that_was_there_for_a_moment():
    shared = Shared()

    def write():
        shared.flag = True
        shared.flag = False

    dpor.spawn(write)
    while not shared.flag:
        pass
    outcome("seen")


@dpor.model
def nothing_to_look_at():
    while True:
        pass


@dpor.model
def sleeping():
    shared = Shared()

    def write():
        time.sleep(1)
        shared.data = 1

    dpor.spawn(write)
    while shared.data == 0:
        time.sleep(0.01)


@dpor.model
def timed_event():
    stop = threading.Event()
    thread = threading.Thread(target=stop.set)
    thread.start()
    while not stop.wait(1):
        pass
    thread.join()


@dpor.model
def timed_condition():
    ready = threading.Condition()
    shared = Shared()

    def write():
        with ready:
            shared.flag = True
            ready.notify()

    dpor.spawn(write)
    with ready:
        while not shared.flag:
            ready.wait(1)
    dpor.join_all()


@dpor.model
def timed_condition_that_nobody_notifies():
    ready = threading.Condition()
    shared = Shared()

    def write():
        with ready:
            shared.data = 1

    dpor.spawn(write)
    with ready:
        while not shared.flag:
            ready.wait(1)


@dpor.model
def timed_queue():
    items = queue.Queue()
    taken = []

    def work():
        while True:
            try:
                item = items.get(timeout=1)
            except queue.Empty:
                continue
            if item is None:
                return
            taken.append(item)

    dpor.spawn(work)
    items.put(1)
    items.put(None)
    dpor.join_all()
    assert taken == [1]


@dpor.model
def lock_taken_to_look():
    lock = threading.Lock()
    shared = Shared()

    def write():
        with lock:
            shared.flag = True

    dpor.spawn(write)
    while True:
        with lock:
            if shared.flag:
                break
    dpor.join_all()


@dpor.model
def try_lock():
    lock = threading.Lock()
    shared = Shared()

    def work():
        while not lock.acquire(blocking=False):
            time.sleep(0.1)
        shared.data += 1
        lock.release()

    dpor.spawn(work)
    dpor.spawn(work)
    dpor.join_all()
    assert shared.data == 2


@dpor.model
def lock_held_while_looking():
    lock = threading.Lock()
    shared = Shared()

    def write():
        with lock:
            shared.flag = True

    thread = threading.Thread(target=write)
    with lock:
        thread.start()
        while not shared.flag:
            pass


@dpor.model
def compare_exchange_lock():
    lock = dpor.Atomic(0)
    shared = Shared()

    def work():
        while not lock.compare_exchange(0, 1):
            pass
        shared.data += 1
        lock.store(0)

    dpor.spawn(work)
    dpor.spawn(work)
    dpor.join_all()
    assert shared.data == 2


@dpor.model
def exchange_lock():
    lock = dpor.Atomic(False)
    shared = Shared()

    def work():
        while lock.exchange(True):
            pass
        shared.data += 1
        lock.store(False)

    for _ in range(3):
        dpor.spawn(work)
    dpor.join_all()
    assert shared.data == 3


@dpor.model
def peterson():
    wants = [False, False]
    shared = Shared()

    def enter(me):
        other = 1 - me
        wants[me] = True
        shared.flag = other
        while wants[other] and shared.flag == other:
            pass
        shared.data += 1
        wants[me] = False

    dpor.spawn(enter, 0)
    dpor.spawn(enter, 1)
    dpor.join_all()
    assert shared.data == 2


@dpor.model
def is_alive():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    while thread.is_alive():
        pass
    assert not thread.is_alive()


@dpor.model
def two_stages():
    shared = Shared()

    def first():
        shared.data = 1
        while shared.data != 2:
            pass
        shared.data = 3

    dpor.spawn(first)
    while shared.data != 1:
        pass
    shared.data = 2
    while shared.data != 3:
        pass


@dpor.model
def nested():
    shared = Shared()

    def write():
        shared.data = 1
        shared.flag = True

    dpor.spawn(write)
    while not shared.flag:
        while shared.data == 0:
            pass
    assert shared.data == 1


@dpor.model
def looking_at_items():
    items = []
    table = {}

    def write():
        items.append(1)
        table["key"] = 2

    dpor.spawn(write)
    while not items:
        pass
    while "key" not in table:
        pass
    assert table["key"] == 2


@dpor.model
def counting():
    numbers = list(range(50))
    index = total = 0
    while index < len(numbers):
        total += numbers[index]
        index += 1
    assert total == sum(range(50))


@dpor.model
def giving_up():
    shared = Shared()

    def write():
        shared.flag = True

    dpor.spawn(write)
    attempts = 0
    while not shared.flag:
        attempts += 1
        if attempts == 3:
            break
    outcome("gave up" if attempts == 3 else "seen")


@dpor.model
def clock():
    end = time.monotonic() + 1
    while time.monotonic() < end:
        time.sleep(0.3)


@dpor.model
def drawing():
    drawn = 0
    while not dpor.choose([False, True]):
        drawn += 1
        if drawn == 3:
            break


@dpor.model
def generator():
    shared = Shared()

    def looks():
        while True:
            yield shared.flag

    seen = 0
    for _ in looks():
        seen += 1
        if seen == 4:
            break
    assert seen == 4


@dpor.model
def daemon_that_looks_for_ever():
    shared = Shared()

    def look():
        while not shared.flag:
            time.sleep(1)

    threading.Thread(target=look, daemon=True).start()
    shared.data = 1


@dpor.model
def failed_assumption_beside_a_loop():
    shared = Shared()

    def write():
        dpor.assume(False)
        shared.flag = True

    dpor.spawn(write)
    while not shared.flag:
        pass


@dpor.model
def looking_twice_while_it_changes():
    """Of one look at a condition the first half can see the old value and the second the new one."""
    number = [1, 2]

    def leave():
        number[0] = 0

    def wait():
        while number[0] and number[0] < number[1]:
            pass

    dpor.spawn(leave)
    dpor.spawn(wait)


@dpor.model
def compare_exchange_with_what_was_loaded():
    """A turn that fails because of a write in its middle is not the last."""
    atomic = dpor.Atomic(0)

    def replace():
        while not atomic.compare_exchange(atomic.load(), 5):
            pass

    dpor.spawn(replace)
    dpor.spawn(atomic.store, 1)


@dpor.model
def looking_twice_for_ever():
    number = [1, 3]

    def change():
        number[0] = 2

    def wait():
        while number[0] and number[0] < number[1]:
            pass

    dpor.spawn(change)
    dpor.spawn(wait)
